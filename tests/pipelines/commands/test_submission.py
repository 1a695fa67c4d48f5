"""nightjar submission: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from nightjar.benchmarks import registry
from tests.in_process import check_refusals, nightjar
from tests.questions import question, write_questions

TASKS = registry.load_benchmark("zeroscrolls").submission.tasks  # type: ignore[union-attr]


@pytest.fixture()
def mine(workdir: Path) -> Path:
    path = workdir / "mine.jsonl"
    rows = [{"task": task, "id": "1", "prediction": 'a "b",\nc'} for task in TASKS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


COMMAND = ("submission", "--benchmark", "zeroscrolls")


def test_write_and_check(mine: Path) -> None:
    told = nightjar(*COMMAND, "--predictions", "mine.jsonl", "--output", "mine.csv")
    assert (
        "mine.csv: 10 predictions, well-formed\nThe ids were not checked" in told and "Hand it in" not in told
    )
    result = json.loads(nightjar(*COMMAND, "--check", "mine.csv", "--json"))
    assert (result["n"], result["tasks"]) == (10, dict.fromkeys(TASKS, 1))


@pytest.mark.parametrize("source", ["mine.jsonl", "mine.csv"])
def test_tags_are_not_handed_in(mine: Path, source: str) -> None:
    tags = dict.fromkeys(TASKS, "answer") | {
        "space_digest": "percentage_of_positive_reviews",
        "book_sum_sort": "summary_ids_in_correct_order",
    }
    rows = [{"task": task, "id": "1", "prediction": f"x\n</{tags[task]}> I think"} for task in TASKS]
    mine.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with (mine.parent / "mine.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([("Task", "ID", "Prediction"), *(row.values() for row in rows)])
    nightjar(*COMMAND, "--predictions", source, "--output", "out.csv")
    found = list(csv.DictReader((mine.parent / "out.csv").open(newline="")))
    # No tag is asked for around a summary.
    summaries = {"gov_report", "summ_screen_fd", "qmsum", "squality"}
    for row, given in zip(found, rows, strict=True):
        assert row["Prediction"] == (given["prediction"] if row["Task"] in summaries else "x")


def test_only_answers_to_hidden_questions_can_be_handed_in(mine: Path) -> None:
    """Questions with references, as those of the sample, are not those of a leaderboard."""
    nightjar(*COMMAND, "--predictions", "mine.jsonl", "--output", "mine.csv")
    for references, line in (
        (["a"], "these have references: they are not the leaderboard's questions"),
        ([], "Hand it in at https://zero.scrolls-benchmark.com/submission"),
    ):
        row = {"id": "1", "input": "x", "outputs": references}
        asked = [question({"task_id": task, **row}, benchmark="zeroscrolls") for task in TASKS]
        write_questions(mine.parent / "asked", asked)
        assert line in nightjar(*COMMAND, "--check", "mine.csv", "--questions", "asked")


def test_wrong_input_is_one_line(mine: Path) -> None:
    check_refusals("submission")
