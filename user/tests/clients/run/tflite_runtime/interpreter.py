# SPDX-License-Identifier: MIT
"""The module as programs see it, over the C library that TFLITE names: loaded so that a preloaded
library does not stand before it, as that of the real module is part of the module."""
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tflite"))
import behaviour  # noqa: E402
import runtime  # noqa: E402


def load_delegate(library, options):
    return runtime.Delegate(library, options)


class Interpreter(behaviour.Loaded):
    def __init__(self, model_path=None, model_content=None, experimental_delegates=None):
        device = os.environ.pop("NNACCEL_RUN_DEVICE", None)
        super().__init__(runtime.Tflite(os.environ["TFLITE"]), model_path or model_content,
                         [d.handle for d in experimental_delegates or []])
        if device:
            os.environ["NNACCEL_RUN_DEVICE"] = device
