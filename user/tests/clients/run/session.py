# SPDX-License-Identifier: MIT
"""A program of ONNX Runtime that names no device: runs a model on zeros.

usage: session.py MODEL [PROVIDER]
"""
import sys

import numpy as np
import onnxruntime as ort

options = ort.SessionOptions()
for _ in range(2):
    session = ort.InferenceSession(sys.argv[1], options, providers=sys.argv[2:] or None)
    given = session.get_inputs()[0]
    result = session.run(None, {given.name: np.zeros(given.shape, np.float32)})[0]
print(*result.shape, "%.6f" % result.max())
