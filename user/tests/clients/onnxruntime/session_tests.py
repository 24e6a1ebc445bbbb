# SPDX-License-Identifier: MIT
"""Sessions of ONNX Runtime with the execution provider: options, shapes, threads, errors, how it
is unloaded. Prints TAP.

usage: session_tests.py LIBRARY nnaccel|nnapi-reference
"""
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization
from onnxruntime.transformers import optimizer

import encoders
from node_tests import NAME, placed

WORKER = "nnacceld-worker"

random = np.random.default_rng(1)


def model(nodes, inputs, outputs, constants=None, opset=17):
    """A model; values are (name, type, shape)."""
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        [numpy_helper.from_array(a, n) for n, a in (constants or {}).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                             ir_version=8).SerializeToString()


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def session(content, device, options=None, profile=False):
    so = ort.SessionOptions()
    so.log_severity_level = 4
    if device is None:
        return ort.InferenceSession(content, so, providers=["CPUExecutionProvider"])
    so.enable_profiling = profile
    so.profile_file_prefix = os.path.join(tempfile.gettempdir(), f"nnaccel-onnx-{os.getpid()}")
    so.add_provider_for_devices(
        [d for d in ort.get_ep_devices()
         if d.ep_name == NAME and d.ep_metadata["device"] == device], options or {})
    return ort.InferenceSession(content, so, enable_fallback=0)


def agree(got, want, quanta=0, most=1e-5):
    for g, w in zip(got, want):
        if g.dtype != w.dtype or g.shape != w.shape:
            raise ValueError(f"{g.dtype} {g.shape}, not {w.dtype} {w.shape}")
        if g.dtype.kind == "f":
            apart = np.max(np.abs(g - w), initial=0) / max(np.max(np.abs(w), initial=0), 1e-30)
            if not apart <= most:
                raise ValueError(f"differs by {apart:.2g}")
        elif np.max(np.abs(g.astype(np.int64) - w.astype(np.int64))) > quanta:
            raise ValueError("differs")


def compare(content, inputs, device, options=None, quanta=0, most=1e-5):
    """Runs a model on the device, where all of it must be, and on the CPU provider."""
    tried = session(content, device, options, profile=True)
    got, want = tried.run(None, inputs), session(content, None).run(None, inputs)
    on, of = placed(tried.end_profiling())
    if on != of or not on:
        raise ValueError(f"{on} of {of} parts on {device}")
    agree(got, want, quanta, most)


def refused(text, *args, **kwargs):
    try:
        session(*args, **kwargs)
    except Exception as error:
        if text in str(error):
            return
        raise ValueError(f"the message is: {error}") from error
    raise ValueError("was not refused")


CONV = ([helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
         helper.make_node("Relu", ["c"], ["r"]),
         helper.make_node("MaxPool", ["r"], ["y"], kernel_shape=[2, 2], strides=[2, 2])],
        {"w": floats(8, 3, 3, 3), "b": floats(8)})


def conv(batch, size=16):
    nodes, constants = CONV
    return model(nodes, [("x", 1, [batch, 3, size, size])], [("y", 1, None)], constants)


def test_devices(device):
    """each device of the NNAPI is an OrtEpDevice"""
    names = [d.ep_metadata["device"] for d in ort.get_ep_devices() if d.ep_name == NAME]
    if device not in names or len(set(names)) != len(names):
        raise ValueError(f"devices {names}")


def test_static(device):
    """a network of known shape"""
    compare(conv(2), {"x": floats(2, 3, 16, 16)}, device)


def test_dynamic(device):
    """a batch that changes, more shapes than are kept"""
    content = conv("N")
    tried, reference = session(content, device, {"max_shapes": "2"}), session(content, None)
    for batch in (1, 2, 3, 1, 5, 3, 2):
        x = {"x": floats(batch, 3, 16, 16)}
        agree(tried.run(None, x), reference.run(None, x))


