# SPDX-License-Identifier: MIT
"""A program of the module tflite_runtime, which names no delegate, or gives none by its name.

usage: package.py MODEL [DELEGATE DEVICE]
"""
import sys

from tflite_runtime.interpreter import Interpreter, load_delegate

given = [load_delegate(sys.argv[2], {"device": sys.argv[3]})] if sys.argv[2:] else None
interpreter = Interpreter(sys.argv[1], experimental_delegates=given)
interpreter.allocate_tensors()
interpreter.invoke()
print("done")
