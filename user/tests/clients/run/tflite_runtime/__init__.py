# SPDX-License-Identifier: MIT
"""Stands in for the package tflite_runtime, which Debian does not have."""
__version__ = "2.14.1"
