# SPDX-License-Identifier: MIT
"""Models in ONNX Runtime and TensorFlow Lite, with our plug-in for a device or on the runtime's own CPU."""
import os
import sys

import numpy as np
import onnxruntime as ort

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tflite"))
import runtime  # noqa: E402, beside this folder

NAME = "nnaccel"
TYPES = {1: np.float32, 2: np.int32, 3: np.uint8, 4: np.int64, 9: np.int8, 10: np.float16}


class OnnxRuntime:
    """A session; `inputs` are (name, type, shape), in which an open dimension is a name."""
    plugin = None

    def __init__(self, path, device, threads):
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = threads
        if device and not OnnxRuntime.plugin:
            OnnxRuntime.plugin = os.path.join(BUILD, "lib/libnnaccel_onnxruntime.so")
            ort.register_execution_provider_library(NAME, OnnxRuntime.plugin)
        if device:
            options.add_provider_for_devices(
                [d for d in ort.get_ep_devices() if d.ep_name == NAME and d.ep_metadata["device"] == device],
                {"report": "/dev/null"})
            self.session = ort.InferenceSession(path, options, enable_fallback=0)
        else:
            self.session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.inputs = [(i.name, np.dtype({"tensor(float)": "f4", "tensor(float16)": "f2", "tensor(int64)": "i8"}[
            i.type]), i.shape) for i in self.session.get_inputs()]

    def run(self, inputs):
        return self.session.run(None, dict(zip([i[0] for i in self.inputs], inputs)))

    def close(self):
        self.session = None


class TensorFlowLite:
    library = None

    def __init__(self, path, device, threads):
        self.tflite = TensorFlowLite.library = TensorFlowLite.library or runtime.Tflite(
            os.path.join(TFLITE, "libtensorflow-lite.so"))
        self.delegate = device and runtime.Delegate(os.path.join(BUILD, "lib/libnnaccel_tflite.so"),
                                                    {"device": device, "report": "/dev/null"})
        self.interpreter = runtime.Interpreter(self.tflite, path, [self.delegate.handle] if device else [], threads)
        self.interpreter.allocate()
        handle = runtime.c_void_p(self.interpreter.handle)
        self.inputs = [self.described(self.tflite.InterpreterGetInputTensor(handle, i))
                       for i in range(self.interpreter.inputs)]
        self.outputs = [self.described(self.tflite.InterpreterGetOutputTensor(handle, i))
                        for i in range(self.interpreter.outputs)]

    def described(self, tensor):
        tensor = runtime.c_void_p(tensor)
        return (self.tflite.TensorName(tensor).decode(), np.dtype(TYPES[self.tflite.TensorType(tensor)]),
                [self.tflite.TensorDim(tensor, i) for i in range(self.tflite.TensorNumDims(tensor))])

    def run(self, inputs):
        found = self.interpreter.run(*[i.tobytes() for i in inputs])
        return [np.frombuffer(f, o[1]).reshape(o[2]) for f, o in zip(found, self.outputs)]

    def close(self):
        self.interpreter.close()
        if self.delegate:
            self.delegate.close()


BUILD = os.path.realpath(os.environ.get("BUILD", "build"))
# The folder of the unpacked TensorFlow Lite, from a variable that scripts/guest/models sets.
TFLITE = os.environ["NNACCEL_TFLITE"]


def versions():
    lite = runtime.Tflite(os.path.join(TFLITE, "libtensorflow-lite.so")).lib.TfLiteVersion
    lite.restype = runtime.c_char_p
    return f"ONNX Runtime {ort.__version__}, TensorFlow Lite {lite().decode()}"


def load(path, device, threads=1):
    """A model; device None: on the runtime's own CPU."""
    return (TensorFlowLite if path.endswith(".tflite") else OnnxRuntime)(path, device, threads)


def inputs_of(row, model):
    """Images that are smooth with some noise, sounds and features: numbers from a seed, -1 to 1."""
    random, given, made = np.random.default_rng(1), row.given(), []
    for name, kind, shape in model.inputs:
        value = given.get(name, [n if isinstance(n, int) else 1 for n in shape])
        if kind.kind == "i" and not shape:
            made.append(np.array(value[0], kind))
            continue
        coarse = random.uniform(-1, 1, [(n + 15) // 16 for n in value])
        for axis, n in enumerate(value):
            coarse = np.repeat(coarse, 16, axis).take(range(n), axis)
        made.append((0.75 * coarse + 0.25 * random.uniform(-1, 1, value)).astype(kind))
    return made


def difference(got, want):
    """The largest of all outputs, each as a share of its largest value, or of 0.001."""
    worst = 0.0
    for g, w in zip(got, want, strict=True):
        if g.dtype != w.dtype or g.shape != w.shape:
            raise ValueError(f"{g.dtype} {g.shape}, not {w.dtype} {w.shape}")
        g, w = g.astype(np.float64), w.astype(np.float64)
        worst = max(worst, np.max(np.abs(g - w)) / max(np.max(np.abs(w)), 1e-3))
    return worst
