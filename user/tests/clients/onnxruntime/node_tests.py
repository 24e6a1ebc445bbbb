# SPDX-License-Identifier: MIT
"""ONNX's own tests of operators on the execution provider: each model is run as ONNX Runtime's
CPU provider runs it and on the device, and both must agree with what the test expects, as well
as each other. Models that get shapes, axes and the like as inputs are run a second time with these
as constants, as exported models have them. Prints TAP, and how many of the tests the device
computed wholly, each test counted once by its own form.

usage: node_tests.py LIBRARY DEVICE [SHARE [PATTERN]]

SHARE is the part of those tests, in percent, that must have been wholly on the device; PATTERN
is of the names of the tests to run. NNACCEL_ONNX_DATA is the folder of the test data.
"""
import os
import re
import sys
import tempfile
from functools import partial

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

NAME = "nnaccel"
OPTIONS = {}  # of the provider


def tensor(path):
    """The tensor in a file."""
    proto = onnx.TensorProto()
    with open(path, "rb") as file:
        proto.ParseFromString(file.read())
    return numpy_helper.to_array(proto)


def with_constants(path, inputs):
    """The model with its parameters as constants, and what inputs are left; None: it has none."""
    model = onnx.load(path)
    first = model.graph.input[0].name if model.graph.input else None
    names = [name for name, value in inputs.items() if name != first and value.size <= 64 and
             (value.dtype == np.int64 or value.ndim <= 1) and value.size]
    if not names or len(model.graph.node) != 1:
        return None
    for name in names:
        model.graph.initializer.append(numpy_helper.from_array(inputs[name], name))
    for info in [i for i in model.graph.input if i.name in names]:
        model.graph.input.remove(info)
    return model.SerializeToString(), {n: v for n, v in inputs.items() if n not in names}


def session(path, device):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if not device:
        return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    devices = [d for d in ort.get_ep_devices()
               if d.ep_name == NAME and d.ep_metadata["device"] == device]
    options.add_provider_for_devices(devices, OPTIONS)
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(tempfile.gettempdir(),
                                               f"nnaccel-onnx-{os.getpid()}")
    return ort.InferenceSession(path, options, enable_fallback=0)


def placed(profile):
    """Of the nodes that were run, how many the device ran, and how many there were."""
    with open(profile) as file:
        text = file.read()
    os.unlink(profile)
    ran = re.findall(r'"provider" *: *"(\w+)"', text)
    return sum(name == NAME for name in ran), len(ran)


def close(got, want):
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.dtype.kind == "f":
        loose = 2e-3 if got.dtype == np.float16 else 1e-4
        return np.allclose(got.astype(np.float64), want.astype(np.float64), rtol=loose,
                           atol=loose / 10, equal_nan=True)
    if got.dtype in (np.uint8, np.int8):
        return np.all(np.abs(got.astype(np.int32) - want.astype(np.int32)) <= 1)
    return np.array_equal(got, want)


def compare(model, inputs, wanted, expected, device):
    """How many of how many parts were on the device."""
    tried = session(model, device)
    got = tried.run(None, inputs)
    on, of = placed(tried.end_profiling())
    for i, (g, w, e) in enumerate(zip(got, wanted, expected)):
        if not close(g, w) and not close(g, e):
            far = np.max(np.abs(g.astype(np.float64) - w.astype(np.float64))) \
                if g.shape == w.shape and g.size else f"{g.dtype} {g.shape}"
            raise ValueError(f"output {i} differs by {far}")
    return on, of


def check(folder, device):
    """For each form of the model, its name and how many parts were on the device."""
    model, data = os.path.join(folder, "model.onnx"), os.path.join(folder, "test_data_set_0")
    try:
        reference = session(model, None)
        inputs = {}
        for i, info in enumerate(reference.get_inputs()):
            inputs[info.name] = tensor(os.path.join(data, f"input_{i}.pb"))
        expected = reference.run(None, inputs)
        wanted = [tensor(os.path.join(data, f"output_{i}.pb")) for i in range(len(expected))]
        if not all(isinstance(e, np.ndarray) and close(e, w) for e, w in zip(expected, wanted)):
            return
    except Exception:  # what ONNX Runtime itself has not, or is no tensor
        return
    yield "", partial(compare, model, inputs, wanted, expected, device)
    constant = with_constants(model, inputs)
    try:
        if constant:
            session(constant[0], None).run(None, constant[1])
    except Exception:  # ONNX Runtime wants this one as an input
        return
    if constant:
        yield " with constants", partial(compare, *constant, wanted, expected, device)


def folders():
    data = os.environ["NNACCEL_ONNX_DATA"]
    return [os.path.join(data, kind, name)
            for kind in ("node", "simple", "pytorch-operator", "pytorch-converted")
            for name in sorted(os.listdir(os.path.join(data, kind)))]


def main():
    library, device = sys.argv[1:3]
    share = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    pattern = re.compile(sys.argv[4] if len(sys.argv) > 4 else "")
    ort.set_default_logger_severity(4)
    ort.register_execution_provider_library(NAME, os.path.realpath(library))
    tests = whole = constant = part = bad = 0
    for folder in folders():
        name = os.path.basename(folder)
        counts = {}
        for form, test in check(folder, device) if pattern.search(name) else []:
            try:
                counts[form] = on, of = test()
            except Exception as error:  # each model is a test of its own
                bad += 1
                print(f"not ok - {name}{form}: {str(error).splitlines()[0]}", flush=True)
                continue
            if os.environ.get("ALL"):
                print(f"# {name}{form} {on}/{of}", flush=True)
        on, of = counts.get("", (0, 1))
        tests += bool(counts)
        whole += on == of and on > 0
        constant += any(on == of and on > 0 for on, of in counts.values())
        part += 0 < on < of
    percent = 100 * whole / max(tests, 1)
    print(f"# {tests} tests, {whole} wholly on {device} ({percent:.1f} %), {part} in part, {constant} with constants")
    print(f"{'ok' if not bad and tests else 'not ok'} - operators: {tests} tests, {bad} models disagree or do not load")
    print(f"{'ok' if percent >= share else 'not ok'} - operators: {percent:.1f} % on {device}, "
          f"at least {share:.1f}")
    return 1 if bad or percent < share else 0


if __name__ == "__main__":
    sys.exit(main())
