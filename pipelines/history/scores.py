"""The scores of rebuilds and nightlies: a line for each run in .nightjar/scores.jsonl, which `keep` alone writes.

A table `scores` (core/contracts.py) among a stage's outputs is an evaluation; a repository without one has no scores.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from pipelines.project.text import interval

# Runs that a table shows.
SHOWN = 6
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

    @property
    def title(self) -> str:
        """The head of its column."""
        when = datetime.fromtimestamp(self.ended, UTC)
        return f"{when:%Y-%m-%d %H:%M} {self.kind} {self.commit}".rstrip()


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


def history(root: Path) -> list[Run]:
    """The runs with scores, the latest last, at most SHOWN. Broken lines are skipped."""
    return list(itertools.islice(_latest(root), SHOWN))[::-1]


def _latest(root: Path) -> Iterator[Run]:
    file = root / paths.RUN_SCORES
    for line in reversed(file.read_bytes().splitlines() if file.is_file() else []):
        with contextlib.suppress(ValidationError):
            run = Run.model_validate_json(line)
            if all(row.keys() == set(COLUMNS) for row in run.rows):
                yield run


def table(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """A row a score, systems side by side; a column a run, the latest first: "44.3 [38.1, 50.6] n 192"."""
    columns: dict[str, dict[tuple[Any, ...], str]] = {}
    for run in reversed(runs):
        title = run.title
        while title in columns:
            title += "'"
        columns[title] = {tuple(row[name] for name in NAMES): text(row) for row in run.rows}
    keys = dict.fromkeys(key for cells in columns.values() for key in cells)
    return [
        dict(zip(NAMES, key, strict=True)) | {title: cells.get(key, "") for title, cells in columns.items()}
        for key in sorted(keys, key=lambda key: (key[0], key[1], key[3]))
    ]


def text(row: Mapping[str, Any]) -> str:
    """A score with its interval and its instances: "44.3 [38.1, 50.6] n 192"."""
    return f"{number(row['value'], 1)} {interval(row)}" + ("" if row["low"] is None else f" n {row['n']}")
