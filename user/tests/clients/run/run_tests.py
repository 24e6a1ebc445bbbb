# SPDX-License-Identifier: MIT
"""Programs under nnaccel run: what reaches the device, what they print, how they end. Prints TAP.

usage: run_tests.py NNACCEL DEVICE PROGRAMS GSTREAMER ONNXRUNTIME TFLITE NODE

NNACCEL is the command, PROGRAMS the folder of session, interpreter, old.so and wrong.so; the others are the
folders that scripts/gstreamer, scripts/onnxruntime, scripts/tflite and scripts/onnxruntime --node
print, "" for NODE if there is none.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "../tflite"))
import model as tfl  # noqa: E402
import tracefile  # noqa: E402

PAGE = os.path.join(HERE, "../../../../Documentation/programs.rst")
MULTIARCH = "usr/lib/x86_64-linux-gnu"
TAKEN = re.compile(r"^nnaccel: (.*): (?:warning: )?(\d+) of (\d+) nodes of (?:a model in )?(\S+) in (\d+) part.*(?:on|for) (\S+?)(?:,.*)?$",
                   re.M)
# The file that describes a model's tensors to GStreamer.
INFO = """[modelinfo]
version=1.0
group-id=test

[{input}]
id=image
type=float32
dims={dims}
dir=input
ranges=0,255;0,255;0,255

