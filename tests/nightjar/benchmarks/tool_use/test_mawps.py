"""MAWPS: lists of word problems, a file a collection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.question import Record
from nightjar.benchmarks.tool_use.formats import load_mawps as load
from nightjar.core.errors import NightjarError
from tests.nightjar.benchmarks.tool_use.files import kept, put, reasons

ROW = {
    "iIndex": 1, "sQuestion": " Ann had 8 hats. She lost 3. How many has she?", "lEquations": ["X=8-3"],
    "lSolutions": [5.0], "lAlignments": [4, 20],
}  # fmt: skip


def test_the_fields(tmp_path: Path) -> None:
    put(tmp_path, "mawps/AddSub.json", json.dumps([ROW, ROW | {"iIndex": "x", "lSolutions": [1.5, -2]}]))
    put(tmp_path, "mawps/SingleOp.json", json.dumps([{**ROW, "lEquations": None}]))
    question = "Ann had 8 hats. She lost 3. How many has she?"
    parts = {"question": question, "equations": ["X=8-3"]}
    assert list(load(tmp_path)) == [
        Record("mawps", "AddSub-1", "mawps/AddSub.json", parts, ("5",)),
        Record("mawps", "AddSub-x", "mawps/AddSub.json", parts, ("1.5; -2",)),
        Record("mawps", "SingleOp-1", "mawps/SingleOp.json", {"question": question}, ("5",)),
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"iIndex": None}, "no iIndex"),
        ({"iIndex": [1]}, "iIndex is not a number"),
        ({"iIndex": 2}, "the id 'AddSub-2' occurs twice"),
        ({"sQuestion": " "}, "sQuestion is blank"),
        ({"lSolutions": []}, "lSolutions is not a list of at least one number"),
        ({"lSolutions": 5}, "lSolutions is not a list of at least one number"),
        ({"lSolutions": ["5"]}, "solution is not a number"),
        ({"lSolutions": [float("inf")]}, "solution is not a number"),
        ({"lEquations": "X=8-3"}, "lEquations is not a list"),
        ({"lEquations": [3]}, "an equation is not a string"),
    ],
)
def test_refused_rows(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    put(tmp_path, "mawps/AddSub.json", json.dumps([ROW | {"iIndex": 2}, ROW | change]))
    rows = list(load(tmp_path))
    assert len(kept(rows)) == 1 and reasons(rows) == [reason]


def test_no_files_and_files_that_are_no_lists(tmp_path: Path) -> None:
    (tmp_path / "mawps").mkdir()
    with pytest.raises(NightjarError, match=r"no files .* of MAWPS"):
        list(load(tmp_path))
    put(tmp_path, "mawps/AddSub.json", "{}")
    with pytest.raises(NightjarError, match="not a JSON list"):
        list(load(tmp_path))
