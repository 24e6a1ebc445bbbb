# SPDX-License-Identifier: MIT
"""Times networks on the execution provider and on ONNX Runtime's CPU provider (MLAS), which take
turns in one process. The threads of ONNX Runtime wait busily; between two turns they fall asleep. Prints a
line for each: the best time of each in ms, their ratio, and the ratio of the CPU time of all threads, which
other load disturbs less.

usage: bench.py LIBRARY DEVICE FOLDER

FOLDER has what quantise.py and encoders.py write. Both use as many threads as the process may use CPUs.
"""
import glob
import os
import sys
import time

import numpy as np
import onnxruntime as ort

NAME = "nnaccel"
TURNS, TURN, PAUSE = 12, 0.4, 0.05  # of both together; seconds


def session(path, device, threads):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    if not device:
        return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    options.add_provider_for_devices(
        [d for d in ort.get_ep_devices()
         if d.ep_name == NAME and d.ep_metadata["device"] == device], {})
    return ort.InferenceSession(path, options, enable_fallback=0)


def numbers(value):
    """Random floats, or integers that are 0 or 1."""
    random = np.random.default_rng(1)
    if "float" in value.type:
        return random.standard_normal(value.shape).astype(np.float32)
    return random.integers(0, 2, value.shape)


def cpu():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if "model name" in line), "?")


def main():
    library, device, folder = sys.argv[1:4]
    threads = len(os.sched_getaffinity(0))
    ort.set_default_logger_severity(4)
    ort.register_execution_provider_library(NAME, os.path.realpath(library))
    for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
        begun = time.perf_counter()
        ours = session(path, device, threads)
        start = time.perf_counter() - begun
        sessions = [ours, session(path, None, threads)]
        inputs = {i.name: numbers(i) for i in ours.get_inputs()}
        best, cpu_best = [1e9, 1e9], [1e9, 1e9]
        first = time.perf_counter()
        results = [sessions[0].run(None, inputs)]
        first = time.perf_counter() - first
        results.append(sessions[1].run(None, inputs))
        for turn in range(TURNS):
            i = turn % 2
            time.sleep(PAUSE)
            sessions[i].run(None, inputs)
            end = time.perf_counter() + TURN
            while time.perf_counter() < end:
                begun, cpu_begun = time.perf_counter(), time.process_time()
                sessions[i].run(None, inputs)
                best[i] = min(best[i], time.perf_counter() - begun)
                cpu_best[i] = min(cpu_best[i], time.process_time() - cpu_begun)
        apart = max(np.max(np.abs(a.astype(np.float64) - b)) / max(np.max(np.abs(b)), 1e-30)
                    for a, b in zip(*results))
        name = os.path.basename(path)[:-len(".onnx")]
        print(f"{name}\t{threads}\t{1e3 * best[0]:.2f}\t{1e3 * best[1]:.2f}\t"
              f"{best[0] / best[1]:.2f}\t{cpu_best[0] / cpu_best[1]:.2f}\t{1e3 * start:.0f}\t{1e3 * first:.2f}\t{apart:.2g}\t"
              f"{cpu()}", flush=True)


if __name__ == "__main__":
    print("network\tthreads\tnnaccel ms\tMLAS ms\tratio\tCPU ratio\tsession ms\tfirst ms\tapart\tCPU")
    sys.exit(main())
