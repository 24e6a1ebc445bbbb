# SPDX-License-Identifier: MIT
"""Files of graphs with the outputs that a runtime computes: ../onnxruntime_nodes.def and
../tflite_nodes.def, which say what their words mean. record.py of each runtime runs them."""
import re

ENTRY = re.compile(r'^([A-Z]+)\(((?:\s*"[^"]*")+)(?:,((?:\s*"[^"]*")+))?(?:,\s*"([^"]*)")?(?:,\s*(\d+))?\)$', re.M)


def numbers(name, letter, count, how):
    """What ../recorded.h makes for a tensor."""
    state, found = 1, []
    for c in name:
        state = (state * 31 + ord(c)) % 2 ** 32
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2 ** 32
        r = state >> 24
        if letter in "fhd":
            found.append(((r >> 2) + 1) / 16 if how == "+" else
                         ((r >> 2) - 32) / (64 if how == "~" else 16))
        elif letter in "il":
            found.append((r >> 4) + 1 if how == "+" else ((r >> 4) - 8) * (64 if how == "*" else 1))
        elif letter == "b":
            found.append(r >> 7)
        elif letter == "w":
            found.append((r - 128) * 64)
        else:
            found.append(r - 128 if letter == "s" else r)
    return found


def shown(value):
    if isinstance(value, int) or getattr(value, "dtype", None) is not None and value.dtype.kind in "iu":
        return str(int(value))
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e6 else f"{float(value):.6g}"


def wrapped(text):
    lines, line = [], ""
    for word in text.split(" "):
        if len(line) + len(word) + 1 > 86:
            lines.append(line)
            line = ""
        line += word + " "
    return "\n\t".join(f'"{part}"' for part in lines + [line[:-1]])


def joined(text):
    return "".join(re.findall(r'"([^"]*)"', text or ""))


def check(path, write, run):
    """Runs each graph: run(kind, graph, outputs) returns the outputs if there are none so far, and
    what is wrong. Prints TAP, and writes the outputs to the file. Returns an exit status."""
    with open(path, encoding="ascii") as file:
        text = file.read()
    bad = count = 0

    def one(match):
        nonlocal bad, count
        kind, graph, outputs, reason = match[1], joined(match[2]), joined(match[3]), match[4]
        print("#", graph, flush=True)
        count += 1
        try:
            outputs, wrong = run(kind, graph, "" if outputs == "?" else outputs)
        except Exception as error:  # each graph is a test of its own
            wrong = str(error).split("\n", maxsplit=1)[0]
        if wrong:
            bad += 1
            print(f"not ok - {graph}: {wrong}")
        parts = [wrapped(graph)] + ([wrapped(outputs)] if outputs or match[3] else [])
        return f"{kind}({','.join(part if not i else chr(10) + chr(9) + part for i, part in enumerate(parts))}" + \
            (f',\n\t"{reason}"' if reason is not None else "") + (f", {match[5]})" if match[5] else ")")

    text = ENTRY.sub(one, text)
    if write:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    print(f"{'not ok' if bad or not count else 'ok'} - {count} graphs, {bad} with other outputs")
    return 1 if bad or not count else 0
