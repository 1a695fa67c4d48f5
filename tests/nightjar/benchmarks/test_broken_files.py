"""The published files of every benchmark with one value of another type, and with broken bytes.

A row with a wrong value is refused, or the value is not read: no record differs from those of the whole file.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.mutate import mutate_bytes
from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.question_registry import benchmark_names, load_question_set
from nightjar.core.errors import NightjarError
from tests.conftest import ROOT

SAMPLE = ROOT / "data" / "sample"
# The file of the sample, by the benchmark and the file's name in its folder.
FILES = {
    (name, path.relative_to(SAMPLE / name).as_posix()): path
    for name in benchmark_names()
    if load_question_set(name).loads_files
    for path in sorted((SAMPLE / name).rglob("*"))
    if path.is_file() and "held_out" not in path.parts and ".predictions." not in path.name
}
# MLQA is in the form of SQuAD.
FILES["reading", "dev.json"] = SAMPLE / "tool_use/mlqa/test-context-en-question-en.json"
NAN = float("nan")
WRONG_VALUES: tuple[Any, ...] = (None, 7, True, "", " ", "\ud800", [], {}, [None], {"a": "b"}, [["x"]], NAN)
WRONG_TEXTS = (
    "",
    "{",
    "[1,",
    "{}",
    "7",
    '"text"',
    "[" * 5000 + "]" * 5000,
    '{"data": [{"paragraphs": [1]}]}',
)
# The side of a split depends on all rows; an article's title may be of any type.
UNCOMPARED_PARTS = ("side", "title")
# These may stand for an optional value that is missing.
MISSING_VALUES = (None, "", " ")
# Many values of ZeroSCROLLS are optional; a question of ProtoQA may have other clusters.
OPTIONAL_VALUES = ("zeroscrolls", "protoqa")


def load_rows(name: str, folder: Path) -> list[Record | Refused]:
    """Load the rows of a folder. What is refused has a reason of one line, and all texts are valid Unicode."""
    rows: list[Record | Refused] = []
    for row in load_question_set(name).load(folder):
        if isinstance(row, Refused):
            assert "\n" not in row.reason
            (row.reason + row.raw + (row.id or "")).encode()
            rows.append(row)
        else:
            "".join((row.id, *row.references)).encode()
            rows.append(
                replace(
                    row, parts={key: part for key, part in row.parts.items() if key not in UNCOMPARED_PARTS}
                )
            )
    return rows


def loads(
    name: str, target: Path, folder: Path, contents: Iterator[bytes]
) -> Iterator[list[Record | Refused] | None]:
    """Write each content to the file, and yield the rows of the folder; None for one that is refused in one line."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for content in contents:
        target.write_bytes(content)
        try:
            yield load_rows(name, folder)
        except NightjarError as error:
            assert "\n" not in str(error) and error.where
            yield None


def is_wrong(value: Any, original: Any) -> bool:
    """Tell whether the value is of another type than the original one, or none."""
    both_numbers = {type(value), type(original)} <= {int, float}
    return value is None or value is NAN or not (type(value) is type(original) or both_numbers)


def broken_values(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the JSON value with a wrong value in one place, and that wrong value.

    Of a list the first item is broken, of an object its first six.
    """
    items: list[tuple[Any, Any]] = list(value.items())[:6] if isinstance(value, dict) else []
    if isinstance(value, list):
        items = list(enumerate(value[:1]))
    for key, item in items:
        wrongs = [(wrong, wrong) for wrong in WRONG_VALUES if is_wrong(wrong, item)]
        for inside, wrong in (*wrongs, *broken_values(item)):
            changed = copy.copy(value)
            changed[key] = inside
            yield changed, wrong


@pytest.mark.parametrize(("name", "file"), [key for key in FILES if key[1].endswith((".json", ".jsonl"))])
def test_a_value_of_another_type_is_refused_or_not_read(name: str, file: str, tmp_path: Path) -> None:
    text, others = FILES[name, file].read_text("utf-8"), ""
    if file.endswith(".jsonl"):
        text, _, others = text.partition("\n")
    broken = list(broken_values(json.loads(text)))
    contents = [text, *(json.dumps(value) for value, _ in broken)]
    rows, *rows_of_broken = loads(
        name, tmp_path / file, tmp_path, (f"{content}\n{others}".encode() for content in contents)
    )
    assert rows and all(isinstance(row, Record) for row in rows[:1])
    refusals = [rows is None or any(isinstance(row, Refused) for row in rows) for rows in rows_of_broken]
    assert sum(refusals) > 10
    for broken_rows, (_, wrong) in zip(rows_of_broken, broken, strict=True):
        if name not in OPTIONAL_VALUES and wrong not in MISSING_VALUES:
            assert [row for row in broken_rows or [] if isinstance(row, Record) and row not in rows] == []


@pytest.mark.parametrize(("name", "file"), FILES)
def test_broken_bytes_are_read_or_refused(name: str, file: str, tmp_path: Path) -> None:
    data, rng = FILES[name, file].read_bytes(), random.Random(file)
    contents = [*(text.encode() for text in WRONG_TEXTS), *(mutate_bytes(data, rng) for _ in range(10))]
    assert len(list(loads(name, tmp_path / file, tmp_path, iter(contents)))) == len(contents)
