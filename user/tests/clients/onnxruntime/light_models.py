# SPDX-License-Identifier: MIT
"""The light models of ONNX (whole networks, whose weights are made up) on the execution
provider, compared with ONNX Runtime's CPU provider. Prints TAP.

usage: light_models.py LIBRARY DEVICE [MODEL...]

NNACCEL_ONNX_DATA is the folder of the test data.
"""
import glob
import os
import sys
import tempfile

import numpy as np
import onnxruntime as ort

from node_tests import NAME, placed


def session(path, device):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if not device:
        return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(tempfile.gettempdir(),
                                               f"nnaccel-onnx-{os.getpid()}")
    options.add_provider_for_devices(
        [d for d in ort.get_ep_devices()
         if d.ep_name == NAME and d.ep_metadata["device"] == device], {})
    return ort.InferenceSession(path, options, enable_fallback=0)


def check(path, device):
    random = np.random.default_rng(1)
    reference = session(path, None)
    inputs = {i.name: random.standard_normal(i.shape).astype(np.float32)
              for i in reference.get_inputs()}
    wanted = reference.run(None, inputs)
    del reference
    tried = session(path, device)
    got = tried.run(None, inputs)
    on, of = placed(tried.end_profiling())
    worst = 0
    for g, w in zip(got, wanted):
        worst = max(worst, np.max(np.abs(g - w)) / max(np.max(np.abs(w)), 1e-30))
    if not worst < 1e-4:
        raise ValueError(f"differs by {worst:.2g} of the greatest value")
    if on < 1 or on != of:
        raise ValueError(f"{on} of {of} parts on {device}")
    return f"{on} part of {of}, differs by {worst:.2g}"


def main():
    library, device = sys.argv[1:3]
    names = sys.argv[3:]
    data = os.environ["NNACCEL_ONNX_DATA"]
    ort.set_default_logger_severity(4)
    ort.register_execution_provider_library(NAME, os.path.realpath(library))
    bad = 0
    for path in sorted(glob.glob(os.path.join(data, "light", "light_*.onnx"))):
        name = os.path.basename(path)[len("light_"):-len(".onnx")]
        if names and name not in names:
            continue
        try:
            print(f"ok - light {name}: {check(path, device)}", flush=True)
        except Exception as error:  # each model is a test of its own
            bad += 1
            print(f"not ok - light {name}: {str(error).splitlines()[0]}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
