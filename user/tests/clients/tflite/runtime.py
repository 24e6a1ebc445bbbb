# SPDX-License-Identifier: MIT
"""TensorFlow Lite's C interface by ctypes, and the plug-in as an external delegate."""
import ctypes
import os
import tempfile
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p


class Tflite:
    """The library."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        pointers = ("ModelCreate ModelCreateFromFile InterpreterOptionsCreate "
                    "InterpreterCreate InterpreterGetInputTensor InterpreterGetOutputTensor TensorData")
        for name in pointers.split():
            getattr(self.lib, "TfLite" + name).restype = c_void_p
        self.lib.TfLiteTensorByteSize.restype = c_size_t
        self.lib.TfLiteTensorName.restype = c_char_p

    def __getattr__(self, name):
        return getattr(self.lib, "TfLite" + name)


class Delegate:
    """An external delegate, as load_delegate() makes one."""

    def __init__(self, path, options):
        self.lib = ctypes.CDLL(path)
        self.lib.tflite_plugin_create_delegate.restype = c_void_p
        self.errors = []
        names = (c_char_p * len(options))(*[k.encode() for k in options])
        values = (c_char_p * len(options))(*[str(v).encode() for v in options.values()])
        report = ctypes.CFUNCTYPE(None, c_char_p)(lambda text: self.errors.append(text.decode()))
        self.handle = self.lib.tflite_plugin_create_delegate(names, values, c_size_t(len(options)),
                                                             report)
        if not self.handle:
            raise ValueError("; ".join(self.errors))

    def close(self):
        self.lib.tflite_plugin_destroy_delegate(c_void_p(self.handle))

    def add_buffer(self, fd, size, offset=0):
        return self.lib.nnaccel_tflite_add_buffer(c_void_p(self.handle), fd, c_size_t(size),
                                                  c_size_t(offset))


class Interpreter:
    """A model, the bytes or the path of one, with delegates applied to it."""

    def __init__(self, tflite, data, handles=(), threads=1):
        self.t = tflite
        self.data = data
        if isinstance(data, str):
            self.model = tflite.ModelCreateFromFile(data.encode())
        else:
            self.model = tflite.ModelCreate(data, c_size_t(len(data)))
        if not self.model:
            raise RuntimeError("TfLiteModelCreate refuses the model")
        options = tflite.InterpreterOptionsCreate()
        tflite.InterpreterOptionsSetNumThreads(c_void_p(options), threads)
        for handle in handles:
            tflite.InterpreterOptionsAddDelegate(c_void_p(options), c_void_p(handle))
        self.handle = tflite.InterpreterCreate(c_void_p(self.model), c_void_p(options))
        tflite.InterpreterOptionsDelete(c_void_p(options))
        if not self.handle:
            tflite.ModelDelete(c_void_p(self.model))
            raise RuntimeError("TfLiteInterpreterCreate fails")
        self.inputs = tflite.InterpreterGetInputTensorCount(c_void_p(self.handle))
        self.outputs = tflite.InterpreterGetOutputTensorCount(c_void_p(self.handle))

    def close(self):
        self.t.InterpreterDelete(c_void_p(self.handle))
        self.t.ModelDelete(c_void_p(self.model))

    def resize(self, index, shape):
        check(self.t.InterpreterResizeInputTensor(c_void_p(self.handle), index,
                                                  (c_int * len(shape))(*shape), len(shape)))

    def allocate(self):
        check(self.t.InterpreterAllocateTensors(c_void_p(self.handle)))

    def set(self, index, data):
        tensor = self.t.InterpreterGetInputTensor(c_void_p(self.handle), index)
        check(self.t.TensorCopyFromBuffer(c_void_p(tensor), data, c_size_t(len(data))))

    def invoke(self):
        check(self.t.InterpreterInvoke(c_void_p(self.handle)))

    def get(self, index):
        tensor = self.t.InterpreterGetOutputTensor(c_void_p(self.handle), index)
        size = self.t.TensorByteSize(c_void_p(tensor))
        data = ctypes.create_string_buffer(size)
        check(self.t.TensorCopyToBuffer(c_void_p(tensor), data, c_size_t(size)))
        return data.raw

    def run(self, *inputs):
        for i, data in enumerate(inputs):
            self.set(i, data)
        self.invoke()
        return [self.get(i) for i in range(self.outputs)]

    def set_buffer_handle(self, index, delegate, handle):
        """What Interpreter::SetBufferHandle() does: the C interface has no such function. The
        places in struct TfLiteTensor are those that abi_test.c compares."""
        self.t.lib.TfLiteInterpreterGetTensor.restype = c_void_p
        tensor = self.t.InterpreterGetTensor(c_void_p(self.handle), index)
        c_void_p.from_address(tensor + 64).value = delegate.handle
        c_int.from_address(tensor + 72).value = handle

    def reset(self):
        check(self.t.InterpreterResetVariableTensors(c_void_p(self.handle)))


def check(status):
    if status:
        raise RuntimeError("status %d" % status)


class Stderr:
    """What the process, with its libraries, writes to its standard error meanwhile."""

    def __enter__(self):
        self.file = tempfile.TemporaryFile()
        self.kept = os.dup(2)
        os.dup2(self.file.fileno(), 2)
        self.text = ""
        return self

    def __exit__(self, *_):
        os.dup2(self.kept, 2)
        os.close(self.kept)
        self.file.seek(0)
        self.text = self.file.read().decode(errors="replace")
        self.file.close()
