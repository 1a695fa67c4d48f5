"""Checks of artifacts as they are on disk: somebody may have edited, cut off or restored one since it was written.

A contract is enforced while a table is written. The checks hold the finished artifact against its contracts, the facts
of its stage, and the artifacts that its stage read. They only read, and never raise for what they find. Its folders'
names say which tables an artifact holds. Parquet keeps nulls out of a column that must have none, so that where the
schemas are equal only keys and columns with rules are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nightjar.core import contracts as of
from nightjar.core import tables
from nightjar.core.arguments import AnyPath, as_path
from nightjar.core.contracts import REJECTED, TOKENS_FILE, Table
from nightjar.core.errors import NightjarError, first_line
from nightjar.core.files import FILE, check_input, kind
from nightjar.core.rules import MOST_ROWS, Finding, Findings, Keys, broken_values
from nightjar.core.tables import REJECTED_FILE, UNREADABLE

# The counts that the facts of a stage have.
ROWS = ("rows_in", "rows_out", "rows_rejected")
TOKENS_FOLDER = "tokens"
REBUILD = "rebuild it: nightjar rebuild"
# The tables of a name; where it has several, an artifact's own columns show which.
_TABLES: dict[str, list[Table]] = {}
for _table in vars(of).values():
    if isinstance(_table, Table):
        _TABLES.setdefault(_table.name, []).append(_table)


def is_artifact(path: Path) -> bool:
    """Whether the folder was written by nightjar.core.tables, or holds a table of the contracts."""
    return path.is_dir() and ((path / REJECTED_FILE).is_file() or bool(tables_in(path)))


def tables_in(path: Path) -> list[Table]:
    """The contracts of the tables that the artifact at `path` holds, by name."""
    names = sorted(folder.name for folder in path.iterdir() if folder.is_dir()) if path.is_dir() else []
    return [_contract(path / name) for name in names if name in _TABLES and any(_parts(path, name))]


def _parts(path: Path, table: str) -> list[Path]:
    return sorted((path / table).glob("*.parquet"))


def _contract(folder: Path) -> Table:
    known, first = _TABLES[folder.name], min(folder.glob("*.parquet"))
    if len(known) > 1 and kind(first) == FILE:
        try:
            columns = pq.read_schema(first).names
        except UNREADABLE:
            return known[0]
        return next((table for table in known if table.schema.names == columns), known[0])
    return known[0]


def inventory(path: Path) -> dict[str, dict[str, int]]:
    """The rows of every table of the artifact at `path`, and the contract's version: what its stage's facts keep.

    Reads footers only. Raises what pyarrow raises for a file that cannot be read, and NightjarError for a pipe.
    """
    files = [(table, _parts(path, table.name)) for table in tables_in(path)]
    if kind(path / REJECTED_FILE):
        files.append((REJECTED, [path / REJECTED_FILE]))
    for part in (part for _, parts in files for part in parts):
        check_input(part)
    found = {
        table.name: {
            "rows": sum(pq.read_metadata(part).num_rows for part in parts),
            "version": table.version,
        }
        for table, parts in files
    }
    if (path / TOKENS_FOLDER / TOKENS_FILE).is_file():
        with pa.memory_map(str(path / TOKENS_FOLDER / TOKENS_FILE)) as source:
            reader = pa.ipc.open_file(source)
            batches = (reader.get_batch(at).num_rows for at in range(reader.num_record_batches))
            found[TOKENS_FOLDER] = {"rows": sum(batches)}
    return found


def check(path: AnyPath, near: Iterable[Path] = (), shared_inputs: int = 0) -> list[Finding]:
    """Everything that is wrong with the artifact at `path`, its facts aside.

    `near` are artifacts that its stage reads; `shared_inputs` is how many training and dev instances may have an input
    that is in the test set.
    """
    path = as_path(path)
    if not is_artifact(path):
        what = "there is no such artifact" if not path.exists() else "no table of the contracts is in it"
        return [Finding("present", "", what, "build it: nightjar rebuild", artifact=path.as_posix())]
    found = Findings(path)
    _check_tables(found)
    if not found:
        try:
            _check_relations(found, [home for home in near if is_artifact(home)], shared_inputs)
        except (*UNREADABLE, NightjarError) as error:
            what = f"what it refers to cannot be read ({first_line(error)})"
            found.add([Finding("references", "", what, "check what its stage reads")])
    return list(found.values())


def check_stage(
    outputs: Iterable[Path | str],
    inputs: Iterable[Path | str],
    facts: Mapping[str, Any] | None = None,
    shared_inputs: int = 0,
    root: Path = Path(),
) -> list[Finding]:
    """Everything that is wrong with what a stage made: its facts, and those of its `outputs` that are artifacts, or
    that the facts say are. Paths are from the project's `root`, as they are in the facts. Facts of an older release
    name no tables. The form of the facts is that of `stages._runtime.facts.fault`.
    """
    facts = facts or dict.fromkeys(ROWS, 0)
    counted = facts.get("tables") or {}
    rows_in, out, rejected = (facts.get(name, 0) for name in ROWS)
    names = [Path(output).as_posix() for output in outputs]
    found, results = [], []
    if rows_in != out + rejected:
        what = f"{rows_in:,} rows in, but {out:,} out and {rejected:,} rejected"
        stage, fix = str(facts.get("stage", "facts")), "the facts were edited, or the stage is at fault"
        found.append(Finding("accounts", "", what, fix, artifact=stage))
    for name in names:
        if name in counted or is_artifact(root / name):
            if name in counted:
                found += _check_accounts(root / name, counted[name], rejected)
            results += check(root / name, [root / it for it in inputs], shared_inputs)
    return found + results


def _check_accounts(path: Path, counted: Mapping[str, Any], rejected: int) -> Iterator[Finding]:
    """Every table has the rows, and the contract's version, that its stage counted when it wrote them."""
    try:
        here = inventory(path)
    except (*UNREADABLE, NightjarError):
        return  # the check of the tables names the file
    for name in sorted({*counted, *here}):
        wrote, has = (_described(tables.get(name)) for tables in (counted, here))
        if wrote != has:
            what = f"{has} on disk, but its stage wrote {wrote}"
            yield Finding("accounts", name, what, REBUILD, artifact=path.as_posix())
    if (refused := here.get(REJECTED.name, {"rows": 0})["rows"]) > rejected:
        what = f"{refused:,} rejected rows on disk, but its stage counted {rejected:,}"
        yield Finding("accounts", REJECTED.name, what, REBUILD, artifact=path.as_posix())


