# SPDX-License-Identifier: MIT
"""Writes FlatBuffers: tables as dictionaries of field number to value."""
import struct


class Scalar:
    """A number of a struct format: b B i I f q."""

    def __init__(self, kind, value):
        self.kind = kind
        self.value = value


class Vector:
    """Numbers of one format; bytes for B. `align` is that of the first element."""

    def __init__(self, kind, values, align=4):
        self.kind = kind
        self.values = values
        self.align = align


class Writer:
    """Everything follows what refers to it, so offsets are patched in as they are known."""

    def __init__(self):
        self.data = bytearray()

    def pad(self, align, ahead=0):
        while (len(self.data) + ahead) % align:
            self.data.append(0)

    def patch(self, at):
        struct.pack_into("<I", self.data, at, len(self.data) - at)

    def table(self, fields, at):
        fields = {i: f for i, f in fields.items() if f is not None}
        count = max(fields, default=-1) + 1
        self.pad(8, 4 + 2 * count)
        vtable = len(self.data)
        self.data += bytes(4 + 2 * count)
        start = len(self.data)
        struct.pack_into("<I", self.data, at, start - at)
        self.data += struct.pack("<i", start - vtable)
        offsets = []
        for i in sorted(fields, key=lambda i: -self.size(fields[i])):
            self.pad(self.size(fields[i]))
            struct.pack_into("<H", self.data, vtable + 4 + 2 * i, len(self.data) - start)
            if isinstance(fields[i], Scalar):
                self.data += struct.pack("<" + fields[i].kind, fields[i].value)
            else:
                offsets.append((len(self.data), fields[i]))
                self.data += bytes(4)
        struct.pack_into("<HH", self.data, vtable, start - vtable, len(self.data) - start)
        for at, value in offsets:
            self.value(value, at)

    @staticmethod
    def size(value):
        return struct.calcsize(value.kind) if isinstance(value, Scalar) else 4

    def value(self, value, at):
        if isinstance(value, dict):
            self.table(value, at)
        elif isinstance(value, Vector):
            size = struct.calcsize(value.kind)
            self.pad(max(value.align, size, 4), 4)
            self.patch(at)
            self.data += struct.pack("<I", len(value.values))
            if isinstance(value.values, (bytes, bytearray)):
                self.data += value.values
            else:
                self.data += struct.pack("<%d%s" % (len(value.values), value.kind), *value.values)
        elif isinstance(value, str):
            self.pad(4)
            self.patch(at)
            self.data += struct.pack("<I", len(value)) + value.encode() + b"\0"
        else:
            self.pad(4)
            self.patch(at)
            self.data += struct.pack("<I", len(value))
            first = len(self.data)
            self.data += bytes(4 * len(value))
            for i, item in enumerate(value):
                self.value(item, first + 4 * i)


def write(root, identifier):
    writer = Writer()
    writer.data += bytes(4) + identifier
    writer.table(root, 0)
    writer.pad(16)
    return bytes(writer.data)