def test_values(device):
    """axes that change, more of them than are kept"""
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["z"], keepdims=0), helper.make_node("Relu", ["z"], ["y"])]
    content = model(nodes, [("x", 1, [2, 3, 4]), ("axes", 7, [2])], [("y", 1, None)])
    tried, reference = session(content, device, {"max_shapes": "2"}, True), session(content, None)
    for axes in ([0, 1], [2, 1], [0, -1], [1, 0], [0, 1], [2, 0]):
        x = {"x": floats(2, 3, 4), "axes": np.array(axes, np.int64)}
        agree(tried.run(None, x), reference.run(None, x))
    on, of = placed(tried.end_profiling())
    if on != of:
        raise ValueError(f"{on} of {of} nodes")


def test_shapes(device):
    """shapes that a model computes of its inputs' are known when they are"""
    nodes = [helper.make_node("Shape", ["x"], ["s"]),
             helper.make_node("Gather", ["s", "zero"], ["n"]),
             helper.make_node("Slice", ["s", "one", "three"], ["cd"]),
             helper.make_node("Gather", ["cd", "zero"], ["c"]),
             helper.make_node("Gather", ["cd", "minus"], ["d"]),
             helper.make_node("Mul", ["c", "d"], ["cds"]),
             helper.make_node("Add", ["cds", "zero"], ["sum"]),
             helper.make_node("Unsqueeze", ["n", "axes"], ["n1"]),
             helper.make_node("Unsqueeze", ["sum", "axes"], ["sum1"]),
             helper.make_node("Concat", ["n1", "sum1", "rest"], ["to"], axis=0),
             helper.make_node("Relu", ["x"], ["r"]),
             helper.make_node("Reshape", ["r", "to"], ["y"])]
    content = model(nodes, [("x", 1, ["N", "C", 4, "W"])], [("y", 1, ["A", "B", "C2"])],
                    {"zero": np.array(0, np.int64), "minus": np.array(-1, np.int64),
                     "one": np.array([1], np.int64), "three": np.array([3], np.int64),
                     "axes": np.array([0], np.int64), "rest": np.array([-1], np.int64)})
    for shape in ((2, 3, 4, 5), (1, 1, 4, 7)):
        compare(content, {"x": floats(*shape)}, device)


def test_states(device):
    """a batch that is the first dimension of sounds and the second of states"""
    nodes = [helper.make_node("Unsqueeze", ["x", "one"], ["u"]), helper.make_node("Conv", ["u", "w"], ["c"]),
             helper.make_node("GlobalMaxPool", ["c"], ["g"]), helper.make_node("Squeeze", ["g", "two"], ["q"]),
             helper.make_node("Gather", ["state", "one"], ["s"]), helper.make_node("Squeeze", ["s", "zero"], ["t"]),
             helper.make_node("Add", ["q", "t"], ["y"])]
    content = model(nodes, [("x", 1, ["B", "T"]), ("state", 1, [2, "B", 8])], [("y", 1, ["B", 8])],
                    {"one": np.array([1]), "two": np.array([2]), "zero": np.array([0]), "w": floats(8, 1, 300)})
    for batch in (1, 3):
        compare(content, {"x": floats(batch, 400), "state": floats(2, batch, 8)}, device)


def test_cache(device):
    """a cache of keys and values that grows from nothing, and a mask whose length has another name"""
    node = helper.make_node
    nodes = [node("MatMul", ["x", f"w{p}"], [p]) for p in "qkv"] + \
        [node("Gather", ["past", i], [f"p{p}"]) for i, p in (("zero", "k"), ("one", "v"))] + \
        [node("Concat", [f"p{p}", p], [f"a{p}"], axis=1) for p in "kv"] + \
        [node("Transpose", ["ak"], ["t"], perm=[0, 2, 1]), node("MatMul", ["q", "t"], ["s"]),
         node("Unsqueeze", ["mask", "axis"], ["m"]), node("Add", ["s", "m"], ["b"]),
         node("Softmax", ["b"], ["e"], axis=-1), node("MatMul", ["e", "av"], ["y"])] + \
        [node("Unsqueeze", [f"a{p}", "front"], [f"u{p}"]) for p in "kv"] + \
        [node("Concat", ["uk", "uv"], ["present"], axis=0)]
    constants = {"zero": np.array(0), "one": np.array(1), "axis": np.array([1]), "front": np.array([0]),
                 **{f"w{p}": floats(8, 8) for p in "qkv"}}
    content = model(nodes, [("x", 1, ["b", "s", 8]), ("past", 1, [2, "b", "p", 8]), ("mask", 1, [None, "t"])],
                    [("y", 1, None), ("present", 1, None)], constants)
    for batch, new, past in ((1, 4, 0), (1, 1, 4), (1, 1, 5), (2, 3, 1)):
        compare(content, {"x": floats(batch, new, 8), "past": floats(2, batch, past, 8),
                          "mask": floats(batch, new + past)}, device)