def _described(counted: Mapping[str, Any] | None) -> str:
    if not counted:
        return "no table"
    return f"{counted['rows']:,} rows" + (f" of version {counted['version']}" if "version" in counted else "")


def _check_tables(found: Findings) -> None:
    """Schema, allowed values, ranges and keys of every table of the artifact."""
    path = found.path
    for contract in tables_in(path):
        keys = Keys(contract)
        ruled = {*(contract.allowed or {}), *(contract.ranges or {}), *contract.key}
        for file in _parts(path, contract.name):
            table = _part(found, file, contract, [name for name in contract.schema.names if name in ruled])
            if table is not None:
                found.add(broken_values(contract, table), part=file.stem)
                found.add(keys.add(table, file.stem))
        found.add(keys.end())
    names = {folder.name for folder in path.iterdir() if folder.is_dir() and any(folder.glob("*.parquet"))}
    for name in sorted(names - _TABLES.keys()):
        found.add([Finding("contract", name, "there is no such table", "remove the folder")])
    if kind(path / REJECTED_FILE):
        _part(found, path / REJECTED_FILE, REJECTED, [])
    else:
        found.add([Finding("contract", REJECTED.name, f"{REJECTED_FILE} is missing", REBUILD)])


def _part(found: Findings, file: Path, contract: Table, columns: list[str]) -> pa.Table | None:
    """Columns of a part whose schema is the contract's; None, with what differs, of another."""
    try:
        check_input(file)
        part = pq.ParquetFile(file, memory_map=True)
        if part.schema_arrow.equals(contract.schema):
            return part.read(columns, use_threads=False)
        has, needs = (schema.to_string().splitlines() for schema in (part.schema_arrow, contract.schema))
        differ = [f"with {it}" for it in has if it not in needs] + [
            f"without {it}" for it in needs if it not in has
        ]
        named = "; ".join(it for it in differ if " -- " not in it) or "in another order"
        check, what = "schema", f"columns differ from version {contract.version} of the contract: {named}"
    except (*UNREADABLE, NightjarError) as error:
        check, what = "readable", f"a part cannot be read: {first_line(error)}"
    found.add([Finding(check, contract.name, what, REBUILD, rows=({"part": file.stem},))])
    return None


# Table, columns, table: the columns of every row of the first are in the second.
_INSTANCE = ["task_id", "id"]
_REFERENCES = (
    (of.SPLIT_TASKS, ["task_id"], of.TASKS),
    (of.QUESTIONS, _INSTANCE, of.TEST),
    (of.PREDICTIONS, _INSTANCE, of.QUESTIONS),
    (of.INSTANCE_SCORES, _INSTANCE, of.QUESTIONS),
)


def _check_relations(found: Findings, near: list[Path], shared_inputs: int) -> None:
    """What does not hold between the tables of the artifact, and between them and those of the artifacts `near`.

    Which artifact holds a table is not written down: it is looked for in the artifact itself and in those that its
    stage reads. A relation to a table that is in none of them is not checked. Raises NightjarError for a table near by
    that is damaged.
    """
    homes = {table.name: home for home in (*reversed(near), found.path) for table in tables_in(home)}
    own = {table.name for table in tables_in(found.path)}
    for table, columns, to in _REFERENCES:
        if table.name in own and to.name in homes:
            _refer(found, table, columns, to, homes[to.name])
    if {of.TRAIN.name, of.TEST.name} <= own:
        _disjoint(found, shared_inputs)
        if of.SPLIT_TASKS.name in own and of.TASKS.name in homes:
            _sources(found, homes[of.TASKS.name])


