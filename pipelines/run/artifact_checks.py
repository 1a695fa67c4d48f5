"""Checks of what a stage made: its artifacts against their contracts, the facts of the stage, and the artifacts that it
read. They only read, and never raise for what they find.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nightjar.core import contracts as of
from nightjar.core import tables
from nightjar.core.artifact_rules import REBUILD, ROWS, check_tables, inventory, is_artifact, tables_in
from nightjar.core.contracts import REJECTED, Table
from nightjar.core.errors import NightjarError, first_line
from nightjar.core.rules import MOST_ROWS, BrokenRule, Findings
from nightjar.core.tables import UNREADABLE


def check_artifact(path: Path, near: Iterable[Path] = (), shared_inputs: int = 0) -> list[BrokenRule]:
    """The findings on the artifact at `path`, its facts aside.

    `near` are artifacts that its stage reads; `shared_inputs` is how many training and dev instances may have an input
    that is in the test set.
    """
    findings = Findings(path)
    check_tables(findings)
    if not findings:
        try:
            _check_relations(findings, [home for home in near if is_artifact(home)], shared_inputs)
        except (*UNREADABLE, NightjarError) as error:
            what = f"what it refers to cannot be read ({first_line(error)})"
            findings.add([BrokenRule("references", "", what, "check what its stage reads")])
    return list(findings.values())


def check_stage(
    outputs: Iterable[Path | str],
    inputs: Iterable[Path | str],
    facts: Mapping[str, Any] | None = None,
    shared_inputs: int = 0,
    root: Path = Path(),
) -> list[BrokenRule]:
    """The findings on the outputs of a stage: on its facts, and on each of `outputs` that is an artifact or that the
    facts call one. Paths are from the project's `root`, as in the facts. Facts of an older release name no tables. The
    form of the facts is that of `stages._runtime.stage_facts.fault`.
    """
    facts = facts or dict.fromkeys(ROWS, 0)
    counted = facts.get("tables") or {}
    rows_in, out, rejected = (facts.get(name, 0) for name in ROWS)
    names = [Path(output).as_posix() for output in outputs]
    account_findings, artifact_findings = [], []
    if rows_in != out + rejected:
        what = f"{rows_in:,} rows in, but {out:,} out and {rejected:,} rejected"
        stage, fix = str(facts.get("stage", "facts")), "the facts were edited, or the stage is at fault"
        account_findings.append(BrokenRule("accounts", "", what, fix, artifact=stage))
    for name in names:
        if name in counted or is_artifact(root / name):
            if name in counted:
                account_findings += _check_accounts(root / name, counted[name], rejected)
            artifact_findings += check_artifact(root / name, [root / it for it in inputs], shared_inputs)
    return account_findings + artifact_findings


def _check_accounts(path: Path, counted: Mapping[str, Any], rejected: int) -> Iterator[BrokenRule]:
    """Every table has the rows, and the contract's version, that its stage counted when it wrote them."""
    try:
        disk_tables = inventory(path)
    except (*UNREADABLE, NightjarError):
        return  # the check of the tables names the file
    for name in sorted({*counted, *disk_tables}):
        wrote, has = (_described(tables.get(name)) for tables in (counted, disk_tables))
        if wrote != has:
            what = f"{has} on disk, but its stage wrote {wrote}"
            yield BrokenRule("accounts", name, what, REBUILD, artifact=path.as_posix())
    if (refused := disk_tables.get(REJECTED.name, {"rows": 0})["rows"]) > rejected:
        what = f"{refused:,} rejected rows on disk, but its stage counted {rejected:,}"
        yield BrokenRule("accounts", REJECTED.name, what, REBUILD, artifact=path.as_posix())


def _described(counted: Mapping[str, Any] | None) -> str:
    if not counted:
        return "no table"
    return f"{counted['rows']:,} rows" + (f" of version {counted['version']}" if "version" in counted else "")


# Table, columns, table: the columns of every row of the first are in the second.
_INSTANCE = ["task_id", "id"]
_REFERENCES = (
    (of.SPLIT_TASKS, ["task_id"], of.TASKS),
    (of.QUESTIONS, _INSTANCE, of.TEST),
    (of.PREDICTIONS, _INSTANCE, of.QUESTIONS),
    (of.INSTANCE_SCORES, _INSTANCE, of.QUESTIONS),
)


def _check_relations(findings: Findings, near: list[Path], shared_inputs: int) -> None:
    """Add each broken relation between the tables of the artifact, and between them and those of the artifacts `near`.

    No file records which artifact holds a table: the artifact itself and those that its stage reads are searched. A
    relation to a table that is in none of them is not checked.
    """
    homes = {table.name: home for home in (*reversed(near), findings.path) for table in tables_in(home)}
    table_names = {table.name for table in tables_in(findings.path)}
    for table, columns, to in _REFERENCES:
        if table.name in table_names and to.name in homes:
            _refer(findings, table, columns, to, homes[to.name])
    if {of.TRAIN.name, of.TEST.name} <= table_names:
        _disjoint(findings, shared_inputs)
        if of.SPLIT_TASKS.name in table_names and of.TASKS.name in homes:
            _sources(findings, homes[of.TASKS.name])


