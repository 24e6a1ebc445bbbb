# SPDX-License-Identifier: MIT
"""Runs models of one operation through TensorFlow Lite with and without the plug-in: TAP.

usage: operations.py LIBTENSORFLOW_LITE LIBNNACCEL_TFLITE DEVICE BUILTINS [I/N | NAME...]

I/N: the I-th of N parts.
"""
import random
import re
import struct
import sys
import zlib

import cases
import model
import runtime


def random_input(kind, shape):
    n = model.count(shape)
    if kind == model.BOOL:
        return bytes(random.randrange(2) for _ in range(n))
    if kind in (model.UINT8, model.INT8):
        return random.randbytes(n)
    if kind == model.INT32:
        return struct.pack(f"{n}i", *[random.randrange(-30, 30) for _ in range(n)])
    if kind == model.INT64:
        return struct.pack(f"{n}q", *[random.randrange(-30, 30) for _ in range(n)])
    return struct.pack(f"{n}f", *[random.uniform(-4, 4) for _ in range(n)])


def compare(case, kind, expected, got):
    """What is wrong; None: nothing."""
    if len(expected) != len(got):
        return f"{len(got)} bytes instead of {len(expected)}"
    letter = model.FORMATS[kind]
    n = len(expected) // struct.calcsize(letter)
    a, b = struct.unpack(f"{n}{letter}", expected), struct.unpack(f"{n}{letter}", got)
    if kind == model.FLOAT32:
        most = max((abs(v) for v in a), default=0)
        worst = max((abs(v - w) for v, w in zip(a, b)), default=0)
        if any(v != v for v in b):
            return "not a number"
        return f"off by {worst:g}, of {most:g}" if worst > case.tolerance * max(most, 1) else None
    worst = max((abs(int(v) - int(w)) for v, w in zip(a, b)), default=0)
    allowed = case.quanta if kind in (model.UINT8, model.INT8, model.INT16) else 0
    return f"off by {worst}, {sum(v != w for v, w in zip(a, b))} of {n}" if worst > allowed else None


def reference(tflite, operators, case, inputs):
    """What TensorFlow Lite computes itself."""
    random.seed(zlib.crc32(case.name.encode()))
    made = model.Model(operators)
    plain = runtime.Interpreter(tflite, made.finish(*(case.reference or case.make)(made)))
    plain.allocate()
    results = [plain.run(*i) for i in inputs]
    plain.close()
    return [case.join(r) for r in results] if case.reference else results


def run(tflite, plugin, options, operators, case):
    random.seed(zlib.crc32(case.name.encode()))
    made = model.Model(operators)
    outputs = case.make(made)
    data = made.finish(*outputs)
    with runtime.Stderr() as said:
        delegate = runtime.Delegate(plugin, options)
        with_it = runtime.Interpreter(tflite, data, [delegate.handle])
        with_it.allocate()
    taken = re.search(r"(\d+) of (\d+) nodes", said.text)
    wrong = None
    if case.left is None and taken.group(1) != taken.group(2):
        wrong = f"left to TensorFlow Lite: {said.text}"
    elif case.left is not None and (taken.group(1) != "0" or case.left not in said.text):
        wrong = f"must be left because of \"{case.left}\": {said.text}"
    inputs = [[struct.pack(f"{len(made.given[i][run])}i", *made.given[i][run]) if i in made.given else
               random_input(made.types[i], made.shapes[i]) for i in made.inputs]
              for run in range(case.runs)]
    expected_results = reference(tflite, operators, case, inputs)
    with runtime.Stderr() as ran:
        results = [with_it.run(*i) for i in inputs]
    if "stay with TensorFlow Lite" in ran.text:
        wrong = wrong or ran.text
    for expected, got in zip(expected_results, results):
        for i, (a, b) in enumerate(zip(expected, got)):
            wrong = wrong or compare(case, made.types[outputs[i]], a, b)
    with_it.close()
    delegate.close()
    return wrong


def main(library, plugin, device, builtins, *names):
    tflite = runtime.Tflite(library)
    operators = model.codes(builtins)
    options = {"device": device, "verbosity": 1}
    chosen = [c for c in cases.CASES if not names or c.name in names]
    if names and re.fullmatch(r"\d+/\d+", names[0]):
        part, parts = map(int, names[0].split("/"))
        chosen = cases.CASES[part::parts]
    failed = 0
    print(f"1..{len(chosen)}")
    for i, case in enumerate(chosen, 1):
        try:
            wrong = run(tflite, plugin, options, operators, case)
        except RuntimeError as error:
            wrong = str(error)
        failed += wrong is not None
        print(f"{'ok' if wrong is None else 'not ok'} {i} - tflite {device}: {case.name}",
              flush=True)
        if wrong:
            print("# " + wrong.strip().replace("\n", "\n# "))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
