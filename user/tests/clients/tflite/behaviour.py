# SPDX-License-Identifier: MIT
"""What the plug-in does with whole graphs: options, partitions, resizing, states, caches, threads,
models that are wrong: TAP.

usage: behaviour.py LIBTENSORFLOW_LITE LIBNNACCEL_TFLITE DEVICE BUILTINS
"""
import contextlib
import ctypes
import io
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import types
from unittest import mock

import cases
import model
import runtime

PAGE = "Documentation/tflite.rst"
README = "README.md"


class World:
    """What the tests are given."""

    def __init__(self, library, plugin, device, builtins):
        self.library = library
        self.plugin = plugin
        self.device = device
        self.operators = model.codes(builtins)
        self.tflite = runtime.Tflite(library)

    def delegate(self, **options):
        return runtime.Delegate(self.plugin, {"device": self.device, **options})

    def refusal(self, **options):
        try:
            runtime.Delegate(self.plugin, options).close()
        except ValueError as error:
            return str(error)
        return ""

    def both(self, data, **options):
        """An interpreter without and one with the plug-in, the delegate, and what it said."""
        plain = runtime.Interpreter(self.tflite, data)
        plain.allocate()
        with runtime.Stderr() as said:
            delegate = self.delegate(**{"verbosity": 1, **options})
            ours = runtime.Interpreter(self.tflite, data, [delegate.handle])
            ours.allocate()
        return plain, ours, delegate, said.text


def floats(count):
    return struct.pack(f"{count}f", *[random.uniform(-1, 1) for _ in range(count)])


def near(a, b):
    n = len(a) // 4
    return len(a) == len(b) and all(
        abs(x - y) <= 1e-4 for x, y in zip(struct.unpack(f"{n}f", a), struct.unpack(f"{n}f", b)))


def conv(m, x, size, channels, out):
    w = cases.weights(m, model.FLOAT32, [out, 3, 3, channels])
    return m.op("CONV_2D", [x, w, cases.bias(m, model.FLOAT32, out)],
                [m.tensor([1, size, size, out])], model.SAME, 1, 1, model.RELU, 1, 1)


def network(operators, middle=None):
    """Two convolutions, with an operation between them."""
    m = model.Model(operators)
    x = m.input([1, 8, 8, 3])
    y = conv(m, x, 8, 3, 8)
    if middle:
        y = m.op(middle, [y], [m.tensor([1, 8, 8, 8])])
    # The weights have 1152 bytes, because only constants of at least 1024 bytes are used from the mapped file.
    return m.finish(conv(m, y, 8, 8, 4))


def nodes(said):
    """Nodes taken, nodes in all, partitions."""
    return tuple(map(int, re.search(r"(\d+) of (\d+) nodes in (\d+) partition", said).groups()))


def test_options_are_errors_by_name(w):
    assert 'no option "colour"' in w.refusal(colour="red")
    assert "option burst" in w.refusal(burst="perhaps")
    assert "option priority" in w.refusal(priority="urgent")
    assert "option verbosity" in w.refusal(verbosity="-1")
    assert "option max_partitions" in w.refusal(max_partitions="2x")
    assert "option min_work" in w.refusal(min_work=2 ** 31)
    assert 'no option "max_shapes"' in w.refusal(max_shapes=1)
    assert 'no device "abacus"' in w.refusal(device="abacus")
    assert "nnapi-reference" in w.refusal(device="nnapi-reference", disallow_cpu=1)


def test_options_are_taken(w):
    data = network(w.operators)
    image = floats(192)
    plain = None
    for options in ({"preference": "low_power"}, {"preference": "sustained_speed"},
                    {"priority": "low"}, {"execution_priority": "high"}, {"burst": 0},
                    {"allow_fp16": "true"}, {"burst": "Off"}, {"priority": "HIGH"},
                    {"min_work": 2 ** 31 - 1}, {"model_token": "m"}, {"max_partitions": 3}):
        plain, ours, delegate, said = w.both(data, **options)
        assert nodes(said) == (2, 2, 1), said
        assert near(plain.run(image)[0], ours.run(image)[0]) or "allow_fp16" in options
        ours.close()
        delegate.close()
        plain.close()


def test_all_devices(w):
    data = network(w.operators)
    delegate = runtime.Delegate(w.plugin, {})
    ours = runtime.Interpreter(w.tflite, data, [delegate.handle])
    ours.allocate()
    ours.run(floats(192))
    ours.close()
    delegate.close()


def test_batch_is_resized(w):
    data = network(w.operators)
    plain, ours, delegate, _ = w.both(data)
    for n in (3, 1, 5, 5, 2):
        image = floats(192 * n)
        for i in (plain, ours):
            i.resize(0, [n, 8, 8, 3])
            i.allocate()
        a, b = plain.run(image)[0], ours.run(image)[0]
        assert len(a) == n * 8 * 8 * 4 * 4 and near(a, b), n
    ours.close()
    delegate.close()
    plain.close()