def test_masks(device):
    """truth values are moved"""
    nodes = [helper.make_node("Less", ["x", "half"], ["m"]),
             helper.make_node("Transpose", ["m"], ["t"], perm=[1, 0, 2]),
             helper.make_node("Unsqueeze", ["t", "axes"], ["u"]),
             helper.make_node("Slice", ["u", "one", "end", "axes"], ["s"]),
             helper.make_node("Concat", ["u", "s"], ["c"], axis=0),
             helper.make_node("Reshape", ["c", "flat"], ["y"]),
             helper.make_node("Trilu", ["y"], ["z"])]
    content = model(nodes, [("x", 1, [3, 4, 5])], [("y", 9, None), ("z", 9, None)],
                    {"half": np.float32(0.5).reshape(()), "axes": np.array([0], np.int64),
                     "one": np.array([0], np.int64), "end": np.array([1], np.int64),
                     "flat": np.array([2, 4, 15], np.int64)})
    compare(content, {"x": floats(3, 4, 5)}, device)


def shuffled():
    """Grouped convolutions, channels that are shuffled and sliced, numbers by channel, a sum."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], group=4),
             helper.make_node("Reshape", ["a", "five"], ["b"]),
             helper.make_node("Transpose", ["b"], ["c"], perm=[0, 2, 1, 3, 4]),
             helper.make_node("Reshape", ["c", "four"], ["d"]),
             helper.make_node("Conv", ["d", "v"], ["e"], group=24, pads=[1, 1, 1, 1]),
             helper.make_node("Mul", ["e", "by"], ["f"]),
             helper.make_node("Sum", ["f", "d"], ["g"]),
             helper.make_node("Split", ["g"], ["h", "i"], axis=1),
             helper.make_node("Concat", ["i", "h"], ["j"], axis=1),
             helper.make_node("GlobalAveragePool", ["j"], ["k"]),
             helper.make_node("Mul", ["j", "k"], ["y"])]
    return model(nodes, [("x", 1, [2, 8, 9, 7])], [("y", 1, None)],
                 {"w": floats(24, 2, 1, 1), "v": floats(24, 1, 3, 3), "by": floats(24, 1, 1),
                  "five": np.array([2, 4, 6, 9, 7], np.int64),
                  "four": np.array([2, 24, 9, 7], np.int64)}, opset=11)


def test_shuffle(device):
    """channels in groups, shuffled, sliced and joined"""
    compare(shuffled(), {"x": floats(2, 8, 9, 7)}, device)


def test_allow_fp16(device):
    """float32 that may be computed as float16 is near"""
    x = {"x": floats(2, 3, 16, 16)}
    got = session(conv(2), device, {"allow_fp16": "1"}).run(None, x)
    agree(got, session(conv(2), None).run(None, x), most=1e-2)


def test_options(device):
    """all options, and none of them changes a result"""
    with tempfile.TemporaryDirectory() as folder:
        for options in ({"preference": "low_power", "priority": "high"}, {"burst": "0"},
                        {"allow_fp16": "0"}, {"max_partitions": "1"},
                        {"cache_dir": folder, "cache_token": "conv"},
                        {"cache_dir": folder, "cache_token": "conv"}, {"min_work": "1"}):
            compare(conv(2), {"x": floats(2, 3, 16, 16)}, device, options)
        if not os.listdir(folder):
            raise ValueError("nothing is in the cache")


def test_unknown_option(device):
    """an option that there is not is an error by name"""
    refused('no option "speed"', conv(1), device, {"speed": "9"})


def test_bad_values(device):
    """values that an option does not take are errors by name"""
    for name, value in (("burst", "maybe"), ("priority", "highest"), ("max_shapes", "-1"),
                        ("preference", "3"), ("verbosity", "x")):
        refused(f"option {name}", conv(1), device, {name: value})
    refused("option cache_token", conv(1), device, {"cache_token": "x"})


def test_disallow_cpu(device):
    """where the CPU is disallowed, it is no device"""
    if device == "nnapi-reference":
        refused("option disallow_cpu", conv(1), device, {"disallow_cpu": "1"})
    else:
        compare(conv(2), {"x": floats(2, 3, 16, 16)}, device, {"disallow_cpu": "1"})


def test_inner_graph(device):
    """the graph of a node stays where it is, the one around it does not"""
    value = helper.make_tensor_value_info
    body = helper.make_graph([helper.make_node("Add", ["s", "i"], ["t"]),
                              helper.make_node("Relu", ["t"], ["r"])], "body",
                             [value("s", 1, [64]), value("i", 1, [64])],
                             [value("t", 1, [64]), value("r", 1, [64])])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]),
             helper.make_node("Scan", ["z", "a"], ["y", "b"], num_scan_inputs=1, body=body),
             helper.make_node("MatMul", ["b", "w"], ["c"])]
    content = model(nodes, [("x", 1, [64, 64])], [("y", 1, [64]), ("c", 1, [64, 64])],
                    {"w": floats(64, 64) / 8, "z": floats(64)})
    tried = session(content, device, profile=True)
    x = {"x": floats(64, 64)}
    got = tried.run(None, x)
    on, _ = placed(tried.end_profiling())
    if on != 2:
        raise ValueError(f"{on} nodes on {device}, not 2")
    agree(got, session(content, None).run(None, x))


def test_unknown_device(device):
    """a device that there is not is an error by name"""
    refused('no device "tpu"', conv(1), device, {"device": "tpu"})


def test_cut(device):
    """what the device cannot compute is left to ONNX Runtime, the rest is two parts"""
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
             helper.make_node("Tan", ["a"], ["t"]),
             helper.make_node("Conv", ["t", "v"], ["y"])]
    content = model(nodes, [("x", 1, [1, 8, 32, 32])], [("y", 1, None)],
                    {"w": floats(8, 8, 3, 3), "v": floats(8, 8, 3, 3)})
    tried = session(content, device, {"min_work": "0"}, profile=True)
    x = {"x": floats(1, 8, 32, 32)}
    got = tried.run(None, x)
    if placed(tried.end_profiling()) != (2, 3):
        raise ValueError("not in two parts of three")
    # Tan is steep, so an input with an error of 10^-6 may give an output with a large error.
    want = session(content, None).run(None, x)
    if np.mean(np.isclose(got[0], want[0], rtol=1e-3, atol=1e-3)) < 0.9:
        raise ValueError("differs")


def test_cut_shape(device):
    """a shape that a model computes in one part is known in another part, or is left with its consumers"""
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
             helper.make_node("Shape", ["a"], ["s"]),
             helper.make_node("Gather", ["s", "two"], ["h"]),
             helper.make_node("Add", ["h", "less"], ["end"]),
             helper.make_node("Tan", ["a"], ["t"]),
             helper.make_node("Conv", ["t", "v"], ["c"]),
             helper.make_node("Slice", ["c", "zero", "end", "two"], ["y"])]
    constants = {"w": floats(8, 8, 3, 3) / 1000, "v": floats(8, 8, 3, 3), "zero": np.array([0], np.int64),
                 "two": np.array([2], np.int64), "less": np.array([-8], np.int64)}
    both = nodes + [helper.make_node("Slice", ["a", "zero", "end", "two"], ["z"])]
    for made, outputs, where in ((nodes, ["y"], (2, 3)), (both, ["y", "z"], (2, 6))):
        content = model(made, [("x", 1, [1, 8, "H", "W"])], [(o, 1, None) for o in outputs], constants)
        tried = session(content, device, {"min_work": "0"}, profile=True)
        x = {"x": floats(1, 8, 32, 32)}
        agree(tried.run(None, x), session(content, None).run(None, x), most=1e-4)
        if (found := placed(tried.end_profiling())) != where:
            raise ValueError(f"{found}, not {where}")


def test_integers(device):
    """int64 is int32 inside, and what does not fit is an error"""
    nodes = [helper.make_node("Gather", ["x", "i"], ["y"], axis=1),
             helper.make_node("ArgMax", ["x"], ["m"], axis=1)]
    content = model(nodes, [("x", 1, [3, 7]), ("i", 7, [2, 2])], [("y", 1, None), ("m", 7, None)])
    x = {"x": floats(3, 7), "i": np.array([[0, -1], [-7, 6]], np.int64)}
    compare(content, x, device)
    tried = session(content, device)
    x["i"] = np.array([[1 << 40, 0], [0, 0]], np.int64)
    try:
        tried.run(None, x)
    except Exception as error:
        if "does not fit int32" not in str(error):
            raise
    else:
        raise ValueError("2^40 was an index")


def test_runtime(device):
    """a part that cannot be translated for a run is computed by ONNX Runtime's CPU"""
    node = helper.make_node
    small = [node("Conv", ["x", "w"], ["c"], auto_pad="SAME_UPPER", strides=[2, 2]),
             node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
             node("ReduceSum", ["p", "axes"], ["r"], keepdims=0), node("LeakyRelu", ["r"], ["l"], alpha=0.25),
             node("ConstantOfShape", ["one"], ["k"], value=numpy_helper.from_array(np.array([2], np.float32))),
             node("Add", ["l", "k"], ["y"])]
    wide = [node("Cast", ["x"], ["f"], to=1), node("MatMul", ["f", "w"], ["y"])]
    for nodes, kind, constants, inputs in (
            (small, 1, {"w": floats(8, 3, 3, 3), "axes": np.array([0, 2, 3]), "one": np.array([1])},
             [floats(2, 3, 9, 9), floats(0, 3, 9, 9), floats(1, 3, 9, 9)]),
            (wide, 7, {"w": floats(16, 8)},
             [np.full((2, 16), 7), np.full((2, 16), 1 << 40), np.zeros((0, 16), np.int64), np.full((1, 16), -1)])):
        content = model(nodes, [("x", kind, ["N", *inputs[0].shape[1:]])], [("y", 1, None)], constants)
        tried, reference = session(content, device, {"min_work": "0"}, True), session(content, None)
        for x in inputs:
            for _ in range(2):
                agree(tried.run(None, {"x": x}), reference.run(None, {"x": x}))
        on, of = placed(tried.end_profiling())
        if on != of:
            raise ValueError(f"{on} of {of} nodes")


