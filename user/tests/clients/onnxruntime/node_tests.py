# SPDX-License-Identifier: MIT
"""ONNX's own tests of operators on the execution provider: each model is run as ONNX Runtime's
CPU provider runs it and on the device, and both must agree with what the test expects, as well
as each other. Prints TAP, and how many of the models the device computed.

usage: node_tests.py LIBRARY DEVICE [SHARE [PATTERN]]

SHARE is the part of those models, in percent, that must have been on the device whole; PATTERN
is of the names of the models to run. NNACCEL_ONNX_DATA is the folder of the test data.
"""
import os
import re
import sys

import numpy as np
import onnxruntime as ort

NAME = "nnaccel"


def field(data, at):
    """A field of a protocol buffer: number, value, where the next one is."""
    def varint(at):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value, at
    key, at = varint(at)
    kind = key & 7
    if kind == 0:
        value, at = varint(at)
    elif kind == 1:
        value, at = data[at:at + 8], at + 8
    elif kind == 5:
        value, at = data[at:at + 4], at + 4
    else:
        size, at = varint(at)
        value, at = data[at:at + size], at + size
    return key >> 3, value, at


TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32,
         7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64}


def tensor(path):
    """The tensor in a file, a TensorProto whose elements are its raw_data."""
    with open(path, "rb") as file:
        data = file.read()
    dims, kind, raw, at = [], None, None, 0
    while at < len(data):
        number, value, at = field(data, at)
        if number == 1 and isinstance(value, int):
            dims.append(value)
        elif number == 1:
            inner = 0
            while inner < len(value):
                size = shift = 0
                while True:
                    byte = value[inner]
                    inner += 1
                    size |= (byte & 127) << shift
                    shift += 7
                    if byte < 128:
                        break
                dims.append(size)
        elif number == 2:
            kind = value
        elif number == 9:
            raw = value
    if kind not in TYPES or (raw is None and np.prod(dims) != 0):
        raise ValueError(f"tensors of type {kind}")
    return np.frombuffer(raw or b"", TYPES[kind]).reshape(dims)


def session(path, device):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if not device:
        return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    devices = [d for d in ort.get_ep_devices()
               if d.ep_name == NAME and d.ep_metadata["device"] == device]
    options.add_provider_for_devices(devices, {})
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(os.environ.get("TMPDIR", "/tmp"), "nnaccel-onnx")
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
        # The NNAPI's arithmetic ends at the greatest number, where ONNX has infinity.
        most = np.finfo(got.dtype).max
        return np.allclose(np.clip(got, -most, most).astype(np.float64),
                           np.clip(want, -most, most).astype(np.float64), rtol=loose,
                           atol=loose / 10, equal_nan=True)
    if got.dtype in (np.uint8, np.int8):
        return np.all(np.abs(got.astype(np.int32) - want.astype(np.int32)) <= 1)
    return np.array_equal(got, want)


def check(folder, device):
    """A note and whether the device computed all of it; None: ONNX Runtime cannot either."""
    model, data = os.path.join(folder, "model.onnx"), os.path.join(folder, "test_data_set_0")
    try:
        reference = session(model, None)
        inputs = {}
        for i, info in enumerate(reference.get_inputs()):
            inputs[info.name] = tensor(os.path.join(data, f"input_{i}.pb"))
        expected = reference.run(None, inputs)
        wanted = [tensor(os.path.join(data, f"output_{i}.pb")) for i in range(len(expected))]
        if not all(isinstance(e, np.ndarray) and close(e, w) for e, w in zip(expected, wanted)):
            return None
    except Exception:  # what ONNX Runtime itself has not, or is no tensor
        return None
    tried = session(model, device)
    got = tried.run(None, inputs)
    on, of = placed(tried.end_profiling())
    for i, (g, w, e) in enumerate(zip(got, wanted, expected)):
        if not close(g, w) and not close(g, e):
            far = np.max(np.abs(g.astype(np.float64) - w.astype(np.float64))) \
                if g.shape == w.shape and g.size else f"{g.dtype} {g.shape}"
            raise ValueError(f"output {i} differs by {far}")
    return on, of


def main():
    library, device = sys.argv[1:3]
    data = os.environ["NNACCEL_ONNX_DATA"]
    share = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    pattern = re.compile(sys.argv[4] if len(sys.argv) > 4 else "")
    ort.set_default_logger_severity(4)
    ort.register_execution_provider_library(NAME, os.path.realpath(library))
    folders = [os.path.join(data, kind, name)
               for kind in ("node", "simple", "pytorch-operator", "pytorch-converted")
               for name in sorted(os.listdir(os.path.join(data, kind)))]
    whole = part = ran = bad = 0
    for folder in folders:
        name = os.path.basename(folder)
        if not pattern.search(name):
            continue
        try:
            result = check(folder, device)
        except Exception as error:  # each model is a test of its own
            bad += 1
            print(f"not ok - {name}: {str(error).splitlines()[0]}", flush=True)
            continue
        if result is None:
            continue
        on, of = result
        ran += 1
        whole += on == of and on > 0
        part += 0 < on < of
        if os.environ.get("ALL"):
            print(f"ok - {name} {on}/{of}", flush=True)
    percent = 100 * whole / max(ran, 1)
    print(f"# {ran} models run, {whole} on {device} whole ({percent:.1f} %), {part} in part")
    print(f"{'ok' if not bad and ran else 'not ok'} - operators: {ran} models agree, {bad} do not")
    print(f"{'ok' if percent >= share else 'not ok'} - operators: {percent:.1f} % on {device}, "
          f"at least {share:.1f}")
    return 1 if bad or percent < share else 0


if __name__ == "__main__":
    sys.exit(main())
