"""What must hold between tables: the sides of a split share nothing they must not, and ids exist where they point.

Which artifact holds a table is not written down: it is looked for in the artifact itself and in those that its stage
reads. A relation to a table that is in none of them is not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nightjar.core.checks.artifact import REBUILD, parts, tables_in
from nightjar.core.checks.finding import MOST_ROWS, Collector, Finding
from nightjar.core.contracts import (
    CALLS_MERGED,
    CANDIDATES,
    DEV,
    DEV_QUESTIONS,
    DOCUMENTS,
    EVIDENCE,
    HELD_OUT,
    IMPROVEMENTS,
    INSTANCE_SCORES,
    INSTANCES,
    MATCHES,
    PASSAGES,
    PREDICTIONS,
    QUESTIONS,
    RANKINGS,
    SPLIT_TASKS,
    SUPERVISED,
    TASKS,
    TEST,
    TRAIN,
    TRAIN_QUESTIONS,
    Table,
)

INSTANCE = ("task_id", "id")
# How stages.split begins the reason of a task that a published list, not the rule on sources, put where it is.
LISTED = "on the published list"


@dataclass(frozen=True)
class Reference:
    """The `columns` of every row of `table` (of those where a column has a value) are in the table `to`."""

    table: Table
    columns: tuple[str, ...]
    to: Table
    to_columns: tuple[str, ...]
    where: tuple[str, str] | None = None


SIDES = {"train": TRAIN_QUESTIONS, "dev": DEV_QUESTIONS, "test": QUESTIONS}
REFERENCES = (
    Reference(INSTANCES, ("task_id",), TASKS, ("task_id",)),
    Reference(SPLIT_TASKS, ("task_id",), TASKS, ("task_id",)),
    Reference(PASSAGES, ("document_id",), DOCUMENTS, ("id",)),
    *(Reference(EVIDENCE, INSTANCE, side, INSTANCE, ("split", side.name)) for side in (TRAIN, DEV)),
    Reference(EVIDENCE, INSTANCE, QUESTIONS, INSTANCE, ("split", "test")),
    *(Reference(RANKINGS, INSTANCE, side, INSTANCE, ("split", split)) for split, side in SIDES.items()),
    Reference(EVIDENCE, ("passage", "document_id"), PASSAGES, ("passage", "document_id")),
    *(Reference(table, ("id",), DOCUMENTS, ("id",), ("source", "corpus")) for table in (CANDIDATES, CALLS_MERGED)),
    Reference(HELD_OUT, ("id",), DOCUMENTS, ("id",)),
    *(Reference(table, INSTANCE, TRAIN, INSTANCE, ("source", "train")) for table in (CANDIDATES, CALLS_MERGED)),
    Reference(QUESTIONS, INSTANCE, TEST, INSTANCE),
    *(Reference(table, INSTANCE, QUESTIONS, INSTANCE) for table in (PREDICTIONS, INSTANCE_SCORES, MATCHES)),
    Reference(IMPROVEMENTS, ("task_id",), QUESTIONS, ("task_id",)),
)  # fmt: skip


def check_relations(path: Path, near: Iterable[Path], shared_inputs: int = 0) -> list[Finding]:
    """What does not hold between the tables of the artifact at `path`, and between them and those `near` it.

    `near` are the artifacts that its stage reads. `shared_inputs` training and dev instances may have an input that
    is in the test set as well. The artifact's own tables must be readable and of their schemas.
    """
    homes = {table.name: home for home in (*reversed(list(near)), path) for table in tables_in(home)}
    own = {table.name for table in tables_in(path)}
    found: list[Finding] = []
    for reference in REFERENCES:
        if reference.table.name in own and reference.to.name in homes:
            found += _refer(path, homes[reference.to.name], reference)
    if {TRAIN.name, TEST.name} <= own:
        sides = {table.name: _Side(path, table) for table in (TEST, DEV, TRAIN, SUPERVISED)}
        found += _disjoint(path, sides, shared_inputs)
        if SPLIT_TASKS.name in own and TASKS.name in homes:
            found += _sources(path, homes[TASKS.name], [sides[TRAIN.name], sides[DEV.name]])
    return found


def _read(files: Sequence[Path], columns: Sequence[str], where: tuple[str, str] | None = None) -> pa.Table:
    """Columns of some parts, those rows alone where a column has a value."""
    more = [where[0]] if where and where[0] not in columns else []
    opened = (pq.ParquetFile(file, memory_map=True) for file in files)
    table = pa.concat_tables([file.read([*columns, *more], use_threads=False) for file in opened])
    if where:
        table = table.filter(pc.equal(table[where[0]], where[1]))
    return table.select(list(columns))


def _refer(path: Path, home: Path, it: Reference) -> list[Finding]:
    found = Collector(path, it.table.name)
    here, there = parts(path, it.table), parts(home, it.to)
    rows = _read(here, it.columns, it.where)
    distinct = rows.group_by(list(it.columns), use_threads=False).aggregate([([], "count_all")])
    known = _read(there, it.to_columns)
    lost = distinct.join(
        known, list(it.columns), list(it.to_columns), join_type="left anti", use_threads=False
    )
    if len(lost):
        of = f" of {it.where[0]} {it.where[1]}" if it.where else ""
        what = f"rows{of} whose {', '.join(it.columns)} is not in {home.as_posix()}/{it.to.name}"
        fix = "one of the two is older than the other: nightjar rebuild"
        shown = lost.select(list(it.columns)).slice(0, MOST_ROWS).to_pylist()
        found.add("references", what, fix, shown, pc.sum(lost["count_all"]).as_py())
    return found.findings()


_FIXES = {
    TEST.name: "mend the data, or allow so many with checks.shared_inputs in params.yaml",
    DEV.name: "a dev loss is lower for them; it only chooses between weights",
}


class _Side:
    """The tasks, ids, instances and stripped inputs of a side, and the parts of it."""

    def __init__(self, path: Path, table: Table) -> None:
        self.name, self.parts = table.name, parts(path, table)
        self.values: dict[str, set[Any]] = {"task": set(), "id": set(), "instance": set(), "input": set()}
        self.tasks: set[str] = set()

    def rows(self) -> Iterator[tuple[pa.Table, dict[str, list[Any]]]]:
        """Each part with what its rows are compared by."""
        for part in self.parts:
            table = _read([part], ("task_id", "id", "input"))
            task, id = table["task_id"].to_pylist(), table["id"].to_pylist()
            inputs = [text.strip() for text in table["input"].to_pylist()]
            self.tasks.update(task)
            yield (
                table,
                {"task": task, "id": id, "instance": list(zip(task, id, strict=True)), "input": inputs},
            )

    def remember(self) -> None:
        for _, values in self.rows():
            for name, known in self.values.items():
                known.update(values[name])


def _disjoint(path: Path, sides: Mapping[str, _Side], shared_inputs: int) -> list[Finding]:
    """No task, id or input of a side is on another, as far as the split promises it.

    Supervised instances are those of test tasks: they share tasks, and ids where two tasks have the same, but
    neither an instance nor an input with those that test. Train and dev may share inputs: that is only reported.
    """
    test, dev, train, supervised = (sides[table.name] for table in (TEST, DEV, TRAIN, SUPERVISED))
    test.remember()
    dev.remember()
    apart = ("task", "id", "input")
    found = _compare(path, supervised, [(test, ("instance", "input"))])
    found += (shared := _compare(path, dev, [(test, apart)]))
    found += (more := _compare(path, train, [(test, apart), (dev, apart)]))
    of_dev = [it for it in more if it.fix == _FIXES[DEV.name]]
    of_test = [it for it in (*shared, *more) if it.fix == _FIXES[TEST.name]]
    mild = set(map(id, of_dev))
    if sum(it.count for it in of_test) <= shared_inputs:
        mild.update(map(id, of_test))
    return [replace(it, blocks=False) if id(it) in mild else it for it in found]


def _compare(path: Path, side: _Side, others: Sequence[tuple[_Side, tuple[str, ...]]]) -> list[Finding]:
    """What a side has in common with others of what each must not share."""
    found = Collector(path, side.name)
    for table, values in side.rows():
        for other, names in others:
            for name in names:
                known = other.values[name]
                if known.isdisjoint(values[name]):
                    continue
                places = [place for place, value in enumerate(values[name]) if value in known]
                fix = REBUILD
                if name == "input" and side.name != SUPERVISED.name:
                    fix = _FIXES[other.name]
                what = f"rows whose {name} is in {other.name} too"
                shown = table.take(places[:MOST_ROWS]).to_pylist()
                found.add(f"disjoint {name}s", what, fix, shown, len(places))
    return found.findings()


def _sources(path: Path, home: Path, sides: Sequence[_Side]) -> list[Finding]:
    """No training or dev task has a source in common with a test task of either track, unless a published list
    put it where it is: the rule on sources has no say there."""
    columns = ["track", "task_id", "role", "reason"]
    roles = _read(parts(path, SPLIT_TASKS), columns).to_pylist()
    sources = {
        row["task_id"]: row["sources"]
        for row in _read(parts(home, TASKS), ["task_id", "sources"]).to_pylist()
    }
    listed = {row["task_id"] for row in roles if row["role"] == "train" and row["reason"].startswith(LISTED)}
    taken: dict[str, str] = {}
    for task in sorted(row["task_id"] for row in roles if row["role"] == "test"):
        for source in sources.get(task, ()):
            taken.setdefault(source, task)
    found: list[Finding] = []
    for side in sides:
        told = Collector(path, side.name)
        for task in sorted(side.tasks - listed):
            for source in sources.get(task, ()):
                if source in taken:
                    row = {"task_id": task, "source": source, "test_task": taken[source]}
                    told.add(
                        "disjoint sources", "tasks that share a source with a test task", REBUILD, [row], 1
                    )
        found += told.findings()
    return found
