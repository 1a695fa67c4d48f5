"""The local history of runs: how long each stage took for how many rows, a line of JSON a run in
.nightjar/history.jsonl.

Whoever starts a stage writes its line: a driver that times the whole run says so in the environment of the stage,
which then writes none itself. So no run is counted twice.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.core import cost
from nightjar.core.errors import NightjarError
from nightjar.core.files import own_folder
from nightjar.core.json_text import parse

HISTORY = Path(".nightjar/history.jsonl")
# In the environment of a stage whose driver writes the line.
TIMED = "NIGHTJAR_TIMED"
# The end of the file is all that is read: some 5,000 runs, however long it has grown.
READ_BYTES = 500_000
# The expected seconds are the median of so many of the latest runs.
LATEST = 5


@dataclass(frozen=True)
class Run:
    """A good run of a stage: its seconds, how many rows it worked on, and the settings that decide the time of a row
    (see cost.py). `size` and `settings` are None where they were not recorded.
    """

    seconds: float
    size: float | None = None
    settings: Mapping[str, Any] | None = None


def append(root: Path, stage: str, seconds: float, status: str) -> None:
    """Add a line to the history of the project at `root`; `status` is `done` where the run ended well.

    One short write at the end of the file: the lines of stages that run side by side do not mix, and one that a full
    disk cut short takes no other with it. Raises OSError.
    """
    file = root / HISTORY
    own_folder(root)
    entry: dict[str, Any] = {"stage": stage, "seconds": round(seconds, 3), "status": status}
    entry |= {"ended": round(time.time())} | (_work(root, stage) if status == "done" else {})
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, (("\n" if torn else "") + json.dumps(entry) + "\n").encode())
    finally:
        os.close(descriptor)


def _work(root: Path, stage: str) -> dict[str, Any]:
    """How many rows the stage has just worked on, and by which settings."""
    from nightjar.core.config import PARAMS_FILE, read_optional  # here, not above: it takes long to load

    try:
        params = read_optional(root / PARAMS_FILE)
    except NightjarError:
        return {}
    known = cost.of(stage, params)
    if known is None:
        return {}
    return {"size": cost.size(root, known, params), "settings": cost.settings(known, params)}


def runs(root: Path) -> dict[str, list[Run]]:
    """The good runs of each stage, the latest last. Broken lines are skipped."""
    found: dict[str, list[Run]] = {}
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
                run = Run(max(seconds, 0.0), _size(entry.get("size")), _settings(entry.get("settings")))
                found.setdefault(str(entry["stage"]), []).append(run)
        except (ValueError, KeyError, TypeError):
            continue
    return found


def _size(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) and value > 0 else None


def _settings(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def expected(root: Path) -> dict[str, float]:
    """The median seconds of the latest good runs of each stage, whatever their size."""
    return {
        stage: statistics.median(run.seconds for run in found[-LATEST:])
        for stage, found in runs(root).items()
    }