def _refer(findings: Findings, table: Table, columns: list[str], to: Table, home: Path) -> None:
    rows = tables.read(findings.path, table, columns)
    distinct = rows.group_by(columns, use_threads=False).aggregate([([], "count_all")])
    lost = distinct.join(tables.read(home, to, columns), columns, join_type="left anti", use_threads=False)
    if len(lost):
        what = f"rows whose {', '.join(columns)} is not in {home.as_posix()}/{to.name}"
        fix = "one of the two is older than the other: nightjar rebuild"
        example_rows = tuple(lost.select(columns).slice(0, MOST_ROWS).to_pylist())
        findings.add(
            [BrokenRule("references", table.name, what, fix, pc.sum(lost["count_all"]).as_py(), example_rows)]
        )


# What `str.strip` removes; the last of them is U+3000.
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))
# Batches that are compared in one call: each call builds a hash table of the other side.
_BATCHES_PER_CALL = 64
# The columns of `_compared` by which rows of two sides are compared.
_COLUMNS = {"task": "task_id", "id": "id", "instance": "instance", "input": "stripped"}
# Columns that a side must not share with others. Supervised instances belong to test tasks: they share tasks, and ids
# where two tasks have the same, but neither an instance nor an input with the test side.
_APART = (
    (of.SUPERVISED, [(of.TEST, name) for name in ("instance", "input")]),
    (of.DEV, [(of.TEST, name) for name in ("task", "id", "input")]),
    (of.TRAIN, [(other, name) for other in (of.TEST, of.DEV) for name in ("task", "id", "input")]),
)
_SHARED_FIXES = {
    of.TEST.name: "fix the data, or allow so many with checks.shared_inputs in params.yaml",
    of.DEV.name: "a dev loss is lower for them; it only chooses between weights",
}


def _compared(path: Path, side: Table) -> Iterator[pa.Table]:
    """The rows of a side, with the columns they are compared by; none without the table."""
    columns = ["task_id", "id", "input"]
    batches = tables.batches(path, side, columns) if any((path / side.name).glob("*.parquet")) else iter(())
    while group := list(islice(batches, _BATCHES_PER_CALL)):
        rows = pa.Table.from_batches(group)
        instance = pc.binary_join_element_wise(rows["task_id"], rows["id"], "\0")
        stripped = pc.utf8_trim(rows["input"], _BLANKS)
        yield rows.append_column("instance", instance).append_column("stripped", stripped)


def _disjoint(findings: Findings, shared_inputs: int) -> None:
    """No task, id or input of a side is on another, as far as the split promises it.

    Train and dev may share inputs: that is only reported. `shared_inputs` inputs of train and dev may be in test.
    """
    parts = {side.name: list(_compared(findings.path, side)) for side in (of.TEST, of.DEV)}
    side_tables = {name: pa.concat_tables(rows) for name, rows in parts.items() if rows}
    warnings, with_test = list[tuple[str, str, str]](), list[tuple[str, str, str]]()
    for side, others in _APART:
        for rows in _compared(findings.path, side):
            for other_side, name in [
                (table.name, name) for table, name in others if table.name in side_tables
            ]:
                wrong = pc.is_in(rows[_COLUMNS[name]], value_set=side_tables[other_side][_COLUMNS[name]])
                check, what, fix = f"disjoint {name}s", f"rows whose {name} is in {other_side} too", REBUILD
                if name == "input" and side is not of.SUPERVISED:
                    fix = _SHARED_FIXES[other_side]
                    (warnings if other_side == of.DEV.name else with_test).append((side.name, check, what))
                example_rows = (
                    rows.select(["task_id", "id", "input"]).filter(wrong).slice(0, MOST_ROWS).to_pylist()
                )
                if example_rows:
                    count = pc.sum(wrong).as_py()
                    findings.add([BrokenRule(check, side.name, what, fix, count, tuple(example_rows))])
    if sum(findings[key].count for key in {*with_test} if key in findings) <= shared_inputs:
        warnings += with_test
    findings.update({key: replace(findings[key], blocks=False) for key in warnings if key in findings})


def _sources(findings: Findings, home: Path) -> None:
    """No training or dev task has a source in common with a test task of either track, unless a published list
    put it where it is: the rule on sources has no say there.
    """
    roles = tables.read_rows(findings.path, of.SPLIT_TASKS)
    rows = tables.read_rows(home, of.TASKS, ["task_id", "sources"])
    sources: dict[str, list[str]] = {row["task_id"]: row["sources"] for row in rows}
    listed = {it["task_id"] for it in roles if it["role"] == "train" and it["reason"].startswith(of.LISTED)}
    what, taken = "tasks that share a source with a test task", dict[str, str]()
    for task in sorted(it["task_id"] for it in roles if it["role"] == "test"):
        for source in sources.get(task, ()):
            taken.setdefault(source, task)
    for side in tables_in(findings.path):
        if side.name not in (of.TRAIN.name, of.DEV.name):
            continue
        side_tasks = set(pc.unique(tables.read(findings.path, side, ["task_id"])["task_id"]).to_pylist())
        for task in sorted(side_tasks - listed):
            for source in sources.get(task, ()):
                if source in taken:
                    row = {"task_id": task, "source": source, "test_task": taken[source]}
                    findings.add([BrokenRule("disjoint sources", side.name, what, REBUILD, 1, (row,))])
