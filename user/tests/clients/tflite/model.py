# SPDX-License-Identifier: MIT
"""Makes TensorFlow Lite models: tensors and operators, written as the schema lays them out."""
import re
import struct

import flat
from flat import Scalar, Vector

FLOAT32, FLOAT16, INT32, UINT8, INT64, STRING, BOOL, INT16, INT8 = 0, 1, 2, 3, 4, 5, 6, 7, 9
FORMATS = {FLOAT32: "f", FLOAT16: "e", INT32: "i", UINT8: "B", INT64: "q", BOOL: "?",
           INT16: "h", INT8: "b"}
NAMES = {FLOAT32: "float32", FLOAT16: "float16", INT32: "int32", UINT8: "uint8",
         INT64: "int64", BOOL: "bool", INT16: "int16", INT8: "int8"}
SAME, VALID = 0, 1
CUSTOM = 32  # the code of operations that have only a name
NONE, RELU, RELU_N1_TO_1, RELU6, TANH = 0, 1, 2, 3, 4

# For each operation: the kind of its BuiltinOptions, and the formats of the options' fields. Padding is 0 for
# SAME and 1 for VALID.
CONV = (1, "biibii")
POOL = (5, "biiiib")
ACTIVATION = "b"
OPTIONS = {
    "CONV_2D": CONV, "DEPTHWISE_CONV_2D": (2, "biiibii"), "AVERAGE_POOL_2D": POOL,
    "MAX_POOL_2D": POOL, "L2_POOL_2D": POOL, "SVDF": (6, "ibB"), "RNN": (7, "bB"),
    "FULLY_CONNECTED": (8, "bbBB"), "SOFTMAX": (9, "f"), "CONCATENATION": (10, "ib"),
    "ADD": (11, "bB"), "L2_NORMALIZATION": (12, "b"), "LOCAL_RESPONSE_NORMALIZATION": (13, "ifff"),
    "LSTM": (14, "bffbB"), "RESIZE_BILINEAR": (15, "--BB"), "RESHAPE": (17, ""),
    "SPACE_TO_DEPTH": (19, "i"), "MUL": (21, "b"), "GATHER": (23, "ii"), "MEAN": (27, "B"),
    "SUM": (27, "B"), "REDUCE_MAX": (27, "B"), "REDUCE_MIN": (27, "B"), "REDUCE_PROD": (27, "B"),
    "REDUCE_ANY": (27, "B"), "REDUCE_ALL": (27, "B"), "SUB": (28, "bB"), "DIV": (29, "b"),
    "SQUEEZE": (30, ""), "UNIDIRECTIONAL_SEQUENCE_RNN": (31, "BbB"), "STRIDED_SLICE": (32, "iiiiiB"),
    "SPLIT": (35, "i"), "CAST": (37, "bb"), "ARG_MAX": (40, "b"), "TRANSPOSE_CONV": (49, "biib"),
    "ARG_MIN": (57, "b"), "PACK": (59, "ii"), "ONE_HOT": (61, "i"), "UNPACK": (64, "ii"),
    "BIDIRECTIONAL_SEQUENCE_LSTM": (69, "bffBBB"), "BIDIRECTIONAL_SEQUENCE_RNN": (70, "BbBB"),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (71, "bffBBB"), "RESIZE_NEAREST_NEIGHBOR": (74, "BB"),
    "LEAKY_RELU": (75, "f"), "MIRROR_PAD": (77, "b"), "SPLIT_V": (79, "i"),
    "DEPTH_TO_SPACE": (94, "i"), "BATCH_MATMUL": (101, "BBB"), "CUMSUM": (102, "BB"),
    "GELU": (116, "B"), "REVERSE_SEQUENCE": (87, "ii"), "SHAPE": (55, "b"), "LSH_PROJECTION": (4, "b"), "IF": (92, "ii"),
    "RANDOM_UNIFORM": (114, "qq"), "MULTINOMIAL": (114, "qq"),
}

# The lowest version of each operation whose versions do not begin at 1.
VERSIONS = {"BROADCAST_TO": 2}


