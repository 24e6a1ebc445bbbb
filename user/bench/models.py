# SPDX-License-Identifier: MIT
"""Models that people use, on nnapi-reference and on the CPU of their runtime, which take turns in one
process: the shortest run. Threads of a runtime wait busily; between two turns they fall asleep. A process of
its own for each side says how long it takes to load a model and run it once, and its peak of memory. Prints
figures as the other benchmarks do.

usage: models.py FOLDER [NAME...]

scripts/guest/models runs it. Both use as many threads as the process may use CPUs. A line at the end has the
median of the ratios, and models that take more than 1.1 times as long and 20 us more.
"""
import os
import statistics
import subprocess
import sys
import time

import onnxruntime as ort

import runtimes
import table

DEVICE = "nnapi-reference"
TURNS, TURN, PAUSE = 6, 0.5, 0.05  # of both together; seconds
THREADS = len(os.sched_getaffinity(0))


def peak():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def once(row, folder, side):
    """In a process of its own: the time to the first result in ms, and the peak of memory in MB."""
    begun = time.perf_counter()
    model = runtimes.load(row.path(folder), DEVICE if side == "device" else None, THREADS)
    inputs = runtimes.inputs_of(row, model)
    model.run(inputs)
    print(1e3 * (time.perf_counter() - begun), peak())


def first(row, folder, side):
    command = [*os.environ["NNACCEL_LOADER"].split(), os.path.join(os.environ["PYTHONHOME"], "bin/python3"),
               os.path.abspath(__file__), folder, "--once", row.name, side]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(n) for n in done.stdout.split()]


def runs(row, folder):
    """The shortest run of both in ms."""
    models = [runtimes.load(row.path(folder), device, THREADS) for device in (DEVICE, None)]
    inputs, best = runtimes.inputs_of(row, models[0]), [1e9, 1e9]
    for turn in range(TURNS):
        i = turn % 2
        time.sleep(PAUSE)
        models[i].run(inputs)
        end = begun = time.perf_counter()
        while begun < end + TURN:
            models[i].run(inputs)
            now = time.perf_counter()
            best[i] = min(best[i], 1e3 * (now - begun))
            begun = now
    for model in models:
        model.close()
    return best


def main():
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__, end="")
        return 0
    folder, *names = sys.argv[1:]
    ort.set_default_logger_severity(4)
    if names[:1] == ["--once"]:
        row = next(r for r in table.rows() if r.name == names[1])
        return once(row, folder, names[2])
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = next((line.split(":")[1].strip() for line in file if "model name" in line), "?")
    print(f"# {cpu}; {runtimes.versions()}")
    ratios, slow = [], []
    for row in table.rows():
        if row.apart == "lacks" or (names and row.name not in names):
            continue
        ours, theirs = runs(row, folder)
        (first_ours, peak_ours), (first_theirs, peak_theirs) = (first(row, folder, s) for s in ("device", "cpu"))
        ratios.append(ours / theirs)
        if ours > 1.1 * theirs and ours > theirs + 0.02:
            slow.append(row.name)
        for figure, unit, a, b in (("run", "ms", ours, theirs), ("first", "ms", first_ours, first_theirs),
                                   ("peak", "MB", peak_ours, peak_theirs)):
            print(f"{row.name}_{figure}_{THREADS}t\t{a:.4g}\t{unit}\truntime\t{b:.4g}\t{a / b:.3f}\tnative", flush=True)
    print(f"# {THREADS} threads: median {statistics.median(ratios):.2f}; slow: {' '.join(slow) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