def _refer(found: Findings, table: Table, columns: list[str], to: Table, home: Path) -> None:
    rows = tables.read(found.path, table, columns)
    distinct = rows.group_by(columns, use_threads=False).aggregate([([], "count_all")])
    lost = distinct.join(tables.read(home, to, columns), columns, join_type="left anti", use_threads=False)
    if len(lost):
        what = f"rows whose {', '.join(columns)} is not in {home.as_posix()}/{to.name}"
        fix = "one of the two is older than the other: nightjar rebuild"
        shown = tuple(lost.select(columns).slice(0, MOST_ROWS).to_pylist())
        found.add([Finding("references", table.name, what, fix, pc.sum(lost["count_all"]).as_py(), shown)])


# What `str.strip` removes; the last of them is U+3000.
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))
# So many parts are compared at a time: the other side is looked up anew each time.
_TOGETHER = 64
# By what columns of `_compared` rows of two sides are compared.
_COLUMNS = {"task": "task_id", "id": "id", "instance": "instance", "input": "stripped"}
# What a side must not share with others. Supervised instances are those of test tasks: they share tasks, and ids where
# two tasks have the same, but neither an instance nor an input with those that test.
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
    """The rows of a side, with what they are compared by; none without the table."""
    columns = ["task_id", "id", "input"]
    batches = tables.batches(path, side, columns) if _parts(path, side.name) else iter(())
    while some := list(islice(batches, _TOGETHER)):
        rows = pa.Table.from_batches(some)
        instance = pc.binary_join_element_wise(rows["task_id"], rows["id"], "\0")
        stripped = pc.utf8_trim(rows["input"], _BLANKS)
        yield rows.append_column("instance", instance).append_column("stripped", stripped)


def _disjoint(found: Findings, shared_inputs: int) -> None:
    """No task, id or input of a side is on another, as far as the split promises it.

    Train and dev may share inputs: that is only reported. `shared_inputs` inputs of train and dev may be in test.
    """
    parts = {side.name: list(_compared(found.path, side)) for side in (of.TEST, of.DEV)}
    known = {name: pa.concat_tables(rows) for name, rows in parts.items() if rows}
    warnings, with_test = list[tuple[str, str, str]](), list[tuple[str, str, str]]()
    for side, others in _APART:
        for rows in _compared(found.path, side):
            for other, name in [(table.name, name) for table, name in others if table.name in known]:
                wrong = pc.is_in(rows[_COLUMNS[name]], value_set=known[other][_COLUMNS[name]])
                check, what, fix = f"disjoint {name}s", f"rows whose {name} is in {other} too", REBUILD
                if name == "input" and side is not of.SUPERVISED:
                    fix = _SHARED_FIXES[other]
                    (warnings if other == of.DEV.name else with_test).append((side.name, check, what))
                shown = rows.select(["task_id", "id", "input"]).filter(wrong).slice(0, MOST_ROWS).to_pylist()
                if shown:
                    count = pc.sum(wrong).as_py()
                    found.add([Finding(check, side.name, what, fix, count, tuple(shown))])
    if sum(found[key].count for key in {*with_test} if key in found) <= shared_inputs:
        warnings += with_test
    found.update({key: replace(found[key], blocks=False) for key in warnings if key in found})


def _sources(found: Findings, home: Path) -> None:
    """No training or dev task has a source in common with a test task of either track, unless a published list
    put it where it is: the rule on sources has no say there.
    """
    roles = tables.read_rows(found.path, of.SPLIT_TASKS)
    rows = tables.read_rows(home, of.TASKS, ["task_id", "sources"])
    sources: dict[str, list[str]] = {row["task_id"]: row["sources"] for row in rows}
    listed = {it["task_id"] for it in roles if it["role"] == "train" and it["reason"].startswith(of.LISTED)}
    what, taken = "tasks that share a source with a test task", dict[str, str]()
    for task in sorted(it["task_id"] for it in roles if it["role"] == "test"):
        for source in sources.get(task, ()):
            taken.setdefault(source, task)
    for side in tables_in(found.path):
        if side.name not in (of.TRAIN.name, of.DEV.name):
            continue
        here = set(pc.unique(tables.read(found.path, side, ["task_id"])["task_id"]).to_pylist())
        for task in sorted(here - listed):
            for source in sources.get(task, ()):
                if source in taken:
                    row = {"task_id": task, "source": source, "test_task": taken[source]}
                    found.add([Finding("disjoint sources", side.name, what, REBUILD, 1, (row,))])