[{output}]
id=classes
type=float32
dims={classes}
dir=output
"""


# A Python program that writes the network of image_model() as an ONNX file.
ONNX = """
import sys, onnx
import numpy as np
from onnx import helper, numpy_helper
weights = (np.arange(216, dtype=np.float32) % 7 - 3).reshape(8, 3, 3, 3) / 8
nodes = [helper.make_node("Conv", ["image", "w", "b"], ["c"], "conv", strides=[2, 2], pads=[0, 0, 1, 1]),
         helper.make_node("Relu", ["c"], ["r"], "relu"),
         helper.make_node("GlobalAveragePool", ["r"], ["classes"], "pool")]
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("image", 1, [1, 3, 64, 64])],
                          [helper.make_tensor_value_info("classes", 1, [1, 8, 1, 1])],
                          [numpy_helper.from_array(weights, "w"),
                           numpy_helper.from_array(np.arange(8, dtype=np.float32) / 8, "b")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# A Python program that puts two nodes in front of the network; ONNX Runtime computes the two nodes itself. The first
# node has too little work for a partition, and the NNAPI lacks the second node's operation.
BEHIND = """
import sys, onnx
from onnx import helper
model = onnx.load(sys.argv[1])
model.graph.node[0].input[0] = "t"
model.graph.node.insert(0, helper.make_node("Tan", ["a"], ["t"], "tan"))
model.graph.node.insert(0, helper.make_node("Relu", ["image"], ["a"], "first"))
onnx.save(model, sys.argv[2])
"""


def page(begin):
    """The command of the page that begins so."""
    with open(PAGE, encoding="utf-8") as file:
        return next(line for line in file if line.startswith("\t" + begin)).strip()


def image_model(operators, angles=False):
    """A small network of an image of 64 by 64; ATAN2 is left to the runtime."""
    m = tfl.Model(operators)
    image = m.input([1, 64, 64, 3], name="image")
    weights = m.tensor([8, 3, 3, 3], data=[(i % 7 - 3) / 8 for i in range(216)])
    bias = m.tensor([8], data=[0.0] * 8)
    features = m.tensor([1, 32, 32, 8])
    m.op("CONV_2D", [image, weights, bias], [features], tfl.SAME, 2, 2, tfl.RELU, 1, 1)
    pooled = m.tensor([1, 1, 1, 8], name="classes")
    m.op("AVERAGE_POOL_2D", [features], [pooled], tfl.VALID, 32, 32, 32, 32, tfl.NONE)
    return m.finish(m.op("ATAN2", [pooled, pooled], [m.tensor([1, 1, 1, 8])]) if angles else pooled)


class World:
    def __init__(self, folder, nnaccel, device, programs, gstreamer, onnxruntime, tflite, node):
        self.nnaccel, self.device, self.programs, self.node = nnaccel, device, programs, node
        self.plugins = os.path.join(os.path.dirname(nnaccel), "../lib")
        self.gst = os.path.join(gstreamer, "bin/gst-launch-1.0")
        self.python = os.path.join(onnxruntime, "bin/python3")
        self.lib = [os.path.join(f, MULTIARCH) for f in (onnxruntime, tflite)]
        self.tflite = os.path.join(self.lib[1], "libtensorflow-lite.so")
        self.onnxruntime = os.path.join(self.lib[0], "libonnxruntime.so")
        self.onnx = os.path.join(folder, "image.onnx")
        self.squeezenet = os.path.join(folder, "squeezenet.onnx")
        self.image = os.path.join(folder, "image.tflite")
        self.folder = folder
        shutil.copy(os.path.join(onnxruntime, "usr/share/libonnx-testdata/data/light/light_squeezenet.onnx"),
                    self.squeezenet)
        self.write(self.squeezenet + ".modelinfo", INFO.format(input="data_0", dims="1,3,224,224",
                                                               output="softmaxout_1", classes="1,1000,1,1"))
        subprocess.run([self.python, "-c", ONNX, self.onnx], check=True, capture_output=True)
        self.write(self.onnx + ".modelinfo", INFO.format(input="image", dims="1,3,64,64",
                                                         output="classes", classes="1,8,1,1"))
        with open(self.image, "wb") as file:
            file.write(image_model(tfl.codes(os.path.join(HERE, "../../../clients/tflite/builtins.def"))))
        self.write(self.image + ".modelinfo", INFO.format(input="image", dims="1,64,64,3",
                                                          output="classes", classes="1,1,1,8"))

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def by_loader(self, *command):
        """A command that runs with the libraries of sid."""
        return [os.path.join(self.lib[1], "ld-linux-x86-64.so.2"), "--library-path",
                ":".join(self.lib + [self.lib[0] + "/blas", self.lib[0] + "/lapack", "/" + MULTIARCH]), *command]

    def plain(self, *command, **env):
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=self.folder,
                              env=dict(os.environ, TMPDIR=self.folder, **env))
        done.said = "\n".join(line for line in done.stderr.split("\n")
                              if line and not line.startswith("Schema error"))
        return done

    def run(self, *command, options=(), **env):
        # `nnaccel run` examines the program sh, but this shell replaces itself by `command`.
        return self.plain(self.nnaccel, "run", "--device", self.device, *options, "--",
                          "sh", "-c", 'exec "$@"', "sh", *command, **env)

    def launch(self, element, path, size):
        return [self.gst, "videotestsrc", "num-buffers=2", "!",
                f"video/x-raw,format=RGB,width={size},height={size}", "!", element,
                f"model-file={path}", "!", "fakesink"]


def taken(done, runtime, path, times=1, device=None, parts=1):
    """Checks that the program ended well and that these lines, and no others, say where it ran."""
    found = TAKEN.findall(done.said)
    if done.returncode or len(found) != times:
        raise ValueError(f"exit status {done.returncode}, {len(found)} lines, not {times}: {done.said}")
    for name, on, of, model, count, where in found:
        if not name.startswith(runtime) or int(on) < 1 or int(on) > int(of) or int(count) != parts or \
                model != os.path.basename(path) or (device and where != device):
            raise ValueError(done.said)
    if "nnaccel run:" in done.said:
        raise ValueError(f"says more than that: {done.said}")
    return found


def left_then_taken(done, text):
    """Takes the only line of nnaccel run, which ends so, from what was said."""
    lines = done.said.split("\n")
    own = [line for line in lines if line.startswith("nnaccel run:")]
    if len(own) != 1 or not own[0].endswith(text):
        raise ValueError(done.said)
    done.said = "\n".join(line for line in lines if line != own[0])


def says(done, text, status=0):
    if done.returncode != status or text not in done.said or TAKEN.search(done.said):
        raise ValueError(f"exit status {done.returncode}, not {status}, or not \"{text}\": {done.said}")