def codes(path):
    """Codes of operations by name, of the table that the plug-in has."""
    found = {}
    with open(path, encoding="ascii") as file:
        for line in file:
            row = re.match(r"(?:X|OP|CODE|OTHER)\((\d+), (\w+)", line)
            if row:
                found[row[2]] = int(row[1])
    return found


def count(shape):
    result = 1
    for size in shape:
        result *= size
    return result


class Model:
    """A subgraph in the making. Tensors are numbers."""

    def __init__(self, operators):
        self.operators = operators
        self.tensors = []
        self.buffers = [{}]
        self.nodes = []
        self.used = []
        self.shapes = []
        self.types = []
        self.quants = []
        self.inputs = []
        self.outputs = []
        self.branches = []
        self.hybrid = False
        self.given = {}  # by input: what each run gives it, if that is not random

    def branch(self):
        """Another subgraph of the model; its number is that of those made so far, from 1 on."""
        other = Model(self.operators)
        other.buffers, other.used = self.buffers, self.used
        self.branches.append(other)
        return other

    def tensor(self, shape, kind=FLOAT32, scale=None, zero=0, data=None, variable=False, axis=0,
               name=None, known=True):
        """`scale` is a number or, per channel of `axis`, a list. A tensor of no `known` size has sizes of 1, as
        converters write it."""
        buffer = 0
        quant = None
        if data is not None:
            if not isinstance(data, (bytes, bytearray)):
                data = struct.pack("<%d%s" % (len(data), FORMATS[kind]), *data)
            buffer = len(self.buffers)
            self.buffers.append({0: Vector("B", data, 16)})
        if scale is not None:
            scales = scale if isinstance(scale, list) else [scale]
            zeros = zero if isinstance(zero, list) else [zero] * len(scales)
            quant = {2: Vector("f", scales), 3: Vector("q", zeros), 6: Scalar("i", axis)}
        self.tensors.append({
            0: Vector("i", shape), 1: Scalar("b", kind), 2: Scalar("I", buffer),
            3: name or "t%d" % len(self.tensors), 4: quant, 5: Scalar("B", variable),
            7: None if known else Vector("i", [-1] * len(shape))})
        self.shapes.append(list(shape))
        self.types.append(kind)
        self.quants.append((scale, zero))
        return len(self.tensors) - 1

    def input(self, *args, **keys):
        self.inputs.append(self.tensor(*args, **keys))
        return self.inputs[-1]

    def op(self, name, inputs, outputs, *options, intermediates=None):
        if name not in self.used:
            self.used.append(name)
        node = {0: Scalar("I", self.used.index(name)), 1: Vector("i", inputs),
                2: Vector("i", outputs)}
        if intermediates:
            node[8] = Vector("i", intermediates)
        if name not in self.operators:
            node[5] = Vector("B", struct.pack(f"<{len(options)}i", *options))
        if name in OPTIONS:
            kind, formats = OPTIONS[name]
            node[3] = Scalar("B", kind)
            node[4] = {}
            values = iter(options)
            for i, letter in enumerate(formats):
                if letter != "-":
                    value = next(values, None)
                    node[4][i] = None if value is None else Scalar(letter, value)
        self.nodes.append(node)
        return outputs[0]

    def finish(self, *outputs):
        self.outputs = list(outputs)
        codes_ = [{0: Scalar("b", min(self.operators.get(n, CUSTOM), 127)),
                   1: None if n in self.operators else n,
                   2: Scalar("i", VERSIONS.get(n, 1)),
                   3: Scalar("i", self.operators.get(n, CUSTOM))} for n in self.used]
        subgraphs = [{0: m.tensors, 1: Vector("i", m.inputs), 2: Vector("i", m.outputs),
                      3: m.nodes, 4: "main"} for m in [self] + self.branches]
        return flat.write({0: Scalar("I", 3), 1: codes_, 2: subgraphs, 3: "made by a test",
                           4: self.buffers}, b"TFL3")
