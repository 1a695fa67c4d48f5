"""The file of a leaderboard: what is written is what is read, and each fault is one line."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks.leaderboard_file import AnswerTable, SubmittedAnswer
from nightjar.core.errors import NightjarError

FORM = AnswerTable(("one", "two"), "https://nowhere", ("Task", "ID", "Prediction"), "!@#$%^&*()")
HEAD = "Task,ID,Prediction\n"
texts = st.text(st.characters(blacklist_categories=("Cs",)), max_size=20)
odd = st.sampled_from(
    [
        "NA",
        "null",
        "nan",
        "",
        " ",
        "None",
        'say "no"',
        "a,b",
        "a\nb",
        "a\r\nb",
        "a\rb",
        "\ufeffx",
        "#N/A",
        "1e5",
        "007",
    ]
)


def put(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def answer(task: str, id: str, prediction: str) -> SubmittedAnswer:
    return SubmittedAnswer(task, id, [prediction])


def answers(path: Path) -> list[SubmittedAnswer]:
    return [answer for _, answer in FORM.read(path)]


@given(st.lists(st.tuples(odd | texts, odd | texts), min_size=1, max_size=5, unique_by=lambda pair: pair[0]))
def test_what_is_written_is_read_again(tmp_path_factory: Any, pairs: list[tuple[str, str]]) -> None:
    path = tmp_path_factory.mktemp("out") / "mine.csv"
    rows = [answer(task, id, text) for task in FORM.tasks for id, text in pairs]
    try:
        assert FORM.write(path, rows) == len(rows)
    except NightjarError as error:
        # pandas does not read a NUL, and rarely other control characters: that is refused before it is written.
        assert "leaderboard" in str(error) and not path.exists()
        return
    assert answers(path) == rows
    table = pd.read_csv(path, dtype=object, keep_default_na=False, na_values=["!@#$%^&*()"])
    assert [tuple(row) for row in table.values] == [(row.task, row.id, *row.predictions) for row in rows]


def test_columns_in_any_order_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = put(tmp_path / "p.csv", '\ufeffID,Task,Prediction\r\n1,one,"a ""b"",\n\nc"\r\n\r\n2,two,NA\r\n')
    assert list(FORM.read(path)) == [
        (f"{path}:2", answer("one", "1", 'a "b",\n\nc')),
        (f"{path}:6", answer("two", "2", "NA")),
    ]


def test_an_answer_of_a_megabyte(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    rows = [answer(task, "1", 'a "b"\n' * 200_000) for task in FORM.tasks]
    FORM.write(tmp_path / "p.csv", rows)
    assert answers(tmp_path / "p.csv") == rows
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the columns are ''"),
        ("Task,ID\none,1\n", "the columns are 'Task, ID'"),
        ("Task,ID,Prediction,More\n", "the columns are"),
        ("Task,ID,ID\n", "the columns are"),
        ("task,id,prediction\n", "the columns are"),
        (HEAD, "no predictions"),
        (HEAD + "one,1\n", ":2: 2 cells, not 3"),
        (HEAD + "one,1,a,b\n", ":2: 4 cells, not 3"),
        (HEAD + "six,1,a\n", ":2: the Task is 'six'"),
        (HEAD + 'one,1,"a\nb"\none,1,c\n', ":4: the ID '1' of one is in line 2 already"),
        (HEAD + 'one,1,"a\n', "not CSV"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(NightjarError) as raised:
        answers(put(tmp_path / "p.csv", text))
    assert reason in str(raised.value)


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_bytes(HEAD.encode() + b"one,1,\xe9\n")
    with pytest.raises(NightjarError, match="not UTF-8"):
        answers(tmp_path / "p.csv")


@pytest.mark.parametrize(
    ("rows", "ids", "reason"),
    [
        ([("one", "1", "a")], {}, "no predictions for two; all 2 tasks are needed"),
        ([("one", "1", "a"), ("two", "1", "!@#$%^&*()")], {}, "cannot be read by the leaderboard"),
        ([("one", "1", "a"), ("two", "1", "\ud800")], {}, "cannot be read by the leaderboard"),
        (
            [("one", "1", "a"), ("two", "1", "a")],
            {"one": ["1", "2"]},
            "1 ids of one are missing, such as '2'",
        ),
        ([("one", "1", "a"), ("two", "1", "a")], {"two": ["2"]}, "1 ids of two are missing, such as '2'"),
        (
            [("one", "1", "a"), ("one", "2", "a"), ("two", "1", "a")],
            {"one": ["1"]},
            "are redundant, such as '2'",
        ),
    ],
)
def test_a_file_that_is_not_whole(rows: list[Any], ids: dict[str, list[str]], reason: str) -> None:
    with pytest.raises(NightjarError, match=reason.replace("(", r"\(")):
        FORM.check([answer(*row) for row in rows], "p.csv", ids)


def test_a_faulty_file_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no predictions for two"):
        FORM.write(tmp_path / "p.csv", [answer("one", "1", "a")])
    assert not (tmp_path / "p.csv").exists()