def test_partitions(w):
    data = network(w.operators, "BITCAST")
    image = floats(192)
    for options, wanted in (({}, (2, 3, 2)), ({"max_partitions": 1}, (1, 3, 1)),
                            ({"min_work": 10 ** 9}, (0, 3, 0))):
        plain, ours, delegate, said = w.both(data, **options)
        assert nodes(said) == wanted, said
        assert "node 1, BITCAST, is left to TensorFlow Lite: NNAPI has no such operation" in said
        assert ("max_partitions" in said) == ("max_partitions" in options)
        assert ("less work than min_work" in said) == ("min_work" in options)
        assert near(plain.run(image)[0], ours.run(image)[0])
        ours.close()
        delegate.close()
        plain.close()


def test_small_partitions_are_left(w):
    m = model.Model(w.operators)
    x = m.input([4])
    y = m.op("BITCAST", [m.op("EXP", [x], [m.tensor([4])])], [m.tensor([4])])
    plain, ours, delegate, said = w.both(m.finish(y))
    assert nodes(said)[0] == 0 and "less work than min_work" in said, said
    data = floats(4)
    assert plain.run(data) == ours.run(data)
    ours.close()
    delegate.close()
    plain.close()


def numbers(m, data, shape=None):
    return m.tensor([len(data)] if shape is None else shape, model.INT32, data=data)


def shape_with_batch(m, x, rest):
    """What Keras writes for a layer of any batch: the batch of the input's shape, and sizes that it knows."""
    shape = m.op("SHAPE", [x], [m.tensor([len(m.shapes[x])], model.INT32)], 2)
    batch = m.op("STRIDED_SLICE", [shape, numbers(m, [0]), numbers(m, [1]), numbers(m, [1])],
                 [m.tensor([], model.INT32)], 0, 0, 0, 0, 1, False)
    return m.op("PACK", [batch] + [numbers(m, [n], []) for n in rest], [m.tensor([1 + len(rest)], model.INT32)],
                1 + len(rest), 0)


def flatten(m):
    y = conv(m, m.input([1, 8, 8, 3]), 8, 3, 8)
    flat = m.op("RESHAPE", [y, shape_with_batch(m, y, [512])], [m.tensor([1, 512])])
    half = m.tensor([4, 512], model.FLOAT16, data=[.01 * (i % 7 - 3) for i in range(2048)])
    wide = m.op("DEQUANTIZE", [half], [m.tensor([4, 512])])
    dense = m.op("FULLY_CONNECTED", [flat, wide, -1], [m.tensor([1, 4])], model.NONE, 0, False)
    return dense, m.op("ABS", [y], [m.tensor([1, 8, 8, 8])])


def upsampling(m):
    y = conv(m, m.input([1, 8, 8, 3]), 8, 3, 8)
    for size in (16, 32):
        weights = cases.weights(m, model.FLOAT32, [8, 2, 2, 8])
        y = m.op("TRANSPOSE_CONV", [shape_with_batch(m, y, [size, size, 8]), weights, y],
                 [m.tensor([1, size, size, 8])], model.SAME, 2, 2, model.NONE)
    return [conv(m, y, 32, 8, 1)]


def resizing(m):
    x = m.input([1, 8, 8, 3])
    shape = m.op("SHAPE", [x], [m.tensor([4], model.INT32)], 2)
    size = m.op("STRIDED_SLICE", [shape, numbers(m, [1]), numbers(m, [3]), numbers(m, [1])],
                [m.tensor([2], model.INT32)], 0, 0, 0, 0, 0, False)
    twice = m.op("MUL", [size, numbers(m, [2], [])], [m.tensor([2], model.INT32)], model.NONE)
    y = m.op("RESIZE_BILINEAR", [conv(m, x, 8, 3, 8), twice], [m.tensor([1, 16, 16, 8])], False, True)
    return [m.op("RESIZE_NEAREST_NEIGHBOR", [conv(m, y, 16, 8, 4), size], [m.tensor([1, 8, 8, 4])], False, False)]


def attention(m):
    x = m.input([1, 6, 8])
    y = m.op("RESHAPE", [x, shape_with_batch(m, x, [6, 2, 4])], [m.tensor([1, 6, 2, 4])])
    y = m.op("TRANSPOSE", [y, numbers(m, [0, 2, 1, 3])], [m.tensor([1, 2, 6, 4])])
    z = m.op("BATCH_MATMUL", [y, y], [m.tensor([1, 2, 6, 6])], False, True, False)
    z = m.op("BATCH_MATMUL", [m.op("SOFTMAX", [z], [m.tensor([1, 2, 6, 6])], 1.0), y], [m.tensor([1, 2, 6, 4])],
             False, False, False)
    z = m.op("TRANSPOSE", [z, numbers(m, [0, 2, 1, 3])], [m.tensor([1, 6, 2, 4])])
    shape = m.op("SHAPE", [z], [m.tensor([4], model.INT32)], 2)
    outer = m.op("GATHER", [shape, numbers(m, [0, 1])], [m.tensor([2], model.INT32)], 0, 0)
    inner = m.op("GATHER", [shape, numbers(m, [2, 3])], [m.tensor([2], model.INT32)], 0, 0)
    size = m.op("REDUCE_PROD", [inner, numbers(m, [0])], [m.tensor([1], model.INT32)], True)
    whole = m.op("CONCATENATION", [outer, size], [m.tensor([3], model.INT32)], 0, 0)
    z = m.op("RESHAPE", [z, whole], [m.tensor([1, 6, 8])])
    fill = m.op("FILL", [shape_with_batch(m, z, [6, 8]), m.tensor([], data=[.5])], [m.tensor([1, 6, 8])])
    return [m.op("ADD", [z, fill], [m.tensor([1, 6, 8])], model.NONE)]


