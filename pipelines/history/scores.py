"""The scores of the last runs: nightly ones from the ledger, those of rebuilds from .nightjar/scores.jsonl.

A table `scores` (core/contracts) among a stage's outputs is an evaluation; a repository without one has no scores.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from nightjar.core.config import PARAMS_FILE, Model
from nightjar.core.driver_params import load_nightly
from nightjar.core.errors import NightjarError
from nightjar.core.numbers import number
from pipelines.graph import describe
from pipelines.graph.graph import Stage
from pipelines.project import places
from pipelines.project.intervals import interval
from pipelines.project.notify import append_line

if TYPE_CHECKING:
    from pipelines.flows import Shown

# Runs that a table shows.
SHOWN = 6
# The identity of a score, and what is kept of it.
NAMES = ("benchmark", "track", "system", "metric")
COLUMNS = (*NAMES, "n", "value", "low", "high")

Rows = list[dict[str, Any]]


class Run(Model):
    """The scores of one run: when it ended (seconds since 1970), its kind (rebuild, nightly), its commit as
    describe.short_commit has it."""

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

    found = [
        tables.read_rows(it, contracts.SCORES) for it in folders if (it / contracts.SCORES.name).is_dir()
    ]
    return [row for rows in found for row in _overall(rows)]


def _overall(rows: Iterable[dict[str, Any]]) -> Rows:
    return [{name: row[name] for name in COLUMNS} for row in rows if row["level"] == "overall"]


def keep(root: Path, rows: Rows) -> None:
    """Add the scores of a rebuild to the history, unless the last rebuild had the same."""
    known = _kept(root)
    if rows and not (known and known[-1].rows == rows):
        ended, commit = datetime.now(UTC).timestamp(), describe.short_commit(root)
        run = Run(ended=ended, kind="rebuild", commit=commit, rows=rows)
        append_line(root / places.SCORES, run.model_dump_json())


def _kept(root: Path) -> list[Run]:
    """The runs in the file; broken lines are skipped."""
    file, found = root / places.SCORES, []
    for line in file.read_bytes().splitlines() if file.is_file() else ():
        with contextlib.suppress(ValidationError):
            found.append(Run.model_validate_json(line))
    return [run for run in found if all(row.keys() == set(COLUMNS) for row in run.rows)]


def history(root: Path) -> list[Run]:
    """The runs with scores, the latest last, at most SHOWN."""
    runs = _kept(root)
    try:
        ledger = root / load_nightly(root / PARAMS_FILE).ledger
        if ledger.is_dir():
            runs += itertools.islice(_nights(ledger), SHOWN)
    except NightjarError:
        pass  # `nightjar ledger --check` reports it
    return sorted(runs, key=lambda run: run.ended)[-SHOWN:]


def _nights(ledger: Path) -> Iterator[Run]:
    """The nights that have scores, the latest first: one that failed has none."""
    from pipelines.history import ledger as ledgers

    for entry in reversed(ledgers.entries(ledger)):
        try:
            rows = _overall(ledgers.read(entry, "scores.parquet").to_pylist())
        except NightjarError:  # `nightjar ledger --check` reports it
            continue
        if rows:
            changed = any(Path(name).name != "dvc.lock" for name in entry["changed"])
            commit = entry["commit"][:7] + "+" * changed
            yield Run(ended=entry["ended"].timestamp(), kind="nightly", commit=commit, rows=rows)


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


def show(shown: Shown) -> None:
    """Add the table of the last runs to a flow run; nothing where no run has scores."""
    try:
        if runs := history(shown.root):
            about = "The scores of the last rebuilds and nightlies, with intervals, the latest first"
            shown.artifact("table", "scores-history", table(runs), about)
    except Exception as error:  # a broken ledger
        shown.log(f"no table of the scores: {error}", "warning")


def text(row: Mapping[str, Any]) -> str:
    """A score with its interval and its instances: "44.3 [38.1, 50.6] n 192"."""
    return f"{number(row['value'], 1)} {interval(row)}" + ("" if row["low"] is None else f" n {row['n']}")
