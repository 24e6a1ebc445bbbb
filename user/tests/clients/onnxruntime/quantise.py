# SPDX-License-Identifier: MIT
"""Networks for measuring: the light models of ONNX with random weights, and the same quantised
with QuantizeLinear and DequantizeLinear, calibrated on one random image.

usage: quantise.py DATA FOLDER MODEL...

Writes MODEL.float.onnx, MODEL.uint8.onnx and MODEL.int8.onnx to FOLDER.
"""
import os
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper, version_converter

random = np.random.default_rng(1)
QUANTISED = {"Conv", "Relu", "MaxPool", "AveragePool", "GlobalAveragePool", "Add", "Sum", "Concat",
             "Gemm", "Reshape", "Transpose", "BatchNormalization", "Clip", "Dropout", "LRN",
             "Unsqueeze", "Mul", "Softmax", "Flatten"}
KEEP = {"MaxPool", "Reshape", "Transpose", "Dropout", "Unsqueeze", "Flatten"}


def randomise(path, fold):
    """The model with weights that are random, of a size that keeps values where they are."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = fold
    model = onnx.load(path)
    model.ir_version = 8
    constants = {i.name for i in model.graph.initializer}
    for value in [i for i in model.graph.input if i.name in constants]:
        model.graph.input.remove(value)
    ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    model = onnx.load(fold)
    os.unlink(fold)
    uses = {name: (node.op_type, i) for node in model.graph.node
            for i, name in enumerate(node.input)}
    for initializer in model.graph.initializer:
        array = numpy_helper.to_array(initializer)
        op, place = uses.get(initializer.name, ("", 0))
        if array.dtype != np.float32 or array.size < 2:
            continue
        if op in ("Conv", "Gemm") and array.ndim > 1:
            across = array[0].size if op == "Conv" else array.size // max(array.shape)
            new = random.standard_normal(array.shape) * np.sqrt(2 / across)
        elif op == "BatchNormalization" and place in (1, 4):
            new = 0.5 + random.random(array.shape)
        else:
            new = random.standard_normal(array.shape) * 0.05
        initializer.CopyFrom(numpy_helper.from_array(new.astype(np.float32), initializer.name))
    return model


def ranges(model, image):
    """The lowest and highest number of each value."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    outputs = {o.name for o in probe.graph.output}
    names = [n for node in probe.graph.node for n in node.output if n]
    for name in names:
        if name not in outputs:
            probe.graph.output.append(helper.make_empty_tensor_value_info(name))
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(probe.SerializeToString(), options,
                                   providers=["CPUExecutionProvider"])
    found = dict(zip([o.name for o in session.get_outputs()], session.run(None, image)))
    found.update(image)
    return {n: (min(float(v.min()), 0), max(float(v.max()), 0)) for n, v in found.items()
            if v.dtype == np.float32}


class Quantiser:
    """Puts a pair of nodes behind each value, and quantises weights per channel."""

    def __init__(self, model, span, kind):
        self.model, self.span, self.kind = model, span, kind
        self.constants = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
        self.nodes, self.initializers, self.pairs, self.parameters = [], [], {}, {}

    def constant(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def of(self, name):
        """The scale and zero point of a value."""
        if name not in self.parameters:
            low, high = self.span[name]
            scale = np.float32(max(high - low, 1e-6) / 255)
            zero = int(np.clip(round(-low / scale), 0, 255))
            if self.kind == np.int8:
                zero -= 128
            self.parameters[name] = (self.constant(name + "_scale", scale),
                                     self.constant(name + "_zero", self.kind(zero)))
        return self.parameters[name]

    def pair(self, name):
        if name not in self.pairs:
            scale, zero = self.of(name)
            self.nodes.append(helper.make_node("QuantizeLinear", [name, scale, zero],
                                               [name + "_q"]))
            self.nodes.append(helper.make_node("DequantizeLinear", [name + "_q", scale, zero],
                                               [name + "_d"]))
            self.pairs[name] = name + "_d"
        return self.pairs[name]

    def weights(self, name):
        array = self.constants[name]
        most = np.maximum(np.abs(array.reshape(array.shape[0], -1)).max(1), 1e-6)
        scale = (most / 127).astype(np.float32)
        shape = (-1,) + (1,) * (array.ndim - 1)
        if array.ndim == 2:
            scale = np.float32(most.max() / 127)
            shape = ()
        bytes_ = np.clip(np.round(array / np.reshape(scale, shape)), -127, 127).astype(np.int8)
        self.constant(name + "_q", bytes_)
        zero = self.constant(name + "_zero", np.zeros(np.shape(scale), np.int8))
        self.nodes.append(helper.make_node(
            "DequantizeLinear", [name + "_q", self.constant(name + "_scale", scale), zero],
            [name + "_d"], axis=0))
        return name + "_d"

    def is_activation(self, node):
        """Whether it is fused to the node before, so that there is no pair between."""
        before = [n for n in self.model.graph.node if node.input[0] in n.output]
        uses = [n for n in self.model.graph.node if node.input[0] in n.input]
        return node.op_type in ("Relu", "Clip") and len(uses) == 1 and before and \
            before[0].op_type in ("Conv", "Gemm", "Add")

    def run(self):
        for node in self.model.graph.node:
            inputs = list(node.input)
            if node.op_type in QUANTISED and not self.is_activation(node):
                for i, name in enumerate(inputs):
                    if name in self.span:
                        inputs[i] = self.pair(name)
                    elif node.op_type in ("Conv", "Gemm") and i == 1:
                        inputs[i] = self.weights(name)
                if node.op_type in KEEP and node.input[0] in self.span:
                    self.parameters[node.output[0]] = self.of(node.input[0])
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            del copy.input[:]
            copy.input.extend(inputs)
            self.nodes.append(copy)
        outputs = {}
        for output in self.model.graph.output:
            if output.name in self.span:
                outputs[output.name] = self.pair(output.name)
        graph = self.model.graph
        del graph.node[:]
        graph.node.extend(self.nodes)
        graph.initializer.extend(self.initializers)
        for output in graph.output:
            output.name = outputs.get(output.name, output.name)
        return self.model


def main():
    data, folder = sys.argv[1:3]
    ort.set_default_logger_severity(4)
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[3:]:
        model = randomise(os.path.join(data, "light", f"light_{name}.onnx"),
                          os.path.join(folder, "folded.onnx"))
        model = version_converter.convert_version(model, 13)
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        image = {model.graph.input[0].name: random.standard_normal(shape).astype(np.float32)}
        onnx.save(model, os.path.join(folder, f"{name}.float.onnx"))
        span = ranges(model, image)
        for kind in (np.uint8, np.int8):
            copy = onnx.ModelProto()
            copy.CopyFrom(model)
            onnx.save(Quantiser(copy, span, kind).run(),
                      os.path.join(folder, f"{name}.{kind.__name__}.onnx"))


if __name__ == "__main__":
    sys.exit(main())