def test_gstreamer_onnx(w):
    """GStreamer's onnxinference"""
    done = w.run(*w.launch("onnxinference", w.onnx, 64))
    taken(done, "onnxruntime 1.23.2", w.onnx, device=w.device)
    if "Got EOS" not in done.stdout:
        raise ValueError(done.stdout)


def test_gstreamer_tflite(w):
    """GStreamer's tfliteinference"""
    done = w.run(*w.launch("tfliteinference", w.image, 64))
    found = taken(done, "TensorFlow Lite 2.14.1", w.image, device=w.device)
    if "Got EOS" not in done.stdout or found[0][1:3] != ("2", "2"):
        raise ValueError(done.stdout + done.said)


def page_run(w):
    """the command of the page"""
    command = shlex.split(page("nnaccel run -- gst-launch-1.0"))
    command[:2] = [w.nnaccel, "run", "--device", w.device]
    path = ":".join([os.path.dirname(w.gst), os.environ["PATH"]])
    found = taken(w.plain(*command, PATH=path), "onnxruntime 1.23.2", w.squeezenet, device=w.device, parts=2)
    with open(PAGE, encoding="utf-8") as file:
        if f"{found[0][1]} of {found[0][2]} nodes of squeezenet.onnx in 2 parts" not in file.read():
            raise ValueError(f"the page shows something else than {found}")


def program_of_page(number):
    """A program of the page."""
    with open(PAGE, encoding="utf-8") as file:
        blocks = re.findall(r"^\.\. code-block:: python\n\n((?:    .*\n|\n)+)", file.read(), re.M)
    return textwrap.dedent(blocks[number])


def run_program(w, number, interpreter, **env):
    """Runs a program of the page by the command of the page."""
    w.write(os.path.join(w.folder, "program.py"), program_of_page(number))
    command = shlex.split(page("nnaccel run -- python3"))
    command[:4] = [w.nnaccel, "run", "--device", w.device, "--", *interpreter]
    return w.plain(*command, **env)


def page_onnx(w):
    """the program of the page for ONNX Runtime"""
    done = run_program(w, 0, [w.python])
    taken(done, "onnxruntime", w.squeezenet, device=w.device)
    if done.stdout != "(1, 1000, 1, 1)\n":
        raise ValueError(done.stdout)


def page_tflite(w):
    """the program of the page for TensorFlow Lite, with a module that stands in"""
    done = run_program(w, 1, ["sh", "-c", 'exec "$@"', "sh", *w.by_loader("/usr/bin/python3")], TFLITE=w.tflite,
                       PYTHONPATH=HERE)
    taken(done, "tflite_runtime 2.14.1", w.image, device=w.device)
    if len(done.stdout) < 32:
        raise ValueError(done.stdout)


def test_gstreamer_fails(w):
    """a pipeline that fails has its own exit status, and the end says that nothing was reached"""
    command = w.launch("onnxinference", w.onnx + ".missing", 64)
    says(w.run(*command), "did not use the device", w.plain(*command).returncode)


def test_report(w):
    """the report has the runs"""
    done = w.run(*w.launch("tfliteinference", w.image, 64), options=["--report"])
    if not re.search(r"^nnaccel run: TensorFlow Lite 2\.14\.1: image\.tflite: 2 runs, \d+\.\d{3} ms each$",
                     done.said, re.M) or f"  operation 0 CONV_2D on {w.device}: " not in done.said:
        raise ValueError(done.said)
    done = w.run(*w.launch("onnxinference", w.onnx, 64), options=["--report"])
    if "image.onnx: 2 runs, " not in done.said:
        raise ValueError(done.said)
    # Each operation has a time, or is fused with an operation that has a time; the shares add up to 100 %.
    lines = [line for line in done.said.split("\n") if line.startswith("nnaccel: report: ")]
    shares = [float(line.split()[-2]) for line in lines if line.endswith(" %")]
    if len(lines) < 4 or not re.match(rf"nnaccel: report: model 1, part 1 of 1: \d+ operations on {w.device}: 2 runs, \d+\.\d{{3}} ms each", lines[0]) or \
            not lines[1].startswith("nnaccel: report:   copies: ") or not shares or not 99 < sum(shares) < 101 or \
            not any("CONV_2D" in line for line in lines):
        raise ValueError(done.said)
    copied = 0 if w.device == "nnapi-reference" else 4 * 3 * 64 * 64
    if f"copies: {copied} bytes in, " not in lines[1]:
        raise ValueError(lines[1])


