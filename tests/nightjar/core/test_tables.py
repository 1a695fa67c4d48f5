"""Artifacts: whole or not at all, the same bytes, and never a row that breaks its contract."""

from __future__ import annotations

import datetime
import hashlib
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core import contracts, tables
from nightjar.core.contracts import DOCUMENTS, INSTANCES, SCORES, SPLIT_TASKS, TASKS, Table
from nightjar.core.errors import NightjarError

SCORE: dict[str, Any] = dict.fromkeys(("benchmark", "system", "track", "name", "metric"), "x")
SCORE |= {"level": "task", "n": 1, "value": 100.0, "low": 0.0, "high": 1.0}
EVERY_TABLE = [value for value in vars(contracts).values() if isinstance(value, Table)]


def instance(id: str = "a", task: str = "t", **changes: Any) -> dict[str, Any]:
    row = {"dataset": "d", "file": "f", "task_id": task, "id": id, "index": 0, "input": "i", "outputs": ["o"]}
    return {**row, **changes}


def write(path: Path, contract: Table, *parts: list[dict[str, Any]]) -> None:
    with tables.ArtifactWriter(path) as writer:
        for number, rows in enumerate(parts):
            writer.write(contract, rows, part=f"part-{number}")


def value_of(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Any value that a column of the type can hold."""
    if pa.types.is_string(kind):
        return st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    if pa.types.is_integer(kind):
        return st.integers(-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1)
    if pa.types.is_floating(kind):
        return st.floats(0, 1)
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_timestamp(kind):
        # Whole seconds from 1970 to 2100: the columns hold milliseconds.
        return st.integers(0, 4_102_444_800).map(lambda n: datetime.datetime.fromtimestamp(n, datetime.UTC))
    if pa.types.is_date(kind):
        return st.dates()
    if pa.types.is_list(kind):
        return st.lists(field_of(kind.value_field), max_size=2)
    assert pa.types.is_struct(kind)
    return st.fixed_dictionaries(
        {kind.field(n).name: field_of(kind.field(n)) for n in range(kind.num_fields)}
    )


def field_of(field: pa.Field) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), value_of(field.type)) if field.nullable else value_of(field.type)


def row_of(contract: Table) -> st.SearchStrategy[dict[str, Any]]:
    allowed = contract.allowed or {}
    columns = {
        field.name: st.sampled_from(sorted(allowed[field.name])) if field.name in allowed else field_of(field)
        for field in contract.schema
    }
    return st.fixed_dictionaries(columns)


@given(st.data())
def test_round_trip_of_every_table(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    contract = data.draw(st.sampled_from([table for table in EVERY_TABLE if table.key]))
    rows = data.draw(
        st.lists(
            row_of(contract), max_size=4, unique_by=lambda row: tuple(row[name] for name in contract.key)
        )
    )
    path = tmp_path_factory.mktemp("round") / "artifact"
    write(path, contract, rows)
    assert tables.read_rows(path, contract) == rows
    assert tables.read(path, contract).schema.equals(contract.schema)


def test_reading_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "artifact"
    with tables.ArtifactWriter(path) as writer:
        assert writer.write(INSTANCES, [instance("b", "t2"), instance("a", "t2")], part="t2") == 2
        writer.write(INSTANCES, [instance("c", "t1")], part="t1")
        writer.reject("d", "f", "blank", "{}", "x")
        assert writer.rows(INSTANCES) == 3 and writer.rows(TASKS) == 0
        writer.folder("extra").joinpath("note.txt").write_text("kept")
    assert [row["id"] for row in tables.read_rows(path, INSTANCES, ["id"])] == ["c", "b", "a"], (
        "parts by name, rows as written"
    )
    assert sum(len(batch) for batch in tables.batches(path, INSTANCES)) == 3
    assert tables.part_rows(path, INSTANCES) == {"t1": 1, "t2": 2}
    assert tables.read_part(path, INSTANCES, "t2", ["id"]).to_pylist() == [{"id": "b"}, {"id": "a"}]
    assert tables.read(path, INSTANCES, ["id"], where=pa.compute.field("task_id") == "t1").to_pylist() == [
        {"id": "c"}
    ]
    assert tables.read_rejected(path).to_pylist() == [
        {"dataset": "d", "file": "f", "id": "x", "reason": "blank", "raw": "{}"}
    ]
    assert (path / "extra" / "note.txt").read_text() == "kept"
    with pytest.raises(NightjarError, match="no such part"):
        tables.read_part(path, INSTANCES, "t3")
    with pytest.raises(NightjarError, match="no such table"):
        tables.read(path, TASKS)


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    hashes = set()
    for name in ("a", "elsewhere/b"):
        path = tmp_path / name
        write(path, INSTANCES, [instance(str(n), input=f"text {n}" * 30) for n in range(500)])
        files = sorted(file for file in path.rglob("*") if file.is_file())
        hashes.add(
            tuple((str(file.relative_to(path)), hashlib.sha256(file.read_bytes()).digest()) for file in files)
        )
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("contract", "parts", "what"),
    [
        (INSTANCES, [[instance("a"), instance("a")]], "occurs more than once"),
        (INSTANCES, [[instance("a")], [instance("b")]], "in more than one part"),
        (INSTANCES, [[instance("a"), instance("a", "u"), instance("a")]], "occurs more than once"),
        (INSTANCES, [[instance("a", input=None)]], "has nulls"),
        (INSTANCES, [[instance("a", outputs=None)]], "has nulls"),
        (
            DOCUMENTS,
            [[{"dataset": "d", "file": "f", "id": "1", "title": "", "text": "t", "url": "", "date": None}]]
            * 2,
            "occurs more than once",
        ),
        (SCORES, [[SCORE | {"value": math.inf}]], "value is not within"),
        (SCORES, [[SCORE | {"value": math.nan}]], "value is not within"),
        (SPLIT_TASKS, [[{"track": "both", "task_id": "t", "role": "train", "reason": ""}]], "is not one of"),
    ],
)
def test_rows_that_break_the_contract(
    tmp_path: Path, contract: Table, parts: list[list[dict[str, Any]]], what: str
) -> None:
    with pytest.raises(NightjarError, match=what):
        write(tmp_path / "artifact", contract, *parts)
    assert list(tmp_path.iterdir()) == [], "nothing is published, nothing is left"


@pytest.mark.parametrize("part", ["../x", "a/b", ".hidden", "a b", "", "é"])
def test_unsafe_part_names(tmp_path: Path, part: str) -> None:
    with (
        pytest.raises(NightjarError, match="not a safe file name"),
        tables.ArtifactWriter(tmp_path / "a") as writer,
    ):
        writer.write(INSTANCES, [instance()], part=part)
    assert list(tmp_path.iterdir()) == []


def test_columns_must_be_the_contracts(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([instance()]).drop(["input"])
    with pytest.raises(NightjarError, match="columns are"), tables.ArtifactWriter(tmp_path / "a") as writer:
        writer.write(INSTANCES, table)


def test_an_error_leaves_the_old_version(tmp_path: Path) -> None:
    path = tmp_path / "artifact"
    write(path, INSTANCES, [instance("old")])
    with pytest.raises(ZeroDivisionError), tables.ArtifactWriter(path) as writer:
        writer.write(INSTANCES, [instance("new")])
        raise ZeroDivisionError
    assert tables.read_rows(path, INSTANCES)[0]["id"] == "old"
    write(path, INSTANCES, [instance("new")])
    assert tables.read_rows(path, INSTANCES)[0]["id"] == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["artifact"], "the old version is gone for good"


def test_leftovers_of_the_dead_go_and_those_of_the_living_stay(tmp_path: Path) -> None:
    path = tmp_path / "artifact"
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        living = tmp_path / f".artifact.tmp-{child.pid}"
        dead, odd = tmp_path / ".artifact.tmp-999999999", tmp_path / ".artifact.tmp-999999997-old"
        for leftover in (living, dead, odd):
            leftover.mkdir()
        (tmp_path / ".artifact.tmp-999999998").write_text("a file")
        write(path, INSTANCES, [instance()])
        assert {p.name for p in tmp_path.iterdir()} == {"artifact", living.name}
    finally:
        child.communicate()
    write(path, INSTANCES, [instance()])
    assert {p.name for p in tmp_path.iterdir()} == {"artifact"}


def test_a_part_that_is_no_ordinary_file_is_not_read(tmp_path: Path) -> None:
    write(tmp_path / "a", INSTANCES, [instance()])
    part = tmp_path / "a/instances/part-1.parquet"
    for make, what in (
        (os.mkfifo, "a named pipe"),
        (lambda path: path.symlink_to("nowhere"), "a broken link"),
    ):
        make(part)
        for read in (tables.read, tables.part_rows, lambda *given: list(tables.batches(*given))):
            with pytest.raises(NightjarError, match=rf"part-1\.parquet: {what}"):
                read(tmp_path / "a", INSTANCES)
        part.unlink()


def test_every_reader_names_the_part_that_is_damaged(tmp_path: Path) -> None:
    write(tmp_path / "a", INSTANCES, [instance()], [instance(task="u")])
    part = tmp_path / "a/instances/part-1.parquet"
    whole = part.read_bytes()
    for damaged in (b"no Parquet", b"", whole[: len(whole) // 2] + whole[-8:]):
        part.write_bytes(damaged)
        for read in (
            tables.read,
            tables.part_rows,
            lambda *given: list(tables.batches(*given)),
            lambda *given: tables.read_part(*given, "part-1"),
        ):
            with pytest.raises(NightjarError, match=r"instances/part-1\.parquet: unreadable"):
                read(tmp_path / "a", INSTANCES)
    (tmp_path / "a/rejected.parquet").write_bytes(b"no Parquet")
    with pytest.raises(NightjarError, match=r"rejected\.parquet: unreadable"):
        tables.read_rejected(tmp_path / "a")


def foreign(path: Path, **changes: Any) -> Path:
    """A table of instances as another program would write it, with some columns changed or (None) left out."""
    columns = {name: pa.array([value]) for name, value in instance().items()} | changes
    (path / "instances").mkdir(parents=True)
    table = pa.table({name: values for name, values in columns.items() if values is not None})
    pq.write_table(table, path / "instances/part-0.parquet")
    return path


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"input": None}, "no column input"),
        ({"input": pa.array([7])}, "column input is int64, not string"),
        ({"input": pa.array([["i"]])}, "column input is list<element: string>, not string"),
        ({"input": pa.array([b"i"])}, "column input is binary, not string"),
        ({"input": pa.array([None], pa.string())}, "column input has nulls"),
        ({"outputs": pa.array([[1]])}, "column outputs is list<element: int64>"),
        ({"outputs": pa.array([["o", None]])}, "column outputs has nulls"),
        ({"index": pa.array([1.0])}, "column index is double, not int32"),
        ({"index": pa.array([2**40])}, "unreadable"),
    ],
)
def test_columns_of_another_kind_are_refused(tmp_path: Path, changes: dict[str, Any], what: str) -> None:
    path = foreign(tmp_path / "a", **changes)
    readers = (
        lambda: tables.read(path, INSTANCES),
        lambda: list(tables.batches(path, INSTANCES)),
        lambda: tables.read_part(path, INSTANCES, "part-0"),
        lambda: tables.read_file(path / "instances/part-0.parquet", INSTANCES),
    )
    for reader in readers:
        with pytest.raises(NightjarError, match=rf"instances.*: {re.escape(what)}"):
            reader()
    rest = [name for name in INSTANCES.schema.names if name not in changes]
    assert len(tables.read(path, INSTANCES, rest)) == 1, "the other columns can be read"


def test_other_forms_of_the_same_kind_are_read(tmp_path: Path) -> None:
    forms = {
        "input": pa.array(["i"], pa.large_string()),
        "id": pa.array(["a"]).dictionary_encode(),
        "index": pa.array([0], pa.int64()),
    }
    assert tables.read_rows(foreign(tmp_path / "a", **forms), INSTANCES) == [instance()]


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = foreign(tmp_path / "a")
    table = pq.read_table(path / "instances/part-0.parquet")
    pq.write_table(table.append_column("id", pa.array(["b"])), path / "instances/part-0.parquet")
    with pytest.raises(NightjarError, match="2 columns id"):
        tables.read(path, INSTANCES, ["id"])
