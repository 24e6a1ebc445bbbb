# SPDX-License-Identifier: MIT
"""Networks on TensorFlow Lite, one thread: with libnnaccel_tflite.so, with the XNNPACK delegate,
and with its own kernels, by turns in one run. Prints figures as the other benchmarks do, in ms.

usage: tflite.py LIBTENSORFLOW_LITE LIBNNACCEL_TFLITE BUILTINS [LIBRARY WITH XNNPACK [NAME...]]

KIND is f32, u8, s8 (a scale per channel) or s8t (a scale per tensor). The XNNPACK that is there
takes bytes as s8t only: that is the peer of u8 and s8 too, as xnnpack_s8t, measured before in the
same run. NETWORK_KIND_1t is an invocation, the shortest of many; NETWORK_KIND_1t_own the same beside
TensorFlow Lite's own kernels; NETWORK_KIND_first is making the interpreter and its first
invocation. The device is nnapi-reference, the CPU; the peer is XNNPACK where it is there.

Times are the CPU time of the process with all of its threads, which share one CPU: on an idle
machine that is the time that passes, and on a busy one it leaves out when others run.
"""
import ctypes
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../tests/clients/tflite"))

# pylint: disable=wrong-import-position
import model  # noqa: E402
import networks  # noqa: E402
import runtime  # noqa: E402

# For each kind of network: the name, the type, and whether weights have a single scale for a
# tensor.
KINDS = (("f32", model.FLOAT32, False), ("s8t", model.INT8, True), ("u8", model.UINT8, False),
         ("s8", model.INT8, False))
SECONDS = 4


class Subject:
    """A TensorFlow Lite with or without a delegate."""

    def __init__(self, name, library):
        self.name = name
        self.tflite = library

    def open(self):
        """What makes a delegate: a handle, and how to close it."""
        return [], lambda: None


class Ours(Subject):
    def __init__(self, library, plugin):
        super().__init__("nnaccel", library)
        self.plugin = plugin

    def open(self):
        delegate = runtime.Delegate(self.plugin, {"device": "nnapi-reference"})
        return [delegate.handle], delegate.close


class Xnnpack(Subject):
    def open(self):
        # The first option is the number of threads. The second option has flags for quantised
        # operators: 1 for int8, 2 for uint8.
        options = (ctypes.c_int32 * 16)(1, 3)
        self.tflite.lib.TfLiteXNNPackDelegateCreate.restype = ctypes.c_void_p
        handle = self.tflite.XNNPackDelegateCreate(options)
        return [handle], lambda: self.tflite.XNNPackDelegateDelete(ctypes.c_void_p(handle))


def start(subject, data, image):
    """The time until the first result, the interpreter, and how to close it."""
    begin = time.process_time_ns()
    handles, close_delegate = subject.open()
    interpreter = runtime.Interpreter(subject.tflite, data, handles)
    interpreter.allocate()
    interpreter.set(0, image)
    interpreter.invoke()
    took = time.process_time_ns() - begin

    def close():
        interpreter.close()
        close_delegate()
    return took, interpreter, close


def measure(subjects, data, image):
    """(invocation, first) of each subject in ms, the shortest."""
    firsts = {s.name: [] for s in subjects}
    for _ in range(3):
        for s in subjects:
            took, _, close = start(s, data, image)
            firsts[s.name].append(took)
            close()
    opened = [(s, *start(s, data, image)[1:]) for s in subjects]
    times = {s.name: [] for s in subjects}
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or len(times[subjects[0].name]) < 5:
        for s, interpreter, _ in opened:
            # Measure three runs in succession, so that caches are warm as in real use.
            for _ in range(3):
                begin = time.process_time_ns()
                interpreter.invoke()
                times[s.name].append(time.process_time_ns() - begin)
    for _, _, close in opened:
        close()
    return {s.name: (min(times[s.name]) / 1e6, min(firsts[s.name]) / 1e6) for s in subjects}


def works(subject, data, image):
    """The older TensorFlow Lite's XNNPACK delegate fails on some quantised convolutions, and
    crashes on some reshapes: tried in a child."""
    if not isinstance(subject, Xnnpack):
        return True
    child = os.fork()
    if not child:
        try:
            start(subject, data, image)[2]()
            os._exit(0)
        except RuntimeError:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def figure(name, value, peer, peer_value):
    if peer_value is None:
        print(f"{name}\t{value:.4g}\tms\tnone\t-\t-\tnative", flush=True)
    else:
        print(f"{name}\t{value:.4g}\tms\t{peer}\t{peer_value:.4g}\t{value / peer_value:.3f}\tnative",
              flush=True)


def main(library, plugin, builtins, xnnpack="", *names):
    # The threads of all measured runtimes share one CPU.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    operators = model.codes(builtins)
    tflite = runtime.Tflite(library)
    subjects = [Ours(tflite, plugin), Subject("own", tflite)]
    if os.path.exists(xnnpack):
        subjects.append(Xnnpack("xnnpack", runtime.Tflite(xnnpack)))
    print("figure\tvalue\tunit\tpeer\tpeer_value\tratio\twhere")
    for name, (_, kinds) in networks.NETWORKS.items():
        bytes_peer = None
        for short, kind, per_tensor in KINDS:
            figure_name = f"{name}_{short}"
            if kind not in kinds or (names and not any(n in figure_name for n in names)):
                continue
            _, data, image = networks.make(operators, name, kind, per_tensor=per_tensor)
            with tempfile.NamedTemporaryFile(suffix=".tflite") as file, runtime.Stderr():
                file.write(data)
                file.flush()
                found = measure([s for s in subjects if works(s, file.name, image)], file.name,
                                image)
            peer, peer_name = found.get("xnnpack"), "xnnpack"
            if per_tensor:
                bytes_peer = peer
            elif not peer and kind != model.FLOAT32:
                peer, peer_name = bytes_peer, "xnnpack_s8t"
            peer = peer or (None, None)
            figure(f"{figure_name}_1t", found["nnaccel"][0], peer_name, peer[0])
            figure(f"{figure_name}_1t_own", found["nnaccel"][0], "tflite", found["own"][0])
            figure(f"{figure_name}_first", found["nnaccel"][1], peer_name, peer[1])


if __name__ == "__main__":
    if sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(print(__doc__, end=""))
    main(*sys.argv[1:])