def run_late(w, data, wanted, runs, **options):
    """Runs a model with and without the plug-in; returns what that said when it began, and then."""
    plain, ours, delegate, said = w.both(data, **options)
    assert nodes(said) == wanted, said
    with runtime.Stderr() as ran:
        for inputs in runs:
            expected = plain.run(*inputs)
            for a, b in zip(expected, ours.run(*inputs)):
                assert near(a, b), (len(a), len(b), a[:16], b[:16])
    ours.close()
    delegate.close()
    plain.close()
    return said, ran.text


def packed(*values):
    return struct.pack(f"{len(values)}i", *values)


def reshaped(m, name="TANH", kind=model.FLOAT32):
    """A convolution, a RESHAPE by an input, and another operation."""
    x = m.input([1, 8, 8, 3])
    shape = m.input([2], model.INT32)
    z = m.op("RESHAPE", [conv(m, x, 8, 3, 8), shape], [m.tensor([1, 1], known=False)])
    return m.op(name, [z], [m.tensor([1, 1], kind, known=False)])


def test_shapes_that_are_known_late(w):
    sizes = ((8, 64), (512, 1), (16, 32), (16, 32))
    m = model.Model(w.operators)
    data = m.finish(reshaped(m))
    _, ran = run_late(w, data, (3, 3, 2), [(floats(192), packed(*size)) for size in sizes], verbosity=2)
    # The library compiles the 2 nodes with unknown shapes for each new shape, but compiles the convolution only once.
    assert ran.count("compiled 2 nodes") == 3 and "stay with" not in ran, ran
    # With and without the plug-in, a run with an impossible shape fails, and the next run with a possible shape
    # succeeds.
    plain, ours, delegate, _ = w.both(data)
    for i in (plain, ours):
        with runtime.Stderr():
            try:
                i.run(floats(192), packed(5, 5))
                raise AssertionError("a RESHAPE to another size")
            except RuntimeError:
                pass
    image = floats(192)
    assert near(plain.run(image, packed(4, 128))[0], ours.run(image, packed(4, 128))[0])
    for i in (plain, ours):
        i.resize(0, [2, 8, 8, 3])
        i.allocate()
    image = floats(384)
    assert near(plain.run(image, packed(4, 256))[0], ours.run(image, packed(4, 256))[0])
    ours.close()
    delegate.close()
    plain.close()


def test_late_values_inside(w):
    # An earlier node of the same run computes the RESHAPE's shape: a SHAPE of TensorFlow Lite, or a
    # CAST in an earlier partition.
    m = model.Model(w.operators)
    z = reshaped(m)
    flat = m.op("RESHAPE", [z, shape_with_batch(m, z, [2, -1])], [m.tensor([1, 1, 1], known=False)])
    data = m.finish(m.op("ABS", [flat], [m.tensor([1, 1, 1], known=False)]), flat)
    _, ran = run_late(w, data, (8, 8, 2), [(floats(192), packed(*s)) for s in ((8, 64), (16, 32), (8, 64))])
    assert "stay with" not in ran, ran
    m = model.Model(w.operators)
    again = m.op("CAST", [m.input([2])], [m.tensor([2], model.INT32)], model.FLOAT32, model.INT32)
    data = m.finish(m.op("RESHAPE", [m.input([4, 6]), again], [m.tensor([1, 1], known=False)]))
    _, ran = run_late(w, data, (2, 2, 2), [(struct.pack("2f", *s), floats(24)) for s in ((3, 8), (12, 2))])
    assert "stay with" not in ran, ran
    # If the shape of a CAST's output is known only at run time, TensorFlow Lite computes the CAST.
    m = model.Model(w.operators)
    row = m.op("RESHAPE", [m.input([2]), m.input([1], model.INT32)], [m.tensor([1], known=False)])
    times = m.op("CAST", [row], [m.tensor([1], model.INT32, known=False)], model.FLOAT32, model.INT32)
    y = m.op("TILE", [m.input([4, 6]), times], [m.tensor([1, 1], known=False)])
    said, _ = run_late(w, m.finish(m.op("ABS", [y], [m.tensor([1, 1], known=False)])), (3, 4, 2),
                       [(struct.pack("2f", *s), packed(2), floats(24)) for s in ((1, 2), (3, 1))], min_work=0)
    assert "CAST, is left to TensorFlow Lite: the shape of another node depends on its value" in said, said


