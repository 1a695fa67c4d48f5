"""The local history of runs: how long each stage took, a line of JSON a run in .nightjar/history.jsonl.

Whoever starts a stage writes its line: a driver that times the whole run says so in the environment of the stage,
which then writes none itself. So no run is counted twice.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import time
from pathlib import Path

from stages.files import own_folder
from stages.json_text import parse

HISTORY = Path(".nightjar/history.jsonl")
# In the environment of a stage whose driver writes the line.
TIMED = "NIGHTJAR_TIMED"
# The end of the file is all that is read: some 5,000 runs, however long it has grown.
READ_BYTES = 500_000
# The expected seconds are the median of so many of the latest runs.
LATEST = 5


def append(root: Path, stage: str, seconds: float, status: str) -> None:
    """Add a line to the history of the project at `root`; `status` is `done` where the run ended well.

    One short write at the end of the file: the lines of stages that run side by side do not mix, and one that a full
    disk cut short takes no other with it. Raises OSError.
    """
    file = root / HISTORY
    own_folder(root)
    entry = {"stage": stage, "seconds": round(seconds, 3), "status": status, "ended": round(time.time())}
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, (("\n" if torn else "") + json.dumps(entry) + "\n").encode())
    finally:
        os.close(descriptor)


def expected(root: Path) -> dict[str, float]:
    """How long each stage is expected to take, in seconds: the median of its latest good runs. Broken lines are
    passed over.
    """
    runs: dict[str, list[float]] = {}
    try:
        with (root / HISTORY).open("rb") as file:
            file.seek(-min(READ_BYTES, file.seek(0, os.SEEK_END)), os.SEEK_END)
            lines = file.read(READ_BYTES).splitlines()
    except FileNotFoundError:
        return {}
    for line in lines:
        try:
            entry = parse(line)
            seconds = float(entry["seconds"])
            if entry["status"] == "done" and math.isfinite(seconds):
                runs.setdefault(str(entry["stage"]), []).append(max(seconds, 0.0))
        except (ValueError, KeyError, TypeError):
            continue
    return {stage: statistics.median(found[-LATEST:]) for stage, found in runs.items()}