def test_hostile(device):
    """shapes that are wrong or huge are refused, and nothing breaks"""
    for shape, dims in (([1, 1 << 40], None), ([1 << 20, 1 << 20], None), ([0, 4], None),
                        ([2, 2], np.array([1 << 62, 4], np.int64)),
                        ([2, 2], np.array([-5, 4], np.int64))):
        nodes = [helper.make_node("Relu", ["x"], ["r"])]
        constants = {}
        if dims is not None:
            nodes.append(helper.make_node("Expand", ["r", "d"], ["y"]))
            constants["d"] = dims
        else:
            nodes.append(helper.make_node("Transpose", ["r"], ["y"]))
        try:
            session(model(nodes, [("x", 1, shape)], [("y", 1, None)], constants), device)
        except Exception as error:
            if "ONNXRuntimeError" not in str(error):
                raise
    compare(conv(1), {"x": floats(1, 3, 16, 16)}, device)


def quantised(zero_type=np.uint8, per_channel=False):
    """A convolution between QuantizeLinear and DequantizeLinear."""
    zero = zero_type(128 if zero_type == np.uint8 else 3)
    weights = random.integers(-100, 100, (8, 3, 3, 3)).astype(np.int8)
    scales = (random.random(8).astype(np.float32) * 0.01 + 0.005) if per_channel else \
        np.float32(0.01)
    constants = {"w": weights, "ws": np.array(scales), "wz": np.zeros(np.shape(scales), np.int8),
                 "xs": np.float32(0.02).reshape(()), "xz": np.array(zero),
                 "ys": np.float32(0.05).reshape(()), "yz": np.array(zero),
                 "b": random.integers(-900, 900, 8).astype(np.int32),
                 "bs": np.array(scales * np.float32(0.02), np.float32),
                 "bz": np.zeros(np.shape(scales), np.int32)}
    nodes = [helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
             helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
             helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=0),
             helper.make_node("DequantizeLinear", ["b", "bs", "bz"], ["bd"], axis=0),
             helper.make_node("Conv", ["xd", "wd", "bd"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("QuantizeLinear", ["r", "ys", "yz"], ["y"])]
    kind = TensorProto.UINT8 if zero_type == np.uint8 else TensorProto.INT8
    return model(nodes, [("x", 1, [1, 3, 16, 16])], [("y", kind, None)], constants)


def test_quantised(device):
    """quantised convolutions: uint8 and int8, per tensor and per channel"""
    for kind in (np.uint8, np.int8):
        for per_channel in (False, True):
            compare(quantised(kind, per_channel), {"x": floats(1, 3, 16, 16)}, device, quanta=1)


def quantised_when_run(content, weights):
    """A model after ONNX Runtime's quantize_dynamic()."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        quantization.quantize_dynamic(onnx.load_from_string(content), path, weight_type=weights,
                                      reduce_range=True)
        with open(path, "rb") as file:
            return file.read()


def test_products(device):
    """a product that is quantised when it runs has the integers of ONNX Runtime's"""
    for inner, columns, weights in ((384, 96, quantization.QuantType.QUInt8),
                                    (64, 300, quantization.QuantType.QInt8)):
        content = model([helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "b"], ["y"])],
                        [("x", 1, [9, inner])], [("y", 1, None)],
                        {"w": floats(inner, columns), "b": floats(columns)})
        # An activation that is wrong by one quantum changes a sum by at least 1e-5 of the largest sum.
        compare(quantised_when_run(content, weights), {"x": floats(9, inner)}, device, most=1e-6)


