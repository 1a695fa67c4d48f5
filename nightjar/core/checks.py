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
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nightjar.core import contracts as of
from nightjar.core import tables
from nightjar.core.arguments import AnyPath, as_path
from nightjar.core.contracts import REJECTED, TOKENS, TOKENS_FILE, Table
from nightjar.core.errors import NightjarError, first_line
from nightjar.core.files import FILE, kind
from nightjar.core.rules import MOST_ROWS, Finding, Findings, Keys, broken, broken_values
from nightjar.core.tables import REJECTED_FILE, UNREADABLE

# The counts that the facts of a stage have.
ROWS = ("rows_in", "rows_out", "rows_rejected")
TOKENS_FOLDER = "tokens"
REBUILD = "rebuild it: nightjar rebuild"
# A table with one of these cannot be compared with others: the relations of its artifact wait until it is fixed.
_FIRST = frozenset({"readable", "schema", "nulls"})
# The tables of a name; where it has several, an artifact's own columns tell which.
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

    Reads footers only. Raises what pyarrow raises for a file that cannot be read.
    """
    files = [(table, _parts(path, table.name)) for table in tables_in(path)]
    if (path / REJECTED_FILE).is_file():
        files.append((REJECTED, [path / REJECTED_FILE]))
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
    if odd := _odd_files(path):
        return odd
    found = _check_tables(path)
    if not _FIRST & {check for _, check, _ in found}:
        homes = [home for home in near if is_artifact(home)]
        try:
            if odd := [it for home in homes for it in _odd_files(home)]:
                raise OSError(f"{odd[0].where}/{odd[0].what}")
            _check_relations(found, homes, shared_inputs)
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
            found += _check_accounts(root / name, counted.get(name), rejected)
            results += check(root / name, [root / it for it in inputs], shared_inputs)
    return found + results


def _check_accounts(path: Path, counted: Mapping[str, Any] | None, rejected: int) -> Iterator[Finding]:
    """Every table has the rows, and the contract's version, that its stage counted when it wrote them."""
    try:
        if counted is None or _odd_files(path):
            return
        here = inventory(path)
    except UNREADABLE:
        return  # the check of the tables names the file
    for name in sorted({*counted, *here}):
        wrote, has, check = counted.get(name, {}), here.get(name, {}), "accounts"
        if not has:
            what = f"the table is gone; its stage wrote {wrote['rows']:,} rows"
        elif not wrote:
            what = f"{has['rows']:,} rows in a table that its stage did not write"
        elif has["rows"] != wrote["rows"]:
            what = f"{has['rows']:,} rows on disk, but its stage wrote {wrote['rows']:,}"
        elif has.get("version") != wrote.get("version"):
            check = "schema"
            what = f"version {wrote.get('version')} of the contract; this release has {has.get('version')}"
        else:
            continue
        yield Finding(check, name, what, REBUILD, artifact=path.as_posix())
    if (refused := here.get(REJECTED.name, {"rows": 0})["rows"]) > rejected:
        what = f"{refused:,} rejected rows on disk, but its stage counted {rejected:,}"
        yield Finding("accounts", REJECTED.name, what, REBUILD, artifact=path.as_posix())


def _odd_files(path: Path) -> list[Finding]:
    """The files of the artifact at `path` that are not ordinary ones; a read from them could wait for ever."""
    files = (path / REJECTED_FILE, *sorted(path.glob("*/*.parquet")), path / TOKENS_FOLDER / TOKENS_FILE)
    kinds = {file.relative_to(path).as_posix(): kind(file) for file in files}
    return [
        Finding("readable", "", f"{name} is {here}", REBUILD, artifact=path.as_posix())
        for name, here in kinds.items()
        if here not in ("", FILE)
    ]


