"""The local history of runs: the seconds and rows of each good run of a stage, a line of JSON a run in
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
from pathlib import Path

from nightjar.core import paths
from nightjar.core.files import own_folder
from nightjar.core.json_text import parse

# In the environment of a stage whose driver writes the line.
TIMED = "NIGHTJAR_TIMED"
# The end of the file is all that is read: some 5,000 runs, however long it has grown.
READ_BYTES = 500_000
# The expected seconds are the median of so many of the latest runs, which had at most so many times more or fewer rows.
LATEST, FACTOR = 5, 2


def append(root: Path, stage: str, seconds: float) -> None:
    """Add a good run to the history of the project at `root`, with the rows that the facts of the stage have.

    One short write at the end of the file: the lines of stages that run side by side do not mix. The break before each
    line ends one that a full disk cut short. Raises OSError.
    """
    own_folder(root)
    entry = {
        "stage": stage,
        "seconds": round(seconds, 3),
        "rows": _rows(root, stage),
        "time": round(time.time()),
    }
    with (root / paths.HISTORY).open("ab", buffering=0) as file:
        file.write(f"\n{json.dumps(entry)}".encode())


def expected(root: Path) -> dict[str, float]:
    """The median seconds of the latest good runs of each stage with about as many rows as now.

    A stage has now the rows that its facts have, or else those of its latest run. Stages of other projects have none. A
    stage without such a run is left out.
    """
    medians = {}
    for stage, runs in _runs(root).items():
        rows = _rows(root, stage)
        now = runs[-1][1] if rows is None else rows
        similar = [seconds for seconds, had in runs if _about(had, now)]
        if similar:
            medians[stage] = statistics.median(similar[-LATEST:])
    return medians


def _about(rows: int | None, other_rows: int | None) -> bool:
    if rows is None or other_rows is None:
        return rows is other_rows
    return max(rows, other_rows) <= FACTOR * min(rows, other_rows)


def _runs(root: Path) -> dict[str, list[tuple[float, int | None]]]:
    """The seconds and rows of the runs of each stage, the latest last. Broken lines are skipped."""
    stage_runs: dict[str, list[tuple[float, int | None]]] = {}
    try:
        with (root / paths.HISTORY).open("rb") as file:
            file.seek(-min(READ_BYTES, file.seek(0, os.SEEK_END)), os.SEEK_END)
            lines = file.read(READ_BYTES).splitlines()
    except FileNotFoundError:
        return {}
    for line in lines:
        try:
            entry = parse(line)
            stage, seconds, rows = entry["stage"], float(entry["seconds"]), entry["rows"]
            if isinstance(stage, str) and math.isfinite(seconds) and (rows is None or _is_count(rows)):
                stage_runs.setdefault(stage, []).append((max(seconds, 0.0), rows))
        except (ValueError, KeyError, TypeError, OverflowError):
            continue
    return stage_runs


def _rows(root: Path, stage: str) -> int | None:
    """The rows that went into the last run of a stage, by its facts; None where they do not say."""
    try:
        rows = parse((root / paths.metrics_file(stage)).read_bytes())["rows_in"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return rows if _is_count(rows) else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 0