def test_quantised_when_run(device):
    """networks of ONNX Runtime's quantiser, whose activations are quantised when they run"""
    dense = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "b"], ["c"]),
             helper.make_node("Relu", ["c"], ["d"]), helper.make_node("MatMul", ["d", "v"], ["y"])]
    sums = {"w": floats(40, 64), "b": floats(64), "v": floats(64, 20)}
    image = [helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["d"]),
             helper.make_node("Conv", ["d", "v"], ["e"], group=8, strides=[2, 2]),
             helper.make_node("GlobalAveragePool", ["e"], ["y"])]
    filters = {"w": floats(8, 3, 3, 3), "b": floats(8), "v": floats(8, 1, 3, 3)}
    kinds = quantization.QuantType
    # ONNX Runtime does not support ConvInteger with int8 weights.
    for nodes, constants, shape, weights in ((dense, sums, ["n", 5, 40], kinds.QInt8),
                                             (dense, sums, ["n", 5, 40], kinds.QUInt8),
                                             (image, filters, [2, 3, 12, 12], kinds.QUInt8)):
        content = model(nodes, [("x", 1, shape)], [("y", 1, None)], constants)
        # If a sum is rounded differently, quantisation may round to the next quantum.
        compare(quantised_when_run(content, weights), {"x": floats(*[3 if s == "n" else s for s in shape])}, device, most=1e-2)


