# SPDX-License-Identifier: MIT
"""Reads the table of models beside this file, which explains its columns."""
import collections
import os

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "table")


class Row(collections.namedtuple("Row", "name package licence file sha256 inputs apart share parts where")):
    def path(self, folder):
        return os.path.join(folder, self.name + (".tflite" if self.file.endswith(".tflite") else ".onnx"))

    def given(self):
        """Shapes, or a number, of inputs by name."""
        words = [] if self.inputs == "-" else self.inputs.split(";")
        return {name: [int(n) for n in value.split(",")] for name, value in (w.split("=") for w in words)}


def rows():
    with open(PATH, encoding="ascii") as file:
        return [Row(*line.rstrip("\n").split("\t")) for line in file if line.strip() and line[0] != "#"]
