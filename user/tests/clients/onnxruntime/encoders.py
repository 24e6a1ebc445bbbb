# SPDX-License-Identifier: MIT
"""Text encoders as PyTorch exports them, with seeded weights, quantised dynamically by ONNX Runtime's
own tool.

usage: encoders.py FOLDER

Writes encoder2, encoder6 and encoder12 in uint8 and int8 to FOLDER. Their sizes are those of
BERT-tiny, MiniLM-L6 and BERT-base, with fewer words.
"""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization

WORDS, PLACES = 1000, 128
#             layers, width, heads
ENCODERS = {"encoder2": (2, 128, 2), "encoder6": (6, 384, 12), "encoder12": (12, 768, 12)}


class Encoder:
    """Nodes and constants; each method returns the name of its result."""

    def __init__(self, width, heads, words):
        self.random = np.random.default_rng(1)
        self.nodes, self.constants = [], []
        self.width, self.heads = width, heads
        self.words = words

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op, *inputs, **attributes):
        inputs = [i if isinstance(i, str) else self.constant(np.asarray(i)) for i in inputs]
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def floats(self, *shape, scale=1.0):
        return (self.random.standard_normal(shape) * scale).astype(np.float32)

    def dense(self, x, width, to):
        product = self.node("MatMul", x, self.floats(width, to, scale=width ** -0.5))
        return self.node("Add", self.floats(to, scale=0.1), product)

    def norm(self, x):
        return self.node("LayerNormalization", x, 1 + self.floats(self.width, scale=0.1),
                         self.floats(self.width, scale=0.1), axis=-1, epsilon=1e-12)

    def split(self, x, perm):
        shape = np.array([0, 0, self.heads, self.width // self.heads], np.int64)
        return self.node("Transpose", self.node("Reshape", x, shape), perm=perm)

    def attention(self, x, mask):
        q, k, v = (self.split(self.dense(x, self.width, self.width), perm)
                   for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = self.node("Div", self.node("MatMul", q, k),
                           np.float32((self.width // self.heads) ** 0.5))
        weights = self.node("Softmax", self.node("Add", scores, mask), axis=-1)
        out = self.node("Transpose", self.node("MatMul", weights, v), perm=[0, 2, 1, 3])
        out = self.node("Reshape", out, np.array([0, 0, self.width], np.int64))
        return self.norm(self.node("Add", self.dense(out, self.width, self.width), x))

    def gelu(self, x):
        erf = self.node("Erf", self.node("Div", x, np.float32(2 ** 0.5)))
        return self.node("Mul", self.node("Mul", x, self.node("Add", erf, np.float32(1))),
                         np.float32(0.5))

    def layer(self, x, mask):
        x = self.attention(x, mask)
        inner = self.gelu(self.dense(x, self.width, 4 * self.width))
        return self.norm(self.node("Add", self.dense(inner, 4 * self.width, self.width), x))

    def encode(self, layers):
        words = self.node("Gather", self.floats(self.words, self.width), "input_ids")
        length = self.node("Gather", self.node("Shape", "input_ids"), np.array(1, np.int64), axis=0)
        places = self.node("Slice", np.arange(PLACES).astype(np.int64)[None],
                           np.array([0], np.int64), self.node("Unsqueeze", length,
                           np.array([0], np.int64)), np.array([1], np.int64))
        places = self.node("Gather", self.floats(PLACES, self.width), places)
        mask = self.node("Cast", self.node("Unsqueeze", "attention_mask", np.array([1, 2], np.int64)),
                         to=TensorProto.FLOAT)
        mask = self.node("Mul", self.node("Sub", np.float32(1), mask), np.float32(-10000))
        x = self.norm(self.node("Add", words, places))
        for _ in range(layers):
            x = self.layer(x, mask)
        first = self.node("Gather", x, np.array(0, np.int64), axis=1)
        return x, self.node("Tanh", self.node("Gemm", first, self.floats(
            self.width, self.width, scale=self.width ** -0.5), self.floats(self.width), transB=1))


def encoder(layers, width, heads, shape=(1, PLACES), words=WORDS):
    """The model in float32; dimensions of its inputs may be names."""
    e = Encoder(width, heads, words)
    results = e.encode(layers)
    e.nodes += [helper.make_node("Identity", [r], [n]) for r, n in
                zip(results, ("last_hidden_state", "pooler_output"))]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        e.nodes, "encoder", [value("input_ids", TensorProto.INT64, shape),
                             value("attention_mask", TensorProto.INT64, shape)],
        [value("last_hidden_state", TensorProto.FLOAT, [*shape, width]),
         value("pooler_output", TensorProto.FLOAT, [shape[0], width])], e.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def quantise(model, to, kind):
    """Writes a model that is quantised dynamically."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        quantization.quantize_dynamic(path, to, weight_type=kind,
                                      reduce_range=kind == quantization.QuantType.QInt8)


def main():
    for name, sizes in ENCODERS.items():
        model = encoder(*sizes)
        for text, kind in ("uint8", quantization.QuantType.QUInt8), ("int8", quantization.QuantType.QInt8):
            quantise(model, os.path.join(sys.argv[1], f"{name}.dynamic-{text}.onnx"), kind)


if __name__ == "__main__":
    sys.exit(main())
