# SPDX-License-Identifier: MIT
"""Computes the outputs of the graphs in ../../tflite_nodes.def by TensorFlow Lite: TAP.

usage: record.py LIBTENSORFLOW_LITE BUILTINS FILE [--write]

With --write, graphs without outputs get them, in the file.
"""
import json
import os
import re
import struct
import sys

import model
import runtime

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import recorded  # noqa: E402, beside this folder

KINDS = {"f": model.FLOAT32, "h": model.FLOAT16, "i": model.INT32, "l": model.INT64,
         "u": model.UINT8, "s": model.INT8, "b": model.BOOL, "w": model.INT16}
TENSOR = re.compile(r"(\w+)([:=~_])(\w)([\d,]*)(?:@([\d.e&-]+)(?:/(-?\d+))?(?:\^(\d+))?)?(?:\{(.*)\})?([+~*-]?)$")


def tensor(m, word, is_made):
    """Adds a tensor to the model: its name, type, number, and what it holds if it is an input."""
    name, kind, letter, dims, scale, zero, axis, data, how = TENSOR.match(word).groups()
    shape = [int(d) for d in dims.split(",")] if dims else []
    count = model.count(shape)
    keys = {"kind": KINDS[letter], "name": name}
    if scale:
        scales = [float(s) for s in scale.split("&")]
        keys.update(scale=scales if len(scales) > 1 else scales[0], zero=int(zero or 0),
                    axis=int(axis or 0))
    values = None
    if not is_made and kind in ":=":
        values = [float(v) for v in data.split(",")] if data else \
            recorded.numbers(name, letter, count, how)
        if letter not in "fh":
            values = [int(v) for v in values]
        values = struct.pack(f"<{count}{model.FORMATS[KINDS[letter]]}", *values)
    if kind == ":" and not is_made:
        return name, letter, m.input(shape, **keys), values
    return name, letter, m.tensor(shape, data=values, variable=kind == "~", **keys), None


def option(text):
    """p1 is a padding or a mode, t and n are booleans, a number with a point is a float."""
    if text in "tn":
        return text == "t"
    return float(text) if "." in text else int(text.lstrip("p"))


def run(graph):
    """Values of the outputs that no node reads, by name."""
    made, tensors, letters, inputs, read, outputs = model.Model(OPERATORS), {}, {}, [], set(), []
    values, *nodes = graph.split(" | ")
    for word in values.split():
        name, letters[name], tensors[name], data = tensor(made, word, False)
        if data is not None:
            inputs.append(data)
    for node in nodes:
        op, *words = node.split()
        op, _, options = op.rstrip("]").partition("[")
        at = words.index(">")
        more = words.index("%") if "%" in words else len(words)
        names = []
        for word in words[at + 1:more]:
            name, letters[name], tensors[name], _ = tensor(made, word, True)
            names.append(name)
            read |= {name} if word[-1] == "-" else set()
        read |= set(words[:at])
        outputs += names
        made.op(op, [-1 if w == "?" else tensors[w] for w in words[:at]], [tensors[n] for n in names],
                *[option(o) for o in options.split(",") if o],
                intermediates=[tensors[w] for w in words[more + 1:]] or None)
    outputs = [n for n in outputs if n not in read]
    interpreter = runtime.Interpreter(TFLITE, made.finish(*[tensors[n] for n in outputs]))
    interpreter.allocate()
    interpreter.run(*inputs)
    found = interpreter.run(*inputs)
    interpreter.close()
    return {name: struct.unpack(f"<{len(data) // struct.calcsize(model.FORMATS[KINDS[letters[name]]])}"
                                f"{model.FORMATS[KINDS[letters[name]]]}", data)
            for name, data in zip(outputs, found)}


def run_apart(graph):
    """The same in a process of its own: TensorFlow Lite aborts if it does not like a scale."""
    ends = os.pipe()
    child = os.fork()
    if not child:
        os.close(ends[0])
        with os.fdopen(ends[1], "w") as file:
            try:
                json.dump(run(graph), file)
            except (RuntimeError, ValueError, KeyError, AttributeError) as error:
                json.dump(str(error), file)
        os._exit(0)
    os.close(ends[1])
    with os.fdopen(ends[0]) as file:
        text = file.read()
    os.waitpid(child, 0)
    found = json.loads(text) if text else "TensorFlow Lite aborts"
    if isinstance(found, str):
        raise RuntimeError(found)
    return found


def one(kind, graph, outputs):
    if kind in ("REFUSED", "WORK", "ALONE"):
        return outputs, None
    found = run_apart(graph)
    if not outputs:
        return "; ".join(name + ": " + " ".join(recorded.shown(v) for v in values)
                         for name, values in found.items()), None if WRITE else "without outputs"
    for part in outputs.split("; "):
        name, text = part.split(": ")
        want = [float(v) for v in text.split()]
        if len(want) != len(found[name]) or any(
                abs(w - g) > 1e-4 * abs(w) + 1e-5 for w, g in zip(want, found[name])):
            return outputs, f"{name} is {found[name]}"
    return outputs, None


TFLITE = runtime.Tflite(sys.argv[1])
OPERATORS = model.codes(sys.argv[2])
WRITE = "--write" in sys.argv
if __name__ == "__main__":
    sys.exit(recorded.check(sys.argv[3], WRITE, one))