def test_late_nodes_that_stay(w):
    for name, kind, options, why in (("TANH", model.FLOAT32, {}, "shapes change too often"),
                                     ("BITCAST", model.INT32, {}, "too little work")):
        m = model.Model(w.operators)
        data = m.finish(reshaped(m, name, kind))
        sizes = [(2 ** (i % 8), 2 ** (9 - i % 8)) for i in range(12)]
        _, ran = run_late(w, data, (3, 3, 2) if name == "TANH" else (2, 3, 2),
                          [(floats(192), packed(*size)) for size in sizes], **options)
        assert why in ran, ran
    m = model.Model(w.operators)
    x = m.op("RESHAPE", [m.input([24], model.INT32), m.input([2], model.INT32)],
             [m.tensor([1, 1], model.INT32, known=False)])
    data = m.finish(m.op("ADD", [x, x], [m.tensor([1, 1], model.INT32, known=False)], model.RELU))
    _, ran = run_late(w, data, (2, 2, 1), [(packed(*range(-12, 12)), packed(*s)) for s in ((2, 12), (2, 12), (3, 8))])
    assert ran.count("stay with TensorFlow Lite: node 1, ADD: int32 with a fused activation") == 2, ran


def test_indices_beyond_32_bits(w):
    m = model.Model(w.operators)
    x, at = m.input([4, 3]), m.input([2], model.INT64)
    data = m.finish(m.op("GATHER", [x, at], [m.tensor([2, 3])], 0, 0),
                    m.op("CAST", [m.input([2], model.INT64)], [m.tensor([2], model.INT32)], 4, 2))
    plain, ours, delegate, said = w.both(data)
    assert nodes(said) == (2, 2, 1), said
    for wide in (2 ** 32 + 1, -2 ** 32, 2 ** 31, -1):
        for i in (plain, ours):
            with runtime.Stderr():
                try:
                    i.run(floats(12), struct.pack("2q", 0, wide), bytes(16))
                    raise AssertionError(f"an index of {wide}")
                except RuntimeError:
                    pass
    inputs = floats(12), struct.pack("2q", 3, 1), struct.pack("2q", 2 ** 32 + 5, -2 ** 40 - 7)
    assert plain.run(*inputs) == ours.run(*inputs)
    ours.close()
    delegate.close()
    plain.close()


def test_nodes_behind_where(w):
    m = model.Model(w.operators)
    x = m.input([6, 5])
    places = m.op("WHERE", [m.op("GREATER", [x, m.tensor([], data=[0])], [m.tensor([6, 5], model.BOOL)])],
                  [m.tensor([1, 2], model.INT64, known=False)])
    y = m.op("GATHER_ND", [x, places], [m.tensor([1], known=False)])
    data = m.finish(m.op("EXP", [y], [m.tensor([1], known=False)]))
    _, ran = run_late(w, data, (3, 4, 2), [(floats(30),) for _ in range(3)] + [(struct.pack("30f", *[-1] * 30),)],
                      min_work=0)
    assert ran.count("stay with") == 1, ran


def test_shapes_that_follow_from_shapes(w):
    for make, shapes in ((flatten, ([1, 8, 8, 3], [3, 8, 8, 3], [1, 8, 8, 3])),
                         (upsampling, ([1, 8, 8, 3], [2, 8, 8, 3])),
                         (resizing, ([1, 8, 8, 3], [1, 10, 12, 3], [2, 8, 8, 3])),
                         (attention, ([1, 6, 8], [3, 6, 8], [2, 6, 8]))):
        m = model.Model(w.operators)
        plain, ours, delegate, said = w.both(m.finish(*make(m)))
        taken, of, parts = nodes(said)
        assert taken == of and parts == 1, (make.__name__, said)
        for shape in shapes:
            for i in (plain, ours):
                i.resize(0, shape)
                i.allocate()
            for _ in range(2):
                data = floats(model.count(shape))
                assert all(near(a, b) for a, b in zip(plain.run(data), ours.run(data))), (make.__name__, shape)
        ours.close()
        delegate.close()
        plain.close()


def test_states_start_again(w):
    m = model.Model(w.operators)
    data = m.finish(*cases.lstm(True)(m))
    plain, ours, delegate, _ = w.both(data)
    image = floats(30)
    first = ours.run(image)[0]
    second = ours.run(image)[0]
    assert near(first, plain.run(image)[0]) and near(second, plain.run(image)[0])
    assert not near(first, second)
    ours.reset()
    assert ours.run(image)[0] == first
    ours.close()
    delegate.close()
    plain.close()


