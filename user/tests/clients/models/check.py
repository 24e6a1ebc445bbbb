# SPDX-License-Identifier: MIT
"""Models that people use on a device, beside their runtime's own CPU: whether outputs are right, and what
nnaccel explain says of them. Prints TAP.

usage: check.py FOLDER DEVICE [NAME...]

FOLDER has the models, as scripts/models prints it. Without names, all of the table are tried and, on a device
that is not the CPU, those that the table has for the VM. NNACCEL_LOADER is a command that runs a program
with the libraries of the runtimes.
"""
import json
import os
import shlex
import subprocess
import sys

import numpy as np
import onnxruntime as ort

import runtimes
import table


def explained(row, path, device):
    """What nnaccel explain says: the share of multiply-adds in per cent, and the number of partitions."""
    done = subprocess.run([*shlex.split(os.environ["NNACCEL_LOADER"]), os.path.join(runtimes.BUILD, "bin/nnaccel"),
                           "explain", "--json", "--device", device, path], capture_output=True, text=True, check=False)
    if done.returncode:
        if row.apart == "lacks" and "unresolved custom op" in done.stderr:
            return None
        raise ValueError(f"nnaccel explain: {done.stderr.strip().splitlines()[-1]}")
    told = json.loads(done.stdout)
    return 100 * told["multiply_adds_on_device"] / max(told["multiply_adds"], 1), len(told["partitions"])


def check(row, folder, device):
    path = row.path(folder)
    told = explained(row, path, device)
    if not told:
        return "# SKIP its runtime lacks an operation"
    share, parts = told
    if share < float(row.share) or parts > int(row.parts):
        raise ValueError(f"{share:.1f} % of multiply-adds in {parts} parts, not {row.share} % in {row.parts}")
    tried = runtimes.load(path, device)
    inputs = runtimes.inputs_of(row, tried)
    got = [np.array(g) for g in tried.run(inputs)]
    tried.close()
    said = f"{share:.1f} % of multiply-adds in {parts} part{'s' * (parts != 1)}"
    if row.apart == "lacks":
        if not all(np.all(np.isfinite(g)) and np.ptp(g) > 0 for g in got):
            raise ValueError("an output is not finite, or one number")
        return said
    reference = runtimes.load(path, None)
    want = reference.run(inputs)
    if not any(np.any(w) for w in want):
        raise ValueError("all outputs are 0: this shows nothing")
    apart = runtimes.difference(got, want)
    reference.close()
    if not apart <= float(row.apart):
        raise ValueError(f"outputs differ by {apart:.2g} of the largest, at most {row.apart} is allowed")
    return f"{said}, differs by {apart:.1g}"


def main():
    folder, device, *names = sys.argv[1:]
    ort.set_default_logger_severity(4)
    bad = 0
    for row in table.rows():
        if row.name not in names if names else device == "nnaccel" and row.where != "vm":
            continue
        try:
            said = check(row, folder, device)
            print(f"ok - models: {row.name} on {device}{' ' if said[0] == '#' else ': '}{said}", flush=True)
        except Exception as error:  # each model is a test of its own
            bad += 1
            reason = (str(error).strip() or repr(error)).splitlines()[0]
            print(f"not ok - models: {row.name} on {device}: {reason}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
