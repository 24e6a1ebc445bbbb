# SPDX-License-Identifier: MIT
"""Computes the outputs of the graphs in user/tests/onnxruntime_nodes.def, which says what their
words mean: with ONNX Runtime's CPU provider or, if that lacks an operator, with the reference
implementation of ONNX. Prints TAP.

usage: record.py FILE [--write]

With --write, graphs without outputs get them, in the file.
"""
import os
import re
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import recorded  # noqa: E402, beside this folder

TYPES = {"f": np.float32, "h": np.float16, "d": np.float64, "i": np.int32, "l": np.int64,
         "u": np.uint8, "s": np.int8, "b": np.bool_, "w": np.uint16}
LETTERS = {np.dtype(t): letter for letter, t in TYPES.items()}


def declared(word):
    """Name, whether it is constant, the value and the dimensions that the model names."""
    name, kind, letter, dims, data, how = re.fullmatch(
        r"(\w+)([:=])(\w)([\d,?!&]*)(?:\{(.*)\})?([+~*]?)", word).groups()
    sizes = [int(d.strip("?!&")) for d in dims.split(",")] if dims else []
    shape = [int(d) if d.isdigit() else None for d in dims.split(",")] if dims else []
    count = int(np.prod(sizes)) if sizes else 1
    values = [float(v) for v in data.split(",")] if data else recorded.numbers(name, letter, count, how)
    if data and letter in "il":
        values = [int(v) for v in data.split(",")]
    return name, kind == "=", np.array(values, TYPES[letter]).reshape(sizes), shape


def attribute(text, constants):
    if text[0] == "@":
        return numpy_helper.from_array(constants[text[1:]])
    if text[0] == "=":
        return text[1:]
    if text[0].isalpha():
        return [s for s in text.split(",") if s] if "," in text else text
    if "," in text:
        return [float(v) if "." in text else int(v) for v in text.split(",") if v]
    return float(text) if "." in text else int(text)


def run(graph):
    """Outputs of nodes by name, and which of them no node reads."""
    values, *nodes = graph.split(" | ")
    constants, inputs, infos, made, read = {}, {}, [], [], set()
    for word in values.split():
        name, is_constant, value, shape = declared(word)
        (constants if is_constant else inputs)[name] = value
        if not is_constant:
            infos.append(helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), shape))
    protos, version = [], 7
    for node in nodes:
        op, *words = node.split()
        op, since = op.split("-")
        domain, _, op = op.rpartition(":")
        at = words.index(">")
        outs = [w for w in words[at + 1:] if "=" not in w]
        attributes = dict(w.split("=", 1) for w in words[at + 1:] if "=" in w)
        protos.append(helper.make_node(
            op, ["" if w == "?" else w for w in words[:at]],
            ["" if w == "?" else w.strip("*^") for w in outs],
            domain=domain and "com.microsoft", **{k: attribute(v, constants) for k, v in attributes.items()}))
        read |= set(words[:at])
        made += [w for w in outs if w != "?"]
        version = max(version, 0 if domain else int(since))
    used = {w for n in protos for w in n.input}
    names = [w.strip("*^") for w in made]
    model = helper.make_model(helper.make_graph(
        protos, "main", infos, [helper.make_empty_tensor_value_info(n) for n in names],
        [numpy_helper.from_array(v, k) for k, v in constants.items() if k in used]),
        opset_imports=[helper.make_opsetid("", version), helper.make_opsetid("com.microsoft", 1)],
        ir_version=10)
    for node, text in zip(protos, nodes):
        since = int(text.split()[0].split("-")[1])
        if onnx.defs.has(node.op_type, version, node.domain):
            known = onnx.defs.get_schema(node.op_type, version).since_version
            if known != since:
                raise ValueError(f"{node.op_type} is of operator set {known}, not {since}")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        inferred = onnx.shape_inference.infer_shapes(model)
        types = {v.name: v for v in inferred.graph.output}
        for output in model.graph.output:
            if output.name in types:  # the operator is ONNX's
                output.CopyFrom(types[output.name])
        session = ort.InferenceSession(model.SerializeToString(), options,
                                       providers=["CPUExecutionProvider"])
        got = session.run(names, inputs)
    except Exception as error:  # an operator or type that the CPU provider lacks
        try:
            got = ReferenceEvaluator(model).run(names, inputs)
        except Exception as other:
            raise ValueError(f"{error}; {other}") from other
    shown = {w.strip("*^") for w in made if w[-1] == "*" or w.strip("^") not in read}
    return dict(zip(names, got)), shown


def described(outputs, shown):
    parts = []
    for name, value in outputs.items():
        value = np.asarray(value)
        part = name + ":" + LETTERS[value.dtype] + ",".join(map(str, value.shape))
        if name in shown:
            part += " " + " ".join(recorded.shown(v) for v in value.ravel())
        parts.append(part)
    return "; ".join(parts)


def agree(text, outputs, shown):
    """What is wrong with what the file says of the outputs; None: nothing."""
    parts = dict(p.split(":", 1) for p in text.split("; "))
    for key, value in outputs.items():
        kind, *numbers = parts[key].split()
        value = np.asarray(value)
        if kind != LETTERS[value.dtype] + ",".join(map(str, value.shape)):
            return f"{key} is {value.dtype} {value.shape}"
        if key in shown and numbers:
            want = np.array([float(v) for v in numbers])
            got = value.ravel().astype(np.float64)
            if not np.allclose(want, got, rtol=1e-4, atol=1e-5, equal_nan=True):
                return f"{key} is off by {np.max(np.abs(want - got))}"
    return None


def one(kind, graph, outputs):
    if kind not in ("NODES", "AS") and outputs:
        return outputs, None
    found, shown = run(graph)
    if kind not in ("NODES", "AS"):
        shown = set()
    if outputs:
        return outputs, agree(outputs, found, shown)
    return described(found, shown), None if WRITE else "without outputs"


WRITE = "--write" in sys.argv
if __name__ == "__main__":
    sys.exit(recorded.check(sys.argv[1], WRITE, one))