def test_cache(w):
    data = network(w.operators)
    image = floats(192)
    with tempfile.TemporaryDirectory() as folder:
        results, files = [], []
        for token in ("", "", "one", "one", "two"):
            options = {"cache_dir": folder, **({"cache_token": token} if token else {})}
            plain, ours, delegate, _ = w.both(data, **options)
            results.append(ours.run(image)[0])
            files.append(len(os.listdir(folder)))
            assert near(results[-1], plain.run(image)[0])
            ours.close()
            delegate.close()
            plain.close()
        # Two models with equal contents, or with equal tokens, share one cache entry.
        assert files[0] > 0 and files[0] == files[1] < files[2] == files[3] < files[4], files
        # A model with other weights has another cache entry.
        plain, ours, delegate, _ = w.both(network(w.operators), cache_dir=folder)
        assert near(plain.run(image)[0], ours.run(image)[0])
        assert len(os.listdir(folder)) > files[4]
        ours.close()
        delegate.close()
        plain.close()


def test_threads(w):
    data = network(w.operators)
    image = floats(192)
    shared = w.delegate()
    plain = runtime.Interpreter(w.tflite, data)
    plain.allocate()
    expected = plain.run(image)[0]
    wrong = []

    def work(delegate):
        try:
            ours = runtime.Interpreter(w.tflite, data, [delegate.handle])
            ours.allocate()
            for _ in range(20):
                if not near(ours.run(image)[0], expected):
                    wrong.append("a result")
            ours.close()
        except RuntimeError as error:
            wrong.append(str(error))

    own = w.delegate()
    threads = [threading.Thread(target=work, args=(d,)) for d in (shared, shared, shared, own)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong
    for d in (shared, own):
        d.close()
    plain.close()


def test_model_files(w):
    """Weights are in the file, which is mapped; another file by then has its name."""
    image = floats(192)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.tflite")
        for replaced in (False, True):
            with open(path, "wb") as file:
                file.write(network(w.operators))
            plain = runtime.Interpreter(w.tflite, path)
            plain.allocate()
            delegate = w.delegate()
            ours = runtime.Interpreter(w.tflite, path, [delegate.handle])
            if replaced:
                os.rename(path, path + ".old")
                with open(path, "wb") as file:
                    file.write(b"nothing")
            ours.allocate()
            for n in (1, 2):
                for i in (plain, ours):
                    i.resize(0, [n, 8, 8, 3])
                    i.allocate()
                assert near(plain.run(image * n)[0], ours.run(image * n)[0])
            ours.close()
            delegate.close()
            plain.close()


def test_interpreters_take_turns(w):
    data = network(w.operators)
    delegate = w.delegate()
    ours = [runtime.Interpreter(w.tflite, data, [delegate.handle]) for _ in range(3)]
    image = floats(192)
    for i in ours:
        i.allocate()
    results = {i.run(image)[0] for _ in range(3) for i in ours}
    assert len(results) == 1
    for i in ours:
        i.close()
    delegate.close()


def test_constants_that_others_need_stay(w):
    """DEQUANTIZE of float16 weights is no use where what reads them is left."""
    m = model.Model(w.operators)
    x = m.input([8, 8])
    half = m.tensor([8, 8], model.FLOAT16, data=cases.values(model.FLOAT32, [8, 8]))
    wide = m.op("DEQUANTIZE", [half], [m.tensor([8, 8])])
    y = m.op("BITCAST", [wide], [m.tensor([8, 8])])
    z = m.op("MUL", [m.op("ADD", [x, y], [m.tensor([8, 8])], 0), x], [m.tensor([8, 8])], 0)
    plain, ours, delegate, said = w.both(m.finish(z), min_work=0)
    assert "DEQUANTIZE, is left to TensorFlow Lite: a node that is left reads" in said, said
    data = floats(64)
    assert near(plain.run(data)[0], ours.run(data)[0])
    ours.close()
    delegate.close()
    plain.close()


def test_branches(w):
    """IF stays with TensorFlow Lite, and what is in its branches is taken."""
    m = model.Model(w.operators)
    condition, x = m.input([1], model.BOOL), m.input([1, 8, 8, 3])
    y = m.op("IF", [condition, x], [m.tensor([1, 8, 8, 4])], 1, 2)
    for _ in range(2):
        branch = m.branch()
        branch.outputs = [conv(branch, branch.input([1, 8, 8, 3]), 8, 3, 4)]
    plain, ours, delegate, said = w.both(m.finish(y))
    assert "IF, is left to TensorFlow Lite: TensorFlow Lite runs its subgraphs" in said, said
    assert said.count("1 of 1 nodes in 1 partition") == 2, said
    image = floats(192)
    results = [ours.run(bytes([flag]), image)[0] for flag in (1, 0)]
    assert not near(*results)
    assert all(near(r, plain.run(bytes([flag]), image)[0]) for flag, r in zip((1, 0), results))
    ours.close()
    delegate.close()
    plain.close()


def test_shapes_as_values(w):
    """SHAPE of an input that nothing else reads: it is compiled again when that is resized."""
    m = model.Model(w.operators)
    x, y = m.input([2, 3]), m.input([4])
    shape = m.op("SHAPE", [x], [m.tensor([2], model.INT32)], 2)
    exp = m.op("EXP", [y], [m.tensor([4])])
    plain, ours, delegate, said = w.both(m.finish(shape, exp))
    assert nodes(said)[:2] == (2, 2), said
    for n in (2, 5, 1):
        for i in (plain, ours):
            i.resize(0, [n, 7])
            i.allocate()
        data = floats(7 * n), floats(4)
        a, b = plain.run(*data), ours.run(*data)
        assert a[0] == b[0] == struct.pack("2i", n, 7) and near(a[1], b[1])
    ours.close()
    delegate.close()
    plain.close()


def test_wrong_models(w):
    """Shapes, scales and parameters that cannot be: an error or TensorFlow Lite's, never a crash."""
    def broken(change):
        m = model.Model(w.operators)
        x = m.input([1, 8, 8, 4])
        shapes = {"w": [8, 3, 3, 4], "y": [1, 8, 8, 8], "stride": 1, "dilation": 1}
        shapes.update(change)
        weight = m.tensor(shapes["w"], data=[.5] * abs(model.count(shapes["w"])))
        y = m.tensor(shapes["y"])
        m.op("CONV_2D", [x, weight, cases.bias(m, model.FLOAT32, 8)], [y], model.SAME,
             shapes["stride"], shapes["stride"], model.NONE, shapes["dilation"], 1)
        return m.finish(y)

    for change in ({"w": [8, 3, 3, 3]}, {"w": [8, 3, 3, 0]}, {"w": [0, 3, 3, 4]},
                   {"y": [1, 8, 8, 2 ** 30]}, {"y": [2 ** 16, 2 ** 16, 1, 1]}, {"y": []},
                   {"stride": 0}, {"stride": -3}, {"dilation": 0}, {"w": [8, 3, 12]},
                   {"y": [1, 8, 8, 7]}):
        with runtime.Stderr():
            delegate = w.delegate(verbosity=1)
            try:
                ours = runtime.Interpreter(w.tflite, broken(change), [delegate.handle])
            except RuntimeError:
                delegate.close()
                continue
            try:
                # TensorFlow Lite computes the broken operations that it supports, and rejects all others.
                ours.allocate()
                ours.run(floats(256))
            except RuntimeError:
                pass
            ours.close()
            delegate.close()


def outcome(w, path, size, with_plugin):
    """What becomes of a model file, in a child: its exit status, of a signal below 0."""
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        return os.waitstatus_to_exitcode(status)
    try:
        signal.alarm(20)
        delegates = [w.delegate(verbosity=1).handle] if with_plugin else []
        ours = runtime.Interpreter(w.tflite, path, delegates)
        ours.allocate()
        ours.run(floats(size))
        os._exit(0)
    except RuntimeError:
        os._exit(1)
    finally:
        os._exit(2)


def damaged(data):
    """The file cut off, and with bytes, words and offsets that are something else."""
    for length in (0, 1, 4, 8, 40, 300, len(data) // 2, len(data) - 1000,
                   len(data) - 100):
        yield f"cut off at {length}", data[:length]
    # Change only small numbers: the description of the graph has small numbers, unlike the random weights.
    at = [i for i in range(0, len(data) - 4, 4) if struct.unpack_from("i", data, i)[0] in
          range(-70000, 70000)]
    for _ in range(150):
        place = random.choice(at)
        word = random.choice((0, -1, 1, 2, 7, 255, 65536, 2 ** 31 - 1, -2 ** 31, 2 ** 30))
        yield f"{word} at {place}", data[:place] + struct.pack("i", word) + data[place + 4:]


def test_damaged_files(w):
    """What TensorFlow Lite itself bears, it bears with the plug-in."""
    m = model.Model(w.operators)
    x = m.input([1, 8, 8, 3])
    y = m.op("RELU", [conv(m, x, 8, 3, 8)], [m.tensor([1, 8, 8, 8])])
    y = m.op("RESHAPE", [y, cases.ints(m, [8, 64])], [m.tensor([8, 64])])
    y = m.op("STRIDED_SLICE", [y] + [cases.ints(m, v) for v in ([0, 1], [8, 60], [1, 2])],
             [m.tensor([8, 30])], 0, 0, 0, 0, 0)
    y = m.op("MEAN", [y, cases.ints(m, [1])], [m.tensor([8, 1])], True)
    data = m.finish(m.op("SOFTMAX", [y], [m.tensor([8, 1])], 1.0))
    worse, counts = [], {}
    with tempfile.TemporaryDirectory() as folder, runtime.Stderr():
        path = os.path.join(folder, "model.tflite")
        for name, content in damaged(data):
            with open(path, "wb") as file:
                file.write(content)
            got = outcome(w, path, 192, True)
            counts[got] = counts.get(got, 0) + 1
            if got < 0 and outcome(w, path, 192, False) >= 0:
                worse.append(f"{name}: signal {-got}")
            assert got == 1 or not name.startswith("cut off"), name
    assert not worse, worse
    assert counts.get(0, 0) > 10 and counts.get(1, 0) > 10, counts


def exported(w, size):
    """A dma-buf of the module's memory, as another program would get it."""
    lib = ctypes.CDLL(os.path.join(os.path.dirname(w.plugin), "libnnaccel.so"))
    device, memory, fd = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    assert not lib.nna_device_open(None, ctypes.byref(device), None)
    assert not lib.nna_memory_alloc(device, ctypes.c_uint64(size), ctypes.byref(memory), None)
    assert not lib.nna_memory_export(memory, ctypes.byref(fd), None)
    lib.nna_memory_free(memory)
    lib.nna_device_close(device)
    return fd.value


def test_buffer_handles(w):
    """Input, output and what goes between two partitions are in buffers: memfds, and dma-bufs of
    the module's. TensorFlow Lite's own BITCAST between them reads by CopyFromBufferHandle."""
    data = network(w.operators, "BITCAST")
    makers = [lambda size: os.memfd_create("tensor")]
    if w.device == "nnaccel":
        makers.append(lambda size: exported(w, size))
    for make in makers:
        plain, ours, delegate, said = w.both(data)
        assert nodes(said) == (2, 3, 2), said
        image, maps = floats(192), {}
        # Tensor 0 is the input, tensors 3 and 4 are BITCAST's input and output, and tensor 7 is the output.
        for tensor, size in ((0, 768), (3, 2048), (7, 1024)):
            fd = make(4096)
            if make is makers[0]:
                os.truncate(fd, 4096)
            maps[tensor] = mmap.mmap(fd, 4096)
            handle = delegate.add_buffer(fd, size)
            assert handle >= 0, os.strerror(-handle)
            ours.set_buffer_handle(tensor, delegate, handle)
            os.close(fd)
        for turn in range(3):
            image = floats(192)
            expected = plain.run(image)[0]
            maps[0][:768] = image
            ours.invoke()
            assert near(ours.get(0), expected), turn
            assert near(maps[7][:1024], expected), turn
            assert any(maps[3][:2048])
        for m in maps.values():
            m.close()
        ours.close()
        delegate.close()
        plain.close()


def test_graphs_that_go_in_circles(w):
    """A node that writes an input that was read, a tensor that two nodes write."""
    for circle in (True, False):
        m = model.Model(w.operators)
        x = m.input([2, 3])
        y = m.tensor([2, 3])
        m.op("EXP", [x], [y])
        m.op("EXP", [y], [x if circle else y])
        with runtime.Stderr() as said:
            delegate = w.delegate(verbosity=1)
            try:
                runtime.Interpreter(w.tflite, m.finish(y), [delegate.handle]).close()
            except RuntimeError:
                pass
            delegate.close()
        assert "written twice" in said.text or "nnaccel" not in said.text, said.text


def test_tensors_that_do_not_exist(w):
    m = model.Model(w.operators)
    x = m.input([1, 8, 8, 4])
    y = m.tensor([1, 8, 8, 8])
    m.op("CONV_2D", [x, -1, -1], [y], model.SAME, 1, 1, 0, 1, 1)
    with runtime.Stderr() as said:
        delegate = w.delegate(verbosity=1)
        try:
            ours = runtime.Interpreter(w.tflite, m.finish(y), [delegate.handle])
            try:
                ours.allocate()
                raise AssertionError("a convolution without weights is allocated")
            except RuntimeError:
                pass
            ours.close()
        except RuntimeError:
            pass
        delegate.close()
    assert "input 1 is missing" in said.text, said.text


def test_plug_in_is_loaded_again(w):
    program = ("import ctypes, _ctypes, sys\n"
               "for _ in range(3):\n"
               "    lib = ctypes.CDLL(sys.argv[1])\n"
               "    lib.tflite_plugin_create_delegate.restype = ctypes.c_void_p\n"
               "    d = lib.tflite_plugin_create_delegate(None, None, ctypes.c_size_t(0), None)\n"
               "    lib.tflite_plugin_destroy_delegate(ctypes.c_void_p(d))\n"
               "    lib.tflite_plugin_destroy_delegate(None)\n"
               "    _ctypes.dlclose(lib._handle)\n")
    subprocess.run(python() + ["-c", program, w.plugin], check=True)


def python():
    """The command line of this interpreter, with the loader that runs it."""
    with open("/proc/self/cmdline", "rb") as file:
        words = file.read().decode().split("\0")
    return words[:[i for i, word in enumerate(words) if word.endswith("python3")][0] + 1]


def example(first):
    """The lines of an example of the page, of which the first one is known."""
    with open(PAGE, encoding="ascii") as file:
        text = file.read()
    lines = []
    for line in text[text.index(first):].splitlines():
        if line and not line.startswith("    "):
            break
        lines.append(line[4:])
    return "\n".join(lines)


def fenced():
    """The example of the front page."""
    with open(README, encoding="utf-8") as file:
        return next(block for block in re.findall(r"^```python\n(.*?)^```", file.read(), re.S | re.M)
                    if "tflite_runtime" in block)


class Package:
    """What the first example uses of the module tflite_runtime.interpreter, over the C library."""

    def __init__(self, w):
        self.__path__ = []
        self.interpreter = self
        self.load_delegate = lambda name, options: runtime.Delegate(
            os.path.join(os.path.dirname(w.plugin), os.path.basename(name)), options)
        self.Interpreter = lambda path, experimental_delegates: Loaded(
            w.tflite, path, [d.handle for d in experimental_delegates])


class Loaded(runtime.Interpreter):
    allocate_tensors = runtime.Interpreter.allocate
    get_tensor = runtime.Interpreter.get

    def get_input_details(self):
        return [{"index": i} for i in range(self.inputs)]

    def get_output_details(self):
        return [{"index": i} for i in range(self.outputs)]

    def tensor(self, index):
        tensor = ctypes.c_void_p(self.t.InterpreterGetInputTensor(ctypes.c_void_p(self.handle),
                                                                  index))
        data, size = self.t.TensorData(tensor), self.t.TensorByteSize(tensor)
        return lambda: types.SimpleNamespace(
            fill=lambda value: ctypes.memset(ctypes.c_void_p(data), value, size))


def run_with_package(w, code):
    package = Package(w)
    modules = {"tflite_runtime": package, "tflite_runtime.interpreter": package}
    output = io.StringIO()
    with tempfile.NamedTemporaryFile(suffix=".tflite") as file, runtime.Stderr() as said:
        file.write(network(w.operators))
        file.flush()
        with mock.patch.dict(sys.modules, modules), contextlib.redirect_stdout(output), \
                mock.patch.object(sys, "argv", ["example", file.name, w.device]):
            exec(code, {})
    assert f"2 of 2 nodes in 1 partition, for {w.device}" in said.text, said.text
    assert len(output.getvalue()) > 1024, output.getvalue()


def test_first_example_of_the_page(w):
    run_with_package(w, example("    import sys\n    from tflite_runtime"))


def test_example_of_the_front_page(w):
    run_with_package(w, fenced())


def run_with_ctypes(w, code, model_file, device):
    return subprocess.run(python() + ["-c", code, w.library, w.plugin, model_file, device],
                          check=False, capture_output=True, text=True)


def test_second_example_of_the_page(w):
    code = example("    import ctypes, sys\n")
    with tempfile.NamedTemporaryFile(suffix=".tflite") as file:
        file.write(network(w.operators))
        file.flush()
        done = run_with_ctypes(w, code, file.name, w.device)
        device = run_with_ctypes(w, code, file.name, "nowhere")
        option = run_with_ctypes(w, code.replace('b"verbosity"', 'b"loudness"'), file.name, w.device)
        file.seek(0)
        file.truncate(16)
        damaged = run_with_ctypes(w, code, file.name, w.device)
    absent = run_with_ctypes(w, code, "/nonexistent", w.device)
    assert done.returncode == 0 and done.stdout.strip() == f"{8 * 8 * 4 * 4} bytes", done
    assert f"2 of 2 nodes in 1 partition, for {w.device}" in done.stderr, done.stderr
    for wrong, text in (device, 'no device "nowhere"'), (option, "loudness"), \
            (damaged, "TfLiteModelCreateFromFile() failed"), \
            (absent, "TfLiteModelCreateFromFile() failed"):
        assert wrong.returncode == 1 and text in wrong.stderr, wrong


def workers():
    """Processes of the engine that serve a client: those whose parent is one of the engine."""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                name, rest = file.read().split(" (", 1)[1].rsplit(") ", 1)
        except OSError:
            continue
        if name.startswith("nnaccel"):
            parents[int(pid)] = int(rest.split()[1])
    return [pid for pid, parent in parents.items() if parent in parents]


def test_engine_dies(w):
    data = network(w.operators)
    plain, ours, delegate, _ = w.both(data)
    image = floats(192)
    expected = plain.run(image)[0]
    assert near(ours.run(image)[0], expected)
    for _ in range(2):
        victims = workers()
        assert victims, "no worker is there"
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        with runtime.Stderr() as said:
            for _ in range(5):
                try:
                    result = ours.run(image)[0]
                    break
                except RuntimeError:
                    result = None
        assert result is not None and near(result, expected), said.text
    ours.close()
    delegate.close()
    plain.close()


def main(*arguments):
    w = World(*arguments[:4])
    random.seed(15)
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_") and
             (n != "test_engine_dies" or w.device == "nnaccel")]
    failed = 0
    print(f"1..{len(tests)}")
    for i, (name, test) in enumerate(tests, 1):
        try:
            test(w)
            wrong = None
        except (AssertionError, RuntimeError, ValueError, subprocess.CalledProcessError) as error:
            wrong = f"{type(error).__name__}: {error} in line {error.__traceback__.tb_next.tb_lineno}"
        failed += wrong is not None
        print(f"{'ok' if wrong is None else 'not ok'} {i} - tflite {w.device}: "
              f"{name[5:].replace('_', ' ')}", flush=True)
        if wrong:
            print("# " + wrong.strip().replace("\n", "\n# "))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
