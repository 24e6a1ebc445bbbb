// SPDX-License-Identifier: MIT
// usage: node interpreter.js MODULE MODEL: runs a model on zeros with the module of tfjs-tflite-node
const tflite = require(process.argv[2]);
const model = new Uint8Array(require('fs').readFileSync(process.argv[3]));
const interpreter = new tflite.Interpreter(model.buffer, {threads: 1});
interpreter.getInputs()[0].data().fill(0);
interpreter.infer();
console.log(interpreter.getOutputs()[0].shape);
