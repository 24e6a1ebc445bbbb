// SPDX-License-Identifier: MIT
// usage: node session.js FOLDER MODEL: runs a model on zeros with the onnxruntime-node of the folder
const ort = require(process.argv[2] + '/node_modules/onnxruntime-node');
(async () => {
	const s = await ort.InferenceSession.create(process.argv[3]);
	const shape = s.inputMetadata[0].shape, size = shape.reduce((a, b) => a * b);
	const r = await s.run({[s.inputNames[0]]: new ort.Tensor('float32', new Float32Array(size), shape)});
	console.log(r[s.outputNames[0]].dims.join(' '));
})();
