"""The scores of rebuilds and nightlies: a line for each run in .nightjar/scores.jsonl, which `keep` alone writes.

A table `scores` (core/contracts.py) among a stage's outputs is an evaluation; a repository without one has no scores.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nightjar.core import paths
from nightjar.core.config import Model
from nightjar.core.display import number
from pipelines.graph.graph import Stage
from pipelines.project import git
from pipelines.project.notify import append_line
from pipelines.project.text import interval, table, track_title

# Runs in which the earlier value of a score is looked for.
EARLIER = 6
# The identity of a score, and what is kept of it.
NAMES = ("benchmark", "track", "system", "metric")
COLUMNS = (*NAMES, "n", "value", "low", "high")

Rows = list[dict[str, Any]]


class Run(Model):
    """The scores of one run: when it ended (seconds since 1970), its kind (rebuild, nightly), its commit as
    git.short_commit has it."""

    ended: float
    kind: str
    commit: str
    rows: Rows


def present(root: Path, stages: Iterable[Stage]) -> Rows:
    """The scores over whole benchmarks in the stages' outputs."""
    folders = [path for stage in stages for out in stage.outs if (path := root / out).is_dir()]
    if not folders:
        return []
    # Here, not above: Arrow takes long to load, and a repository without tables does without it.
    from nightjar.core import contracts, tables

    found = [it for it in folders if (it / contracts.SCORES.name).is_dir()]
    return [row for it in found for row in overall(tables.read_rows(it, contracts.SCORES))]


def overall(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """What is kept of the rows of contracts.SCORES or LEDGER_SCORES."""
    return [{name: row[name] for name in COLUMNS} for row in rows if row["level"] == "overall"]


def keep(root: Path, rows: Rows, kind: str = "rebuild") -> None:
    """Add the scores of a run to the history; those of a rebuild only if the last rebuild had others.

    Raises OSError.
    """
    before = next((run.rows for run in _latest(root) if run.kind == kind), None)
    if rows and not (kind == "rebuild" and before == rows):
        ended, commit = datetime.now(UTC).timestamp(), git.short_commit(root)
        run = Run(ended=ended, kind=kind, commit=commit, rows=rows)
        append_line(root / paths.RUN_SCORES, run.model_dump_json())


def before(root: Path, kind: str = "rebuild") -> dict[tuple[str, ...], float]:
    """The last value of each score in earlier runs of that kind, by NAMES."""
    found: dict[tuple[str, ...], float] = {}
    for run in itertools.islice((run for run in _latest(root) if run.kind == kind), EARLIER):
        for row in run.rows:
            found.setdefault(_names(row), row["value"])
    return found


def _latest(root: Path) -> Iterator[Run]:
    file = root / paths.RUN_SCORES
    for line in reversed(file.read_bytes().splitlines() if file.is_file() else []):
        with contextlib.suppress(ValidationError):
            run = Run.model_validate_json(line)
            if all(row.keys() == set(COLUMNS) for row in run.rows):
                yield run


def _names(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in NAMES)


def first_metrics(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first metric of each system on each track."""
    found: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for row in rows:
        found.setdefault(_names(row)[:-1], row)
    return list(found.values())


def page(rows: Iterable[Mapping[str, Any]], earlier: Mapping[tuple[str, ...], float]) -> list[str]:
    """The lines of a table in Markdown for each benchmark: a row a track, a column a system, the first metric of each
    with its interval and its change: "59.3 [52.1, 65.8] n 144, +0.2".
    """
    tables: dict[str, dict[tuple[str, str], dict[str, str]]] = {}
    for row in first_metrics(rows):
        known = earlier.get(_names(row))
        change = "" if known is None else f", {number(row['value'] - known, 1, signed=True)}"
        of_track = tables.setdefault(row["benchmark"], {}).setdefault((track_title(row), row["metric"]), {})
        of_track[row["system"]] = text(row) + change
    lines = []
    for benchmark, tracks in tables.items():
        systems = dict.fromkeys(system for cells in tracks.values() for system in cells)
        own = [
            {"track": track, "metric": metric} | {system: cells.get(system, "") for system in systems}
            for (track, metric), cells in tracks.items()
        ]
        lines += [f"### {benchmark}", "", *table(own), ""]
    return lines


def text(row: Mapping[str, Any]) -> str:
    """A score with its interval and its instances: "44.3 [38.1, 50.6] n 192"."""
    return f"{number(row['value'], 1)} {interval(row)}" + ("" if row["low"] is None else f" n {row['n']}")