def test_encoders(device):
    """encoders that ONNX Runtime's quantiser made, of any length"""
    kinds = quantization.QuantType
    with tempfile.TemporaryDirectory() as folder:
        for layers, kind in ((1, kinds.QUInt8), (2, kinds.QInt8)):
            path = os.path.join(folder, f"{layers}.onnx")
            encoders.quantise(encoders.encoder(layers, 32, 4, shape=("n", "m"), words=50), path, kind)
            for shape in ((1, 7), (2, 12)):
                x = {"input_ids": random.integers(0, 50, shape),
                     "attention_mask": np.arange(shape[1])[None] < np.array([[shape[1] - 2]] * shape[0])}
                x["attention_mask"] = x["attention_mask"].astype(np.int64)
                # If a sum is rounded differently, quantisation may round to the next quantum.
                compare(path, x, device, most=5e-2)


def test_optimised(device):
    """what ONNX Runtime's own optimisers write"""
    with tempfile.TemporaryDirectory() as folder:
        path, better, dynamic = (os.path.join(folder, n + ".onnx") for n in ("model", "better", "dynamic"))
        onnx.save(encoders.encoder(2, 32, 4, shape=("n", "m"), words=50), path)
        options = ort.SessionOptions()
        options.optimized_model_filepath = better
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        options.optimized_model_filepath = dynamic
        encoders.quantise(encoders.encoder(2, 32, 4, shape=("n", "m"), words=50), dynamic,
                          quantization.QuantType.QUInt8)
        ort.InferenceSession(dynamic, options, providers=["CPUExecutionProvider"])
        optimizer.optimize_model(path, "bert", 4, 32, opt_level=0).save_model_to_file(path)
        for name, wanted in ((better, "BiasGelu FusedGemm FusedMatMul"),
                             (dynamic, "DynamicQuantizeMatMul FusedMatMul Gelu MatMulIntegerToFloat SkipLayerNormalization"),
                             (path, "BiasGelu EmbedLayerNormalization SkipLayerNormalization")):
            made = {node.op_type for node in onnx.load(name).graph.node if node.domain}
            if made != set(wanted.split()):
                raise ValueError(f"the optimiser wrote {sorted(made)}")
            for shape in ((1, 7), (2, 12)):
                compare(name, {"input_ids": random.integers(0, 50, shape),
                               "attention_mask": random.integers(0, 2, shape)}, device,
                        most=5e-2 if name == dynamic else 1e-5)


