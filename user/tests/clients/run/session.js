// SPDX-License-Identifier: MIT
// usage: node session.js FOLDER MODEL: runs a model on zeros with the onnxruntime-node of the folder
const ort = require(process.argv[2] + '/node_modules/onnxruntime-node');
(async () => {
	const s = await ort.InferenceSession.create(process.argv[3]);
	const r = await s.run({[s.inputNames[0]]: new ort.Tensor('float32', new Float32Array(3 * 224 * 224), [1, 3, 224, 224])});
	console.log(r[s.outputNames[0]].dims.join(' '));
})();