def test_trace(w):
    """a trace of two programs in one file"""
    path = os.path.join(w.folder, "trace.json")
    taken(w.run("sh", "-c", '"$@" && "$@"', "sh", *w.launch("tfliteinference", w.image, 64), NNACCEL_TRACE="trace.json"),
          "TensorFlow Lite 2.14.1", w.image, times=2, device=w.device)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    slices = tracefile.check(text, w.device == "nnaccel")
    want = {"compile": 2, "prepare": 2, "execute": 4, f"part on {w.device}": 4, "CONV_2D": 4}
    if any(slices[name] < count for name, count in want.items()):
        raise ValueError(slices)
    # A killed program may leave half of a trace file, which must be readable, too.
    tracefile.events(text[:text.rindex("\n", 0, len(text) // 2) + 1])
    os.remove(path)


def test_python(w):
    """Python's onnxruntime, with the results of its own CPU"""
    command = [w.python, os.path.join(HERE, "session.py"), w.onnx]
    done = w.run(*command)
    taken(done, "onnxruntime 1.23", w.onnx, times=2, device=w.device)
    if done.stdout != w.plain(*command).stdout:
        raise ValueError(f"{done.stdout}, not {w.plain(*command).stdout}")


def test_python_chooses(w):
    """Python's onnxruntime, whose program names a provider"""
    says(w.run(w.python, os.path.join(HERE, "session.py"), w.onnx, "CPUExecutionProvider"),
         "image.onnx is left alone: the program chooses the provider itself (CPUExecutionProvider)")


def test_python_options(w):
    """Python finds the sitecustomize that it had before"""
    w.write(os.path.join(w.folder, "sitecustomize.py"), "print('found')\n")
    done = w.run("python3", "-c", "import sys; sys.exit(3)", PYTHONPATH=w.folder)
    os.remove(os.path.join(w.folder, "sitecustomize.py"))
    says(done, "did not use the device", 3)
    if done.stdout != "found\n":
        raise ValueError(done.stdout)


def test_package(w):
    """a Python module of TensorFlow Lite"""
    command = w.by_loader("/usr/bin/python3", os.path.join(HERE, "package.py"), w.image)
    done = w.run(*command, TFLITE=w.tflite)
    taken(done, "tflite_runtime 2.14.1", w.image, device=w.device)
    done = w.run(*command, w.plugins + "/libnnaccel_tflite.so", w.device, TFLITE=w.tflite)
    says(done, "image.tflite is left alone: the program sets a delegate itself")


def test_dlopen_tflite(w):
    """a program that loads TensorFlow Lite by dlopen()"""
    command = w.by_loader("/usr/bin/python3", os.path.join(HERE, "interpreter.py"), w.tflite, w.image)
    taken(w.run(*command), "TensorFlow Lite 2.14.1", w.image, times=2, device=w.device)
    done = w.run(*command, w.plugins + "/libnnaccel_tflite.so", w.device)
    left_then_taken(done, "image.tflite is left alone: the program sets a delegate itself")
    taken(done, "TensorFlow Lite 2.14.1", w.image, device=w.device)


def test_dlopen_onnxruntime(w):
    """a program of an old API that loads ONNX Runtime by dlopen()"""
    command = w.by_loader(os.path.join(w.programs, "session"), w.onnxruntime, w.onnx)
    done = w.run(*command)
    taken(done, "onnxruntime 1.23.2", w.onnx, device=w.device)
    if done.stdout != "1 inputs\n":
        raise ValueError(done.stdout)
    done = w.run(*command, "cpu")
    left_then_taken(done, "is left alone: the program chooses the provider itself (CPU)")
    taken(done, "onnxruntime 1.23.2", w.onnx, device=w.device)
    # If the model's file is missing, the program reports the runtime's error message as without `nnaccel run`.
    done = w.run(*command[:-1], "/nonexistent.onnx")
    says(done, "did not use the device", 1)
    if "/nonexistent.onnx" not in done.stdout:
        raise ValueError(done.stdout)


def test_device_fails(w):
    """a model that the device cannot have runs without it, unless that is required"""
    session = os.path.join(w.programs, "session")
    for command, model in ((w.by_loader(session, w.onnxruntime, w.onnx), w.onnx),
                           ([w.python, os.path.join(HERE, "session.py"), w.onnx], w.onnx),
                           (w.by_loader("/usr/bin/python3", os.path.join(HERE, "interpreter.py"), w.tflite, w.image),
                            w.image)):
        # The variable NNACCEL_RUN_DEVICE names a missing device, because `nnaccel run` accepts only existing devices.
        command = ["env", "NNACCEL_RUN_DEVICE=gone", *command]
        says(w.run(*command), f"{os.path.basename(model)} does not run on gone: ")
        says(w.run(*command, options=["--require"]), f"{os.path.basename(model)} does not run on gone: ", 1)


def test_old(w):
    """an ONNX Runtime that has no plug-in providers"""
    says(w.run(*w.by_loader(os.path.join(w.programs, "session"), os.path.join(w.programs, "old.so"), w.onnx)),
         "onnxruntime 1.22.1 does not run on " + w.device, 1)


def test_node(w):
    """node with onnxruntime-node 1.30"""
    done = w.run("node", os.path.join(HERE, "session.js"), w.node, w.onnx)
    taken(done, "onnxruntime 1.30.0", w.onnx, device=w.device)
    if done.stdout != "1 8 1 1\n":
        raise ValueError(done.stdout)


def test_node_tflite(w):
    """node with tfjs-tflite-node"""
    done = w.run("node", os.path.join(HERE, "interpreter.js"), os.path.join(w.programs, "tflite.node"), w.image)
    taken(done, "TensorFlow Lite 2.", "memory", device=w.device)
    if done.stdout != "1,1,1,8\n":
        raise ValueError(done.stdout)


def test_cpp(w):
    """an interpreter of the C++ interface is not reached, and runs"""
    says(w.run(*w.by_loader(os.path.join(w.programs, "interpreter"), w.image)),
         "TensorFlow Lite by its C++ interface does not run on")


def explained(w, path, *options):
    done = w.plain(*w.by_loader(w.nnaccel, "explain", "--device", w.device, *options, path))
    if done.returncode or done.stderr:
        raise ValueError(f"exit status {done.returncode}: {done.stderr}")
    return done.stdout


def test_explain_onnx(w):
    """explain says of an ONNX model what a session then does"""
    told = json.loads(explained(w, w.onnx, "--json"))
    found = taken(w.run(w.python, os.path.join(HERE, "session.py"), w.onnx), "onnxruntime", w.onnx, times=2)
    operations = {o["name"]: o for o in told["operations"]}
    if [str(told["on_device"]), str(len(operations)), str(len(told["partitions"]))] != \
            [found[0][1], found[0][2], found[0][4]] or told["device"] != w.device or \
            told["estimated"] != (w.device == "nnapi-reference") or told["runtime"] != "onnxruntime 1.23.2":
        raise ValueError(f"{told}, not {found}")
    # The convolution computes each of its 8 * 32 * 32 outputs from 3 * 3 pixels of 3 channels.
    part = told["partitions"][0]
    if operations["conv"]["multiply_adds"] != 32 * 32 * 8 * 27 or operations["pool"]["multiply_adds"] or \
            (part["bytes_in"], part["bytes_out"]) != (4 * 3 * 64 * 64, 4 * 8):
        raise ValueError(f"{operations['conv']}, {part}")


def test_explain_parts(w):
    """explain numbers partitions without those that are not worth it"""
    path = os.path.join(w.folder, "behind.onnx")
    subprocess.run([w.python, "-c", BEHIND, w.onnx, path], check=True, capture_output=True)
    told = json.loads(explained(w, path, "--json"))
    operations = {o["name"]: (o["partition"], o["reason"]) for o in told["operations"]}
    if len(told["partitions"]) != 1 or operations["conv"] != (0, None) or operations["pool"] != (0, None) or \
            operations["tan"] != (None, "the NNAPI cannot express this operator") or \
            "do not pay for moving" not in operations["first"][1] or told["on_device"] != 3:
        raise ValueError(told)


def test_explain_tflite(w):
    """explain has the reason of an operation that stays, and sums of the others"""
    operators = tfl.codes(os.path.join(HERE, "../../../clients/tflite/builtins.def"))
    path = os.path.join(w.folder, "left.tflite")
    with open(path, "wb") as file:
        file.write(image_model(operators, True))
    told = json.loads(explained(w, path, "--json"))
    wide = json.loads(explained(w, path, "--json", "--shape", "image=1,128,64,3"))
    conv, pool, angle = told["operations"]
    if wide["operations"][0]["multiply_adds"] != 2 * conv["multiply_adds"]:
        raise ValueError(wide)
    work = 32 * 32 * 8 * 27
    if (conv["multiply_adds"], pool["multiply_adds"], told["multiply_adds_on_device"]) != (work, 0, work) or \
            (conv["partition"], angle["partition"], conv["reason"]) != (0, None, None) or \
            angle["operator"] != "ATAN2" or angle["reason"] != "NNAPI has no such operation":
        raise ValueError(told)
    part = told["partitions"][0]
    if part != {"operations": 2, "bytes_in": 64 * 64 * 3 * 4, "bytes_out": 8 * 4, "constant_bytes": 896}:
        raise ValueError(part)
    lines = explained(w, path).rstrip("\n").split("\n")
    if lines[-1] != f"2 of 3 operations (100.0 % of multiply-adds) on {w.device} in 1 partition" or \
            ("estimated" in lines[-2]) != (w.device == "nnapi-reference") or \
            not any(re.match("ATAN2 .* TensorFlow Lite: NNAPI has no such operation", line) for line in lines):
        raise ValueError(lines)


def page_explain(w):
    """the command of the page for explain"""
    done = w.plain(*w.by_loader(w.nnaccel, *shlex.split(page("nnaccel explain"))[1:]))
    if done.returncode or not re.search(r"^\d+ of 65 operations \(\d+\.\d % of", done.stdout, re.M):
        raise ValueError(done.stdout + done.stderr)


def bench(w, path, *options, loader=True, **env):
    command = [w.nnaccel, "bench", "--device", w.device, "--seconds", "1", *options, path]
    return w.plain(*(w.by_loader(*command) if loader else command), **env)


def test_bench(w):
    """bench measures both sides and compares them, by clients and threads"""
    models = [(w.image, "TensorFlow Lite 2.14.1"), (w.onnx, "onnxruntime 1.23.2")]
    for path, runtime in models[:1] if w.device == "nnaccel" else models:
        done = bench(w, path, "--clients", "1,2", "--threads", "2", "--json")
        if done.returncode or done.stderr:
            raise ValueError(f"exit status {done.returncode}: {done.stderr}")
        told = json.loads(done.stdout)
        if told["runtime"] != runtime or told["right"] is not True or told["float_difference"] > 1e-5 or \
                told["byte_difference"] or (told["device_memory_kib"] > 0) != (w.device == "nnaccel"):
            raise ValueError(told)
        for side in told["device"], told["cpu"]:
            rates = [(r["clients"], r["threads"]) for r in side["throughput"] if r["per_second"] > 0]
            if rates != [(1, 2), (2, 2)] or side["runs"] < 10 or side["memory_kib"] <= 0 or \
                    not 0 < side["median_ms"] <= side["p90_ms"] <= side["p99_ms"]:
                raise ValueError(side)


def test_bench_wrong(w):
    """bench says how far apart a device is, and fails if that is wrong"""
    for kind, apart, verdict, text in (
            ("1", "5e-4", "right", "floats differ by 5.0e-04"), ("1", "2e-3", "WRONG", "floats differ by 2.0e-03"),
            ("1", "inf", "WRONG", "floats differ by inf"), ("1", "nan", "WRONG", "floats differ by inf"),
            ("3", "8", "right", "bytes by 8, 0 other"), ("3", "9", "WRONG", "bytes by 9, 0 other"),
            ("2", "0", "right", "bytes by 0, 0 other"), ("2", "1", "WRONG", "bytes by 0, 3 other")):
        done = bench(w, w.image, "--runtime", os.path.join(w.programs, "wrong.so"), loader=False, APART=apart,
                     TYPE=kind)
        if done.returncode != (verdict == "WRONG") or f"{verdict}, of 3 inputs: floats" not in done.stdout or \
                text not in done.stdout:
            raise ValueError(f"{kind}, {apart}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    for rounded, verdict in ("1e-3", "WRONG"), ("1e-2", "right"):
        done = bench(w, w.image, "--runtime", os.path.join(w.programs, "wrong.so"), loader=False, APART="5e-3",
                     ROUNDED=rounded)
        if done.returncode != (verdict == "WRONG") or f"{verdict}, of 3 inputs" not in done.stdout or \
                ("on the CPU, if inputs change by 1e-05: " in done.stdout) != (verdict == "right"):
            raise ValueError(f"{rounded}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    done = bench(w, w.image, "--runtime", os.path.join(w.programs, "wrong.so"), loader=False)
    says(done, "TensorFlow Lite played cannot run the model", 1)


def test_bench_plot(w):
    """bench draws the latencies"""
    plot = os.path.join(w.folder, "bench.png")
    done = bench(w, w.image, "--plot", plot)
    with open(plot, "rb") as file:
        begin = file.read(4)
    if done.returncode or begin != b"\x89PNG":
        raise ValueError(f"exit status {done.returncode}: {done.stderr}")
    says(bench(w, w.image, "--plot", plot, PATH="/nonexistent"), "bench.png was not drawn: it takes gnuplot", 1)


def page_bench(w):
    """the command of the page for bench"""
    command = shlex.split(page("nnaccel bench"))
    command[:2] = [w.nnaccel, "bench", "--device", w.device]
    done = w.plain(*w.by_loader(*command))
    if done.returncode or not re.search(r"^right, of 3 inputs: floats differ by ", done.stdout, re.M):
        raise ValueError(done.stdout + done.stderr)


def test_children(w):
    """programs that a program starts: one that uses no runtime says nothing"""
    done = w.plain(w.nnaccel, "run", "--device", w.device, "--", "sh", "-c", '/bin/true; "$@"; exit 7', "sh",
                   *w.launch("tfliteinference", w.image, 64))
    if done.returncode != 7:
        raise ValueError(f"exit status {done.returncode}")
    done.returncode = 0
    taken(done, "TensorFlow Lite 2.14.1", w.image, device=w.device)


def lacks(w, test):
    """The package of npm that a test needs and that is not there, or None."""
    if test is test_node and not w.node:
        return "onnxruntime-node"
    if test is test_node_tflite and not os.path.exists(os.path.join(w.programs, "tflite.node")):
        return "tfjs-tflite-node"
    return None


def main():
    nnaccel = os.path.realpath(sys.argv[1])
    tests = [(f, f.__doc__) for name, f in globals().items() if name.startswith(("test_", "page_"))]
    # Skip all other tests, which take minutes on an emulated machine and hardly use the device.
    if sys.argv[2] == "nnaccel":
        tests = [(f, doc) for f, doc in tests if f in (
            test_gstreamer_onnx, test_gstreamer_tflite, test_report, test_trace, test_python, test_children,
            test_explain_tflite, test_bench)]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder, nnaccel, *sys.argv[2:])
        for n, (test, name) in enumerate(tests, 1):
            package = lacks(world, test)
            if package:
                print(f"ok {n} - {name} # SKIP there is no {package}", flush=True)
                continue
            try:
                test(world)
                print(f"ok {n} - {name}", flush=True)
            except (ValueError, OSError) as error:
                bad = 1
                print(f"not ok {n} - {name}: " + str(error).replace("\n", "\n# "), flush=True)
    print(f"1..{len(tests)}")
    return bad


sys.exit(main())
