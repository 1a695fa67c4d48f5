"""From predictions in any form to a leaderboard's file, and the check of one."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.submit import check_submission, submit
from nightjar.core.errors import NightjarError

TASKS = tuple(registry.load_benchmark("zeroscrolls").tasks)


def put(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


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
    with pytest.raises(
        NightjarError, match="it has no leaderboard's file; those that have are protoqa, zeroscrolls"
    ):
        check_submission("tool_use", tmp_path / "p.csv")


def test_a_file_is_scored_by_the_tasks_that_have_references(tmp_path: Path) -> None:
    from nightjar.benchmarks.file_scoring import score_files

    json_lines(tmp_path / "mine.jsonl", "prediction", '"NA"')
    submit("zeroscrolls", tmp_path / "mine.jsonl", tmp_path / "mine.csv")
    row = '{"task": "musique", "id": "%s", "references": ["na", "b"]}\n'
    references = put(tmp_path / "r.jsonl", "".join(row % number for number in "12"))
    result = score_files("zeroscrolls", tmp_path / "mine.csv", references)
    assert (result["metrics"], result["missing"]) == ({"musique": 100.0}, 0)
    put(tmp_path / "r.jsonl", row % "1")
    with pytest.raises(NightjarError, match=r"mine.csv:17: no reference has the id '2'"):
        score_files("zeroscrolls", tmp_path / "mine.csv", tmp_path / "r.jsonl")
