# SPDX-License-Identifier: MIT
"""Checks a trace that NNACCEL_TRACE wrote, and counts its slices by name.

usage: tracefile.py [--flow] FILE

Slices are closed, times of a thread do not fall, and each process and thread has a name. With --flow, one
flow at least leads from a slice of the runtime to one of the engine. A file without its end can be checked too.
"""
import collections
import json
import sys


def events(text):
    """The events of the array, whose end the format lets be missing."""
    if not text.startswith("["):
        raise ValueError("no array")
    if not text.rstrip().endswith("]"):
        text = text.rstrip().rstrip(",") + "]"
    return json.loads(text)


def check(text, flow=False):
    """Raises ValueError, or returns how many slices of each name there are."""
    slices = collections.Counter()
    open_slices = collections.defaultdict(list)
    last, processes, threads, flows, ended = {}, set(), set(), {}, 0
    for event in events(text):
        track = event["pid"], event["tid"]
        if event["ph"] == "M":
            if not event["args"]["name"]:
                raise ValueError(f"an empty name: {event}")
            (processes if event["name"] == "process_name" else threads).add(
                track[0] if event["name"] == "process_name" else track)
            continue
        if track[0] not in processes or track not in threads:
            raise ValueError(f"a process or thread has no name: {event}")
        if event["ts"] < last.get(track, 0):
            raise ValueError(f"before the last time of its thread: {event}")
        last[track] = event["ts"]
        if event["ph"] == "B":
            open_slices[track].append(event)
            slices[event["name"]] += 1
        elif event["ph"] == "E":
            if not open_slices[track] or event["name"] != open_slices[track][-1]["name"]:
                raise ValueError(f"does not end what began last: {event}")
            open_slices[track].pop()
        elif event["ph"] in "sf" and not open_slices[track]:
            raise ValueError(f"in no slice: {event}")
        if event["ph"] == "s":
            flows[event["id"]] = event
        elif event["ph"] == "f":
            begin = flows.pop(event["id"], None)
            if not begin or (begin["cat"], event["cat"]) != ("runtime", "engine") or begin["ts"] > event["ts"]:
                raise ValueError(f"a flow from nowhere: {event}")
            ended += 1
    left = [e for track in open_slices.values() for e in track] + list(flows.values())
    if left:
        raise ValueError(f"has not ended: {left[0]}")
    if flow and not ended:
        raise ValueError("no flow")
    return slices


def main():
    arguments = [a for a in sys.argv[1:] if a != "--flow"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    with open(arguments[0], encoding="utf-8") as file:
        for name, count in check(file.read(), "--flow" in sys.argv).items():
            print(f"{count}\t{name}")


if __name__ == "__main__":
    main()
