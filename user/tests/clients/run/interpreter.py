# SPDX-License-Identifier: MIT
"""A program that loads TensorFlow Lite by dlopen(), runs a model twice: the first time with a delegate of its own,
if one is named.

usage: interpreter.py LIBRARY MODEL [DELEGATE DEVICE]
"""
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tflite"))
import runtime  # noqa: E402

tflite = runtime.Tflite(sys.argv[1])
delegate = runtime.Delegate(sys.argv[3], {"device": sys.argv[4]}) if sys.argv[3:] else None
for i in range(2):
    interpreter = runtime.Interpreter(tflite, sys.argv[2], [delegate.handle] if delegate and not i else [])
    interpreter.allocate()
    interpreter.invoke()
    print(len(interpreter.get(0)), "bytes")
    interpreter.close()
