# SPDX-License-Identifier: MIT
"""Writes why ONNX's tests of operators are not wholly on the device, as Documentation/onnxruntime_nodes.txt
has it: a reason, the operators with the types of their inputs, and the number of tests.

usage: node_table.py LIBRARY DEVICE

Progress and totals are printed to standard error. NNACCEL_ONNX_DATA is the folder of the test data.
"""
import collections
import csv
import io
import os
import re
import sys
import tempfile

import onnx
import onnxruntime as ort

import node_tests

AS_INPUT = "given as an input of the run; taken if it is constant"
OTHERS = "the runtime computes all nodes when it loads the model"


def types(model):
    """The types of the inputs, without repetitions."""
    found = []
    for info in model.graph.input:
        kind = info.type.tensor_type.elem_type
        name = onnx.TensorProto.DataType.Name(kind).lower() if kind else info.type.WhichOneof("value").split("_")[0]
        if name not in found:
            found.append(name)
    return " ".join(found)


def cause(report):
    """The operator that is left and why; one that does not pay is left because of another."""
    left = [line.rstrip("\n").split("\t") for line in report if line.startswith("node\t-\t")]
    left = [f for f in left if "do not pay" not in f[5]] or left
    return (left[0][2], left[0][5]) if left else ("", OTHERS)


def main(library, device):
    ort.set_default_logger_severity(4)
    ort.register_execution_provider_library(node_tests.NAME, os.path.realpath(library))
    rows = collections.defaultdict(collections.Counter)
    tests = whole = constant = 0
    with tempfile.TemporaryDirectory() as folder:
        node_tests.OPTIONS["report"] = report = os.path.join(folder, "report")
        for path in node_tests.folders():
            states, why = {}, None
            for form, test in node_tests.check(path, device):
                open(report, "w", encoding="utf-8").close()
                on, of = test()
                states[form] = on == of and on > 0
                if not form:
                    with open(report, encoding="utf-8", errors="replace") as file:
                        why = cause(file)
            if not states:
                continue
            tests += 1
            whole += states[""]
            constant += any(states.values())
            if states[""]:
                continue
            op, reason = why
            if any(states.values()):
                reason = AS_INPUT
            reason = re.sub(r"\b\d[\d.]*(\^\d+)?\b", "N", reason)
            kinds = types(onnx.load(os.path.join(path, "model.onnx")))
            rows[reason][f"{op} ({kinds})" if op else ""] += 1
    print('.. SPDX-License-Identifier: MIT\n.. csv-table::\n\t:header: "reason", "operators", "tests"\n')
    for reason, ops in sorted(rows.items(), key=lambda row: (-row[1].total(), row[0])):
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow([reason, ", ".join(sorted(o for o in ops if o)), ops.total()])
        print("\t" + line.getvalue())
    print(f"{tests} tests, {whole} wholly on {device} ({100 * whole / tests:.1f} %), {constant} with constants "
          f"({100 * constant / tests:.1f} %)", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