def _check_tables(path: Path) -> Findings:
    """Schema, nulls, allowed values, ranges and keys of every table of the artifact."""
    found = Findings(path)
    for contract in tables_in(path):
        keys = Keys(contract)
        ruled = {*(contract.allowed or {}), *(contract.ranges or {}), *contract.key}
        columns = [name for name in contract.schema.names if name in ruled]
        for file in _parts(path, contract.name):
            table = _part(found, file, contract, columns)
            if table is not None:
                found.add(broken_values(contract, table), part=file.stem)
                found.add(keys.add(table, file.stem))
        found.add(keys.end())
    names = {folder.name for folder in path.iterdir() if folder.is_dir() and any(folder.glob("*.parquet"))}
    for name in sorted(names - _TABLES.keys()):
        found.add([Finding("contract", name, "there is no such table", "remove the folder")])
    if (path / REJECTED_FILE).is_file():
        _part(found, path / REJECTED_FILE, REJECTED, [])
    else:
        found.add([Finding("contract", REJECTED.name, f"{REJECTED_FILE} is missing", REBUILD)])
    if (path / TOKENS_FOLDER / TOKENS_FILE).is_file():
        found.add(_check_tokens(path / TOKENS_FOLDER / TOKENS_FILE))
    return found


def _part(found: Findings, file: Path, contract: Table, columns: list[str]) -> pa.Table | None:
    """Columns of a part whose schema is the contract's; None, with what differs, of another."""
    wanted, differs = contract.schema, list[str]()
    table: Any = None
    try:
        part = pq.ParquetFile(file, memory_map=True)
        schema = part.schema_arrow
        if schema.names == wanted.names:
            loose = [it.name for it in schema if it.nullable and not wanted.field(it.name).nullable]
            table = part.read(list(dict.fromkeys([*columns, *loose])), use_threads=False)
    except UNREADABLE as error:
        found.add([_unreadable(contract.name, file, error)])
        return None
    if table is None:
        lacks = ", ".join(name for name in wanted.names if name not in schema.names)
        more = ", ".join(name for name in schema.names if name not in wanted.names)
        named = "; ".join(filter(None, (lacks and f"without {lacks}", more and f"with {more}")))
        differs.append(f"other columns: {named or 'in another order'}")
    for own, needed in zip(schema, wanted, strict=True) if table is not None else ():
        if own.name in loose and table[own.name].null_count:
            what, nulls = f"column {own.name} has nulls", pc.is_null(table[own.name])
            fix = "fill or reject those rows"
            found.add(broken("nulls", contract, what, fix, table, nulls), part=file.stem)
        elif not own.equals(needed):
            kinds = [f"{it.type}{'' if it.nullable else ' not null'}" for it in (own, needed)]
            differs.append(f"column {own.name} is {kinds[0]}, not {kinds[1]}")
    fix, rows = f"version {contract.version} of the contract is needed: {REBUILD}", ({"part": file.stem},)
    found.add(Finding("schema", contract.name, what, fix, rows=rows) for what in differs)
    return table if schema.equals(wanted) else None


def _unreadable(table: str, file: Path, error: BaseException) -> Finding:
    row = {"part": file.stem, "error": first_line(error)}
    return Finding("readable", table, "a part cannot be read", REBUILD, rows=(row,))


def _check_tokens(file: Path) -> Iterator[Finding]:
    """The one Arrow file that training maps into memory: readable, of its schema, its keys unique."""
    keys = Keys(Table(TOKENS_FOLDER, 1, TOKENS, key=("side", "task_id", "id")))
    try:
        with pa.memory_map(str(file)) as source:
            reader = pa.ipc.open_file(source)
            if not reader.schema.equals(TOKENS):
                yield Finding("schema", TOKENS_FOLDER, "the columns are not the contract's", REBUILD)
                return
            for at in range(reader.num_record_batches):
                yield from keys.add(pa.Table.from_batches([reader.get_batch(at)]), file.stem)
            yield from keys.end()
    except UNREADABLE as error:
        yield _unreadable(TOKENS_FOLDER, file, error)


class _Reference(NamedTuple):
    """The `columns` of every row of `table` (of those where a column has a value) are in the table `to`."""

    table: Table
    columns: tuple[str, ...]
    to: Table
    to_columns: tuple[str, ...]
    where: tuple[str, str] | None = None


