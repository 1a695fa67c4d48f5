"""The file of a leaderboard: what is written is what is read, and each fault is one line."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks.submission import Answer, Submission, check, read, write
from nightjar.benchmarks.submit import check_submission, submit
from nightjar.core.errors import NightjarError

FORM = Submission(("Task", "ID", "Prediction"), ("one", "two"), "https://nowhere", "!@#$%^&*()")
TASKS = ("gov_report", "summ_screen_fd", "qmsum", "squality", "qasper")
TASKS += ("narrative_qa", "quality", "musique", "space_digest", "book_sum_sort")
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


def answers(path: Path) -> list[Answer]:
    return [answer for _, answer in read(FORM, path)]


@given(st.lists(st.tuples(odd | texts, odd | texts), min_size=1, max_size=5, unique_by=lambda pair: pair[0]))
def test_what_is_written_is_read_again(tmp_path_factory: Any, pairs: list[tuple[str, str]]) -> None:
    path = tmp_path_factory.mktemp("out") / "mine.csv"
    rows = [Answer(task, id, text) for task in FORM.tasks for id, text in pairs]
    try:
        assert write(FORM, path, rows) == len(rows)
    except NightjarError as error:
        # pandas does not read a NUL, and rarely other control characters: that is refused before it is written.
        assert "leaderboard" in str(error) and not path.exists()
        return
    assert answers(path) == rows
    table = pd.read_csv(path, dtype=object, keep_default_na=False, na_values=["!@#$%^&*()"])
    assert [tuple(row) for row in table.values] == [tuple(row) for row in rows]


def test_columns_in_any_order_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = put(tmp_path / "p.csv", '\ufeffID,Task,Prediction\r\n1,one,"a ""b"",\n\nc"\r\n\r\n2,two,NA\r\n')
    assert list(read(FORM, path)) == [
        (f"{path}:2", Answer("one", "1", 'a "b",\n\nc')),
        (f"{path}:6", Answer("two", "2", "NA")),
    ]


def test_a_table_that_pandas_wrote(tmp_path: Path) -> None:
    rows = [("one", "1", "null"), ("one", "2", 'x "y"\nz'), ("two", "1", "")]
    pd.DataFrame(rows, columns=FORM.columns).to_csv(tmp_path / "p.csv", index=False)
    assert answers(tmp_path / "p.csv") == [Answer(*row) for row in rows]


def test_an_answer_of_a_megabyte(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    rows = [Answer(task, "1", 'a "b"\n' * 200_000) for task in FORM.tasks]
    write(FORM, tmp_path / "p.csv", rows)
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
    assert "\n" not in str(raised.value)


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
        check(FORM, [Answer(*row) for row in rows], "p.csv", ids)


def test_a_faulty_file_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no predictions for two"):
        write(FORM, tmp_path / "p.csv", [Answer("one", "1", "a")])
    assert not (tmp_path / "p.csv").exists()


def json_lines(path: Path, key: str, value: str) -> Path:
    rows = (
        f'{{"task": "{task}", "id": "{number}", "{key}": {value}}}\n' for task in TASKS for number in "12"
    )
    return put(path, "".join(rows))


def test_from_json_lines_to_a_file_that_is_checked(tmp_path: Path) -> None:
    mine = json_lines(tmp_path / "mine.jsonl", "prediction", '"NA"')
    references = json_lines(tmp_path / "references.jsonl", "references", '["x"]')
    done = submit("zeroscrolls", mine, tmp_path / "mine.csv", references)
    assert done["n"] == 20
    assert done["tasks"] == dict.fromkeys(TASKS, 2)
    checked = check_submission("zeroscrolls", tmp_path / "mine.csv", references)
    assert checked == done
    assert checked["ids_checked"]
    again = submit("zeroscrolls", tmp_path / "mine.csv", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "mine.csv").read_bytes()
    assert not again["ids_checked"]
    text = (tmp_path / "mine.csv").read_text()
    rows = list(csv.reader(io.StringIO(text)))
    put(tmp_path / "less.csv", "\n".join(",".join(row) for row in rows if row[:2] != ["qmsum", "2"]))
    with pytest.raises(NightjarError, match="1 ids of qmsum are missing, such as '2'"):
        check_submission("zeroscrolls", tmp_path / "less.csv", references)


def test_predictions_that_are_refused(tmp_path: Path) -> None:
    lines = put(tmp_path / "p.jsonl", '{"task": "x", "id": "1", "prediction": "a"}\n')
    with pytest.raises(NightjarError, match=":1: no task 'x'"):
        submit("zeroscrolls", lines, tmp_path / "out.csv")
    lines = put(tmp_path / "p.jsonl", '{"task": "qmsum", "id": "1", "prediction": 3}\n')
    with pytest.raises(NightjarError, match=":1: prediction is missing or not a text"):
        submit("zeroscrolls", lines, tmp_path / "out.csv")
    with pytest.raises(NightjarError, match="this file is read by the same command"):
        mine = json_lines(tmp_path / "mine.jsonl", "prediction", '"NA"')
        submit("zeroscrolls", mine, mine)


def test_a_benchmark_without_a_leaderboard_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="it has no leaderboard's file; those that have are zeroscrolls"):
        check_submission("protoqa", tmp_path / "p.csv")


def test_a_file_is_scored_by_the_tasks_that_have_references(tmp_path: Path) -> None:
    from nightjar.benchmarks.score import score_files

    json_lines(tmp_path / "mine.jsonl", "prediction", '"NA"')
    submit("zeroscrolls", tmp_path / "mine.jsonl", tmp_path / "mine.csv")
    row = '{"task": "musique", "id": "%s", "references": ["na", "b"]}\n'
    references = put(tmp_path / "r.jsonl", "".join(row % number for number in "12"))
    result = score_files("zeroscrolls", tmp_path / "mine.csv", references)
    assert (result["metrics"], result["missing"]) == ({"musique": 100.0}, 0)
    put(tmp_path / "r.jsonl", row % "1")
    with pytest.raises(NightjarError, match=r"mine.csv:17: no reference has the id '2'"):
        score_files("zeroscrolls", tmp_path / "mine.csv", tmp_path / "r.jsonl")


def test_files_by_task_round_trip(tmp_path: Path) -> None:
    mine = json_lines(tmp_path / "mine.jsonl", "prediction", '"NA \\"é\\"\\n"')
    submit("zeroscrolls", mine, tmp_path / "mine.csv", by_task=tmp_path / "tasks")
    assert sorted(path.stem for path in (tmp_path / "tasks").iterdir()) == sorted(TASKS)
    submit("zeroscrolls", tmp_path / "tasks", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "mine.csv").read_bytes()
    (tmp_path / "tasks" / "qmsum.json").unlink()
    with pytest.raises(NightjarError, match="no predictions for qmsum"):
        submit("zeroscrolls", tmp_path / "tasks", tmp_path / "again.csv")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"1": 3}', "the prediction of '1' is not a text"),
        ("[1]", "not a JSON object"),
        ('{"1": "a", "1": "b"}', "occurs twice"),
    ],
)
def test_files_by_task_that_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "tasks").mkdir()
    put(tmp_path / "tasks" / "qmsum.json", text)
    with pytest.raises(NightjarError, match=reason):
        submit("zeroscrolls", tmp_path / "tasks", tmp_path / "out.csv")
