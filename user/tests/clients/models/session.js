// SPDX-License-Identifier: MIT
// usage: node session.js FOLDER MODEL: runs a model with the onnxruntime-node of the folder. Reads the inputs and
// writes the outputs as JSON: [[name, type, shape, numbers], ...].
const ort = require(process.argv[2] + '/node_modules/onnxruntime-node');
const {readFileSync} = require('fs');
(async () => {
	const session = await ort.InferenceSession.create(process.argv[3]), inputs = {};
	for (const [name, type, shape, numbers] of JSON.parse(readFileSync(0)))
		inputs[name] = new ort.Tensor(type, type === 'int64' ? numbers.map(BigInt) : numbers, shape);
	const outputs = await session.run(inputs);
	console.log(JSON.stringify(session.outputNames.map(name =>
		[name, outputs[name].type, outputs[name].dims, Array.from(outputs[name].data)])));
})();