def test_threads(device):
    """one session in four threads, and four sessions"""
    content = conv("N")
    shared, reference = session(content, device), session(content, None)
    errors = []

    def work(seed):
        try:
            own = session(content, device) if seed % 2 else shared
            generator = np.random.default_rng(seed)
            for _ in range(20):
                x = generator.standard_normal((1 + seed % 3, 3, 16, 16)).astype(np.float32)
                agree(own.run(None, {"x": x}), reference.run(None, {"x": x}))
        except Exception as error:  # told by the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def rescaled(kind):
    """Sum, Relu and Clip between 8-bit tensors of different scales."""
    zero = kind(120 if kind == np.uint8 else -8)
    number = TensorProto.UINT8 if kind == np.uint8 else TensorProto.INT8
    constants = {f"s{i}": np.float32(scale).reshape(())
                 for i, scale in enumerate((0.02, 0.03, 0.045, 0.025, 0.03))}
    constants.update({f"z{i}": np.array(kind(zero + i)) for i in range(5)})
    constants["low"], constants["high"] = np.float32(0).reshape(()), np.float32(6).reshape(())

    def pair(i, name):
        return [helper.make_node("QuantizeLinear", [name, f"s{i}", f"z{i}"], [name + "q"]),
                helper.make_node("DequantizeLinear", [name + "q", f"s{i}", f"z{i}"], [name + "d"])]

    nodes = pair(0, "a") + pair(1, "b") + [helper.make_node("Sum", ["ad", "bd"], ["c"])] + \
        pair(2, "c") + [helper.make_node("Relu", ["cd"], ["e"])] + pair(3, "e") + \
        [helper.make_node("Clip", ["ed", "low", "high"], ["f"])] + pair(4, "f")[:1]
    return model(nodes, [("a", 1, [1, 5, 6, 7]), ("b", 1, [1, 5, 6, 7])], [("fq", number, None)],
                 constants)


def test_rescaled(device):
    """8-bit tensors of different scales: sums and activations"""
    for kind in (np.uint8, np.int8):
        # The result may be wrong by 2 quanta, because values are rounded twice.
        compare(rescaled(kind), {n: floats(1, 5, 6, 7) for n in "ab"}, device, quanta=2)


def kill_workers():
    """Kills what executes in the engine; returns how many there were."""
    killed = 0
    for path in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(path) as file:
                if file.read().strip() == WORKER:
                    os.kill(int(path.split("/")[2]), signal.SIGKILL)
                    killed += 1
        except (FileNotFoundError, ProcessLookupError):
            pass
    return killed


def runs_right(tried, inputs, want, may_fail):
    """Runs until a result is right. A failure says what failed, if there may be one at all."""
    deadline = time.monotonic() + 60
    while True:
        try:
            got = tried.run(None, inputs)
            break
        except Exception as error:
            if not may_fail or time.monotonic() > deadline or \
                    not ("the execution failed" in str(error) or "cannot compile" in str(error)):
                raise
            time.sleep(0.2)
    agree(got, want)