_INSTANCE = ("task_id", "id")
_ASKED = {"train": of.TRAIN_QUESTIONS, "dev": of.DEV_QUESTIONS, "test": of.QUESTIONS}
_CALLS = (of.CANDIDATES, of.CALLS_MERGED)
_REFERENCES = (
    _Reference(of.INSTANCES, ("task_id",), of.TASKS, ("task_id",)),
    _Reference(of.SPLIT_TASKS, ("task_id",), of.TASKS, ("task_id",)),
    _Reference(of.PASSAGES, ("document_id",), of.DOCUMENTS, ("id",)),
    *(_Reference(of.EVIDENCE, _INSTANCE, it, _INSTANCE, ("split", it.name)) for it in (of.TRAIN, of.DEV)),
    _Reference(of.EVIDENCE, _INSTANCE, of.QUESTIONS, _INSTANCE, ("split", "test")),
    *(_Reference(of.RANKINGS, _INSTANCE, it, _INSTANCE, ("split", split)) for split, it in _ASKED.items()),
    _Reference(of.EVIDENCE, ("passage", "document_id"), of.PASSAGES, ("passage", "document_id")),
    *(_Reference(it, ("id",), of.DOCUMENTS, ("id",), ("source", "corpus")) for it in _CALLS),
    _Reference(of.HELD_OUT, ("id",), of.DOCUMENTS, ("id",)),
    *(_Reference(it, _INSTANCE, of.TRAIN, _INSTANCE, ("source", "train")) for it in _CALLS),
    _Reference(of.QUESTIONS, _INSTANCE, of.TEST, _INSTANCE),
    *(
        _Reference(it, _INSTANCE, of.QUESTIONS, _INSTANCE)
        for it in (of.PREDICTIONS, of.INSTANCE_SCORES, of.MATCHES)
    ),
    _Reference(of.IMPROVEMENTS, ("task_id",), of.QUESTIONS, ("task_id",)),
)


def _check_relations(found: Findings, near: list[Path], shared_inputs: int) -> None:
    """What does not hold between the tables of the artifact, and between them and those of the artifacts `near`.

    Which artifact holds a table is not written down: it is looked for in the artifact itself and in those that its
    stage reads. A relation to a table that is in none of them is not checked. Raises NightjarError for a table near by
    that is damaged.
    """
    homes = {table.name: home for home in (*reversed(near), found.path) for table in tables_in(home)}
    own = {table.name for table in tables_in(found.path)}
    for reference in _REFERENCES:
        if reference.table.name in own and reference.to.name in homes:
            _refer(found, homes[reference.to.name], reference)
    if {of.TRAIN.name, of.TEST.name} <= own:
        _disjoint(found, shared_inputs)
        if of.SPLIT_TASKS.name in own and of.TASKS.name in homes:
            _sources(found, homes[of.TASKS.name])


def _refer(found: Findings, home: Path, it: _Reference) -> None:
    where = pc.equal(pc.field(it.where[0]), it.where[1]) if it.where else None
    rows = tables.read(found.path, it.table, list(it.columns), where)
    distinct = rows.group_by(list(it.columns), use_threads=False).aggregate([([], "count_all")])
    known = tables.read(home, it.to, list(it.to_columns))
    lost = distinct.join(known, list(it.columns), list(it.to_columns), "left anti", use_threads=False)
    if len(lost):
        side = f" of {it.where[0]} {it.where[1]}" if it.where else ""
        what = f"rows{side} whose {', '.join(it.columns)} is not in {home.as_posix()}/{it.to.name}"
        fix = "one of the two is older than the other: nightjar rebuild"
        shown = tuple(lost.select(list(it.columns)).slice(0, MOST_ROWS).to_pylist())
        count = pc.sum(lost["count_all"]).as_py()
        found.add([Finding("references", it.table.name, what, fix, count, shown)])


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
    mild, with_test = list[tuple[str, str, str]](), list[tuple[str, str, str]]()
    for side, others in _APART:
        for rows in _compared(found.path, side):
            for other, name in [(table.name, name) for table, name in others if table.name in known]:
                wrong = pc.is_in(rows[_COLUMNS[name]], value_set=known[other][_COLUMNS[name]])
                check, what, fix = f"disjoint {name}s", f"rows whose {name} is in {other} too", REBUILD
                if name == "input" and side is not of.SUPERVISED:
                    fix = _SHARED_FIXES[other]
                    (mild if other == of.DEV.name else with_test).append((side.name, check, what))
                shown = rows.select(["task_id", "id", "input"]).filter(wrong).slice(0, MOST_ROWS).to_pylist()
                if shown:
                    count = pc.sum(wrong).as_py()
                    found.add([Finding(check, side.name, what, fix, count, tuple(shown))])
    if sum(found[key].count for key in {*with_test} if key in found) <= shared_inputs:
        mild += with_test
    found.update({key: replace(found[key], blocks=False) for key in mild if key in found})


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
