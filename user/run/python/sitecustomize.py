# SPDX-License-Identifier: MIT
"""What nnaccel run has each Python load: Python's modules carry their runtime inside, where the
preloaded library does not reach. Models of onnxruntime get the provider, those of TensorFlow Lite's
modules the delegate, unless the program chooses one itself."""
import importlib.machinery
import importlib.util
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
PLUGINS = os.path.dirname(FOLDER)
DEVICE = os.environ.get("NNACCEL_RUN_DEVICE")
REQUIRE = "NNACCEL_RUN_REQUIRE" in os.environ
REPORT = "NNACCEL_RUN_REPORT" in os.environ


def reached():
    """Remembers, for the end of the program, that a line was written."""
    try:
        fd = os.open(os.environ["NNACCEL_RUN_STATE"], os.O_WRONLY | os.O_APPEND)
        os.write(fd, b"1")
        os.close(fd)
    except (KeyError, OSError):
        pass


def say(text):
    os.write(2, f"nnaccel run: {text}\n".encode(errors="replace"))
    reached()


def name_of(model):
    if isinstance(model, (str, os.PathLike)):
        return os.path.basename(os.fspath(model))
    return "a model in memory"


class Runs:
    """Counts runs and their time, for the report at the end."""

    def __init__(self, name):
        import atexit
        self.count, self.ns, self.name, self.pid = 0, 0, name, os.getpid()
        atexit.register(self.tell)

    def tell(self):
        if self.pid != os.getpid():
            return
        runs = f"{self.count} run{'' if self.count == 1 else 's'}, {self.ns / max(self.count, 1) / 1e6:.3f} ms each"
        say(f"{self.name}: {runs if self.count else 'no runs'}")

    def around(self, function):
        import time

        def run(*args, **kwargs):
            begin = time.monotonic_ns()
            try:
                return function(*args, **kwargs)
            finally:
                self.count += 1
                self.ns += time.monotonic_ns() - begin
        return run


def onnxruntime(module):
    """Has InferenceSession take the provider if the program names none."""
    runtime = f"onnxruntime {getattr(module, 'get_version_string', lambda: module.__version__)()}"
    if tuple(int(n) for n in module.__version__.split(".")[:2]) < (1, 23):
        say(f"{runtime} does not run on {DEVICE}: plug-in providers need version 1.23")
        return
    create = module.InferenceSession.__init__
    ours = []

    def device():
        """The device as ONNX Runtime has it; registers the plug-in the first time."""
        for again in (False, True):
            if again:
                module.register_execution_provider_library(
                    "nnaccel", os.path.join(PLUGINS, "libnnaccel_onnxruntime.so"))
            for d in module.get_ep_devices():
                if d.ep_name == "nnaccel" and d.ep_metadata.get("device") == DEVICE:
                    return d
        raise RuntimeError(f"there is no device {DEVICE}")

    def init(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **kwargs):
        name = name_of(path_or_bytes)
        theirs = sess_options is not None and sess_options.has_providers() and \
            not any(o is sess_options for o in ours)
        if providers or theirs:
            chosen = ", ".join(p if isinstance(p, str) else p[0] for p in providers or []) or "of a device"
            say(f"{runtime}: {name} is left alone: the program chooses the provider itself ({chosen})")
            return create(self, path_or_bytes, sess_options, providers, provider_options, **kwargs)
        with_provider = dict(kwargs, enable_fallback=0)
        try:
            options = sess_options or module.SessionOptions()
            if not any(o is options for o in ours):
                options.add_provider_for_devices([device()], {
                    "runtime": runtime, "verbosity": "2" if REPORT else "0"})
                ours.append(options)
            # Several sessions may use the same options, so the model's name is set again.
            options.add_session_config_entry("ep.nnaccel.model", name)
            create(self, path_or_bytes, options, **with_provider)
            reached()
        except Exception as error:  # whatever ONNX Runtime raises
            if REQUIRE:
                say(f"{runtime}: {name} does not run on {DEVICE}: {error}")
                raise
            create(self, path_or_bytes, sess_options, ["CPUExecutionProvider"], None, **kwargs)
            say(f"{runtime}: {name} does not run on {DEVICE}: {error}")
        if REPORT:
            self.run = Runs(f"{runtime}: {name}").around(self.run)

    module.InferenceSession.__init__ = init


def tflite(module):
    """Has Interpreter take the delegate if the program gives none."""
    create = module.Interpreter.__init__
    package = module.__name__.split(".")[0]
    version = getattr(sys.modules.get(package), "__version__", "")
    runtime = f"{package} {version}".strip()

    def init(self, model_path=None, model_content=None, experimental_delegates=None, *args, **kwargs):
        name = name_of(model_path)
        if experimental_delegates:
            say(f"{runtime}: {name} is left alone: the program sets a delegate itself")
            return create(self, model_path, model_content, experimental_delegates, *args, **kwargs)
        try:
            delegate = module.load_delegate(os.path.join(PLUGINS, "libnnaccel_tflite.so"), {
                "device": DEVICE, "runtime": runtime, "model": name,
                "verbosity": "1" if REPORT else "0"})
            create(self, model_path, model_content, [delegate], *args, **kwargs)
            reached()
        except Exception as error:  # whatever the runtime raises
            say(f"{runtime}: {name} does not run on {DEVICE}: {error}")
            if REQUIRE:
                raise
            return create(self, model_path, model_content, None, *args, **kwargs)
        if REPORT:
            self.invoke = Runs(f"{runtime}: {name}").around(self.invoke)
        return None

    module.Interpreter.__init__ = init


HOOKS = {
    "onnxruntime": onnxruntime,
    "tflite_runtime.interpreter": tflite,
    "ai_edge_litert.interpreter": tflite,
    "tensorflow.lite.python.interpreter": tflite,
}


class Finder:
    """Finds modules as Python does, and has their hook called when they were loaded."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        hook = HOOKS.pop(name, None)  # so that the search below does not find this hook again
        if not hook:
            return None
        try:
            spec = importlib.util.find_spec(name)
        finally:
            HOOKS[name] = hook  # a program may only ask whether the module exists
        if not spec or not spec.loader or not hasattr(spec.loader, "exec_module"):
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            try:
                if HOOKS.pop(name, None):
                    hook(module)
            except Exception as error:  # the program is to run all the same
                say(f"{name} does not run on {DEVICE}: {error}")

        spec.loader.exec_module = exec_module
        return spec


def next_sitecustomize():
    """Runs the one that Python would have found without this one."""
    path = [p for p in sys.path if os.path.abspath(p or ".") != FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if DEVICE:
    sys.meta_path.insert(0, Finder)
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != FOLDER]
next_sitecustomize()