def test_engine_death(device):
    """after the engine's death a run is right, or says that it failed and a later one is"""
    content, x = conv("N"), {"x": floats(2, 3, 16, 16)}
    want = session(content, None).run(None, x)
    for options in ({"disallow_cpu": "1"}, {}):
        tried, errors = session(content, device, options), []
        runs_right(tried, x, want, True)

        def work():
            try:
                for _ in range(20):
                    runs_right(tried, x, want, bool(options))
            except Exception as error:  # told by the main thread
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        killed = kill_workers()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        if not killed:
            raise ValueError("no worker was killed")
        runs_right(tried, x, want, bool(options))


def test_external(device):
    """weights in a file of their own"""
    content = onnx.load_from_string(conv(1))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(content, path, save_as_external_data=True, location="weights", size_threshold=0)
        compare(path, {"x": floats(1, 3, 16, 16)}, device)


def test_damaged(device):
    """a model that is cut off is refused by ONNX Runtime"""
    content = conv(1)
    for size in (10, len(content) // 2, len(content) - 7):
        refused("ONNXRuntimeError", content[:size], device)


def example(page):
    """The program of a page: an indented block of a .rst, a fenced one of a .md."""
    with open(page) as file:
        text = file.read()
    if page.endswith(".md"):
        return next(b for b in re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
                    if "onnxruntime" in b)
    block = text.split(".. code-block:: python\n\n")[1]
    return textwrap.dedent(re.match(r"(?:    .*\n|\n)*", block)[0])


def run_example(page, device, library):
    code = re.sub(r'plugin = ".*"', f'plugin = "{library}"', example(page))
    code = code.replace('== "nnaccel"', f'== "{device}"')
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        with open(path, "wb") as file:
            file.write(conv(1, 224))
        done = subprocess.run([os.environ.get("NNACCEL_PYTHON", sys.executable), "-c",
                               code.replace("model.onnx", path)],
                              capture_output=True, text=True, timeout=300)
    if "(1, 8, 112, 112)" not in done.stdout or f"on {device}" not in done.stderr or \
            "3 of 3 nodes in 1 part " not in done.stderr:
        raise ValueError(f"{page}: exit status {done.returncode}: {done.stderr[-200:]}")


def test_example(device, library):
    """the examples of Documentation/onnxruntime.rst and README.md"""
    for page in "Documentation/onnxruntime.rst", "README.md":
        run_example(page, device, library)


LOADING = """
import sys, numpy as np, onnxruntime as ort
for _ in range(3):
    ort.register_execution_provider_library("again", sys.argv[1])
    devices = [d for d in ort.get_ep_devices() if d.ep_name == "again"
               and d.ep_metadata["device"] == sys.argv[2]]
    options = ort.SessionOptions()
    options.add_provider_for_devices(devices, {})
    session = ort.InferenceSession(sys.argv[3], options)
    session.run(None, {"x": np.zeros((1, 3, 16, 16), np.float32)})
    del session, devices, options
    ort.unregister_execution_provider_library("again")
print("good")
"""


def test_unloading(device, library):
    """the plug-in is loaded, used and unloaded three times"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        with open(path, "wb") as file:
            file.write(conv(1))
        loader = os.environ.get("NNACCEL_PYTHON", sys.executable)
        done = subprocess.run([loader, "-c", LOADING, library, device, path],
                              capture_output=True, text=True, timeout=300)
    if done.returncode or "good" not in done.stdout:
        raise ValueError(f"exit status {done.returncode}: {done.stderr[-200:]}")


def main():
    library, device = os.path.realpath(sys.argv[1]), sys.argv[2]
    ort.set_default_logger_severity(4)
    ort.register_execution_provider_library(NAME, library)
    # Skip the tests of an engine's death on the CPU device, which has no engine.
    tests = [(name, test) for name, test in sorted(globals().items()) if name.startswith("test_")
             and (device == "nnaccel" or not name.startswith("test_engine"))]
    bad = 0
    for name, test in tests:
        try:
            test(device, *[library][:test.__code__.co_argcount - 1])
            print(f"ok - {device}: {test.__doc__}", flush=True)
        except Exception as error:  # each is a test of its own
            bad += 1
            reason = (str(error).strip() or repr(error)).splitlines()[0]
            print(f"not ok - {device}: {test.__doc__}: {reason}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
