# SPDX-License-Identifier: MIT
"""Models that people use on a device, beside their runtime's own CPU: whether outputs are right, and what
nnaccel explain says of them. Prints TAP.

usage: check.py FOLDER DEVICE [NAME...]

FOLDER has the models, as scripts/models prints it. Without names, all of the table are tried and, on a device
that is not the CPU, those that the table has for the VM. NNACCEL_LOADER is a command that runs a program
with the libraries of the runtimes, NNACCEL_NODE the folder of scripts/onnxruntime --node, or empty.
"""
import glob
import json
import os
import shlex
import subprocess
import sys

import numpy as np
import onnxruntime as ort

import runtimes
import table


NNACCEL = os.path.join(runtimes.BUILD, "bin/nnaccel")
NODE = os.environ.get("NNACCEL_NODE")


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def explained(row, path, device, is_new):
    """What nnaccel explain says is as in the table; returns that in words."""
    if is_new:
        library = glob.glob(os.path.join(NODE, "node_modules/onnxruntime-node/bin/*/*/*/libonnxruntime.so*"))[0]
        done = run(NNACCEL, "explain", "--json", "--device", device, "--runtime", library, path)
    else:
        done = run(*shlex.split(os.environ["NNACCEL_LOADER"]), NNACCEL, "explain", "--json", "--device", device, path)
    if done.returncode:
        raise ValueError(f"nnaccel explain: {done.stderr.strip().splitlines()[-1]}")
    told = json.loads(done.stdout)
    share, parts = 100 * told["multiply_adds_on_device"] / max(told["multiply_adds"], 1), len(told["partitions"])
    least, most = (word.split("/")[-1 if is_new else 0] for word in (row.share, row.parts))
    if share < float(least) or parts > int(most):
        raise ValueError(f"{share:.1f} % of multiply-adds in {parts} parts of {told['runtime']}, "
                         f"not {least} % in {most}")
    return f"{share:.1f} % of multiply-adds in {parts} part{'s' * (parts != 1)}"


def in_node(path, device, model, inputs):
    """Outputs of onnxruntime-node on the device."""
    given = [[name, "int64" if kind == np.int64 else "float32", i.shape, i.ravel().tolist()]
             for (name, kind, _), i in zip(model.inputs, inputs)]
    done = run(NNACCEL, "run", "--device", device, "--", "node",
               os.path.join(os.path.dirname(os.path.abspath(__file__)), "session.js"), NODE, path,
               text=json.dumps(given))
    if done.returncode:
        raise ValueError(f"node: {done.stderr.strip().splitlines()[-1]}")
    return [np.array(numbers, kind).reshape(shape) for _, kind, shape, numbers in json.loads(done.stdout)]


def check(row, folder, device):
    path = row.path(folder)
    said = explained(row, path, device, False)
    is_new = NODE and "/" in row.share
    if is_new:
        said += "; " + explained(row, path, device, True)
    tried = runtimes.load(path, device)
    inputs = runtimes.inputs_of(row, tried)
    got = [np.array(g) for g in tried.run(inputs)]
    tried.close()
    if row.apart == "lacks":
        if not all(np.all(np.isfinite(g)) and (g.size == 1 or np.ptp(g) > 0) for g in got):
            raise ValueError("an output is not finite, or all its numbers are equal")
        return said
    reference = runtimes.load(path, None)
    want = reference.run(inputs)
    if not any(np.any(w) for w in want):
        raise ValueError("all outputs are 0: this shows nothing")
    apart = runtimes.difference(got, want)
    reference.close()
    if is_new:
        apart = max(apart, runtimes.difference(in_node(path, device, tried, inputs), want))
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
            print(f"ok - models: {row.name} on {device}: {said}", flush=True)
        except Exception as error:  # each model is a test of its own
            bad += 1
            reason = (str(error).strip() or repr(error)).splitlines()[0]
            print(f"not ok - models: {row.name} on {device}: {reason}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
