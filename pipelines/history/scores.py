"""The scores of the last runs: nightly ones from the ledger, those of rebuilds from .nightjar/scores.jsonl.

A table `scores` (core/contracts) among a stage's outputs is an evaluation; a repository without one has no scores.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightjar.core.config import PARAMS_FILE
from nightjar.core.driver_params import load_nightly
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import parse
from pipelines.graph import describe
from pipelines.graph.graph import Stage
from pipelines.project import places
from pipelines.project.notify import append_line

# Runs that a table and a plot show.
SHOWN = 6
# What a score is called by, and what is kept of it.
NAMES = ("benchmark", "track", "system", "metric")
COLUMNS = (*NAMES, "n", "value", "low", "high")

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Run:
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
    """The scores over whole benchmarks that the stages' outputs hold now."""
    folders = [path for stage in stages for out in stage.outs if (path := root / out).is_dir()]
    if not folders:
        return []
    # Here, not above: Arrow takes long to load, and a repository without tables does without it.
    from nightjar.core import contracts, tables

    found: Rows = []
    for path in folders:
        if (path / contracts.SCORES.name).is_dir():
            found += _overall(tables.read_rows(path, contracts.SCORES))
    return found


def _overall(rows: Iterable[dict[str, Any]]) -> Rows:
    return [{name: row[name] for name in COLUMNS} for row in rows if row["level"] == "overall"]


def keep(root: Path, rows: Rows) -> None:
    """Add the scores of a rebuild to the history, unless they are those that it ends with."""
    known = _kept(root)
    if not rows or (known and known[-1].rows == rows):
        return
    run = Run(datetime.now(UTC).timestamp(), "rebuild", describe.short_commit(root), rows)
    append_line(root / places.SCORES, json.dumps(asdict(run)))


def _kept(root: Path) -> list[Run]:
    """The runs in the file; lines that are broken are passed over."""
    found = []
    try:
        lines = (root / places.SCORES).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        try:
            told = parse(line, constants=True)
            rows = [{name: row[name] for name in COLUMNS} for row in told["rows"]]
            found.append(Run(float(told["ended"]), str(told["kind"]), str(told["commit"]), rows))
        except (ValueError, KeyError, TypeError):
            continue
    return found


def history(root: Path) -> list[Run]:
    """The runs with scores, the latest last, at most SHOWN."""
    runs = _kept(root)
    try:
        ledger = root / load_nightly(root / PARAMS_FILE).ledger
        if ledger.is_dir():
            runs += itertools.islice(_nights(ledger), SHOWN)
    except NightjarError:
        pass  # `nightjar ledger --check` says what is wrong with it
    return sorted(runs, key=lambda run: run.ended)[-SHOWN:]


def _nights(ledger: Path) -> Iterator[Run]:
    """Those that have scores, the latest first: a night that failed has none."""
    from pipelines.history import ledger as ledgers

    for entry in reversed(ledgers.entries(ledger)):
        try:
            rows = _overall(ledgers.read(entry, "scores.parquet").to_pylist())
        except NightjarError:  # `nightjar ledger --check` names it
            continue
        if rows:
            changed = any(Path(name).name != "dvc.lock" for name in entry["changed"])
            commit = describe.marked(entry["commit"][:7], changed)
            yield Run(entry["ended"].timestamp(), "nightly", commit, rows)


def table(runs: Sequence[Run]) -> Rows:
    """A row a score, systems side by side; a column a run, the latest first: "44.3 [38.1, 50.6] n 192"."""
    columns: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}
    for run in reversed(runs):
        title = run.title
        while title in columns:
            title += "'"
        columns[title] = {tuple(row[name] for name in NAMES): row for row in run.rows}
    found: Rows = []
    keys = dict.fromkeys(key for cells in columns.values() for key in cells)
    for key in sorted(keys, key=lambda key: (key[0], key[1], key[3])):
        row: dict[str, Any] = dict(zip(NAMES, key, strict=True))
        row |= {title: _text(cells[key]) if key in cells else "" for title, cells in columns.items()}
        found.append(row)
    return found


def _text(row: dict[str, Any]) -> str:
    if row["low"] is None:
        # Here, not above: NumPy takes long to load.
        from nightjar.statistics import too_few

        return f"{row['value']:.1f} {too_few(row['n'])}"
    return f"{row['value']:.1f} [{row['low']:.1f}, {row['high']:.1f}] n {row['n']}"
