"""Two data folders compared: what moved, what is not comparable, and which answers changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.question import Question
from nightjar.core import contracts, tables
from nightjar.core.contracts import Table
from nightjar.core.errors import NightjarError
from nightjar.core.paths import metrics_file
from nightjar.statistics import holm
from stages.report import comparison
from tests.questions import question, write_questions
from tests.stages.report.building import NAME, QUESTIONS, SCORED
from tests.stages.report.building_others import NAME as LONG
from tests.stages.report.test_stage import Page

TASKS = "tool_use"
PREDICTED = Path("data/predict", NAME, "combined")


@pytest.fixture()
def before(project: Path) -> Path:
    """An earlier version of data/, equal so far; the project is the current folder."""
    shutil.copytree("data", "before")
    return Path("before")


def change(artifact: Path, wanted: Table, edit: Callable[[dict[str, Any]], None]) -> None:
    """Edit the rows of one table of an artifact."""
    names = [name.name for name in artifact.iterdir() if name.is_dir()]
    every = [table for table in vars(contracts).values() if isinstance(table, Table) and table.name in names]
    found = {table.name: (table, tables.read_rows(artifact, table)) for table in every}
    for row in found[wanted.name][1]:
        edit(row)
    with tables.ArtifactWriter(artifact) as writer:
        for table, rows in found.values():
            writer.write(table, rows)


def was_wrong(row: dict[str, Any]) -> None:
    """The earlier system gave a wrong answer to every question of the first track."""
    if row["system"] == "combined" and row["track"] == "default":
        row["unscaled"] = 0.0


def by_cell(found: dict[str, Any]) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(row["system"], row["track"], row["metric"]): row for row in found["numbers"]}


def test_equal_versions_are_unchanged(before: Path) -> None:
    found = comparison.compare(Path("data"), before)
    assert {row["verdict"] for row in found["numbers"] if row["track"] == "default"} == {"unchanged"}
    few = [row for row in found["numbers"] if row["track"] == "xlingual"]
    assert few and {row["verdict"] for row in few} == {"not comparable"}
    assert all(row["reason"].startswith("n<20: ") for row in few)
    assert {row["metric"] for row in found["numbers"]} == {"rougeL", "exact_match"}, "those of the headline"
    counts = {row["system"]: row["n"] for row in found["answers"]}
    assert counts == dict(combined=208, supervised=208, tk_instruct=208, untuned=206)
    assert all((row["changed"], row["examples"]) == (0, []) for row in found["answers"])


def test_a_system_that_is_asked_in_another_way_is_named(before: Path) -> None:
    facts = Path(metrics_file(f"predict@{NAME}-combined"))
    for root, more in ((Path(), {"chat": {"template": "5e"}}), (before.parent / "there", {})):
        (root / facts.parent).mkdir(parents=True, exist_ok=True)
        (root / facts).write_text(json.dumps({"stage": "predict", **more}))
    shutil.copytree("there/data/metrics", before / "metrics", dirs_exist_ok=True)
    found = comparison.compare(Path("data"), before)
    ways = {"before": "no chat template", "now": "chat template"}
    assert found["prompts"] == [{"benchmark": NAME, "system": "combined", **ways}]
    told = "The prompts of combined differ. before: no chat template; now: chat template."
    assert told in comparison.files(found, "v1")["index.html"]


def test_what_moved_and_the_answers_that_changed(before: Path) -> None:
    change(before / "evaluate" / NAME, contracts.INSTANCE_SCORES, was_wrong)
    rows = tables.read_rows(PREDICTED, contracts.PREDICTIONS)
    right = {row["id"] for row in rows if row["answers"][0] == "right" and row["track"] == "default"}

    def other(row: dict[str, Any]) -> None:
        if row["id"] in right:
            row["answers"] = ["<b>another</b>", "second"]

    change(before / "predict" / NAME / "combined", contracts.PREDICTIONS, other)
    found = comparison.compare(Path("data"), before)
    cells = by_cell(found)
    scores = {
        (row["system"], row["track"], row["metric"]): row["value"]
        for row in tables.read_rows(SCORED, contracts.SCORES)
        if row["level"] == "overall"
    }
    for metric in ("rougeL", "exact_match"):
        row = cells.pop(("combined", "default", metric))
        assert row["verdict"] == "better" and row["before"] == 0
        assert row["value"] == row["now"] == pytest.approx(scores["combined", "default", metric], abs=1e-4)
        assert 0 < row["low"] < row["value"] < row["high"] and row["p_corrected"] <= comparison.ALPHA
    assert row["better"] == len(right)
    assert {row["verdict"] for row in cells.values()} == {"unchanged", "not comparable"}
    known = [row for row in found["numbers"] if row["p"] is not None]
    assert [row["p_corrected"] for row in known] == holm([row["p"] for row in known])
    (answers,) = [row for row in found["answers"] if row["system"] == "combined"]
    assert answers["changed"] == len(right) and len(answers["examples"]) == comparison.EXAMPLES
    example = answers["examples"][0]
    assert example["now"] == {"answer": "right", "score": 100.0}
    assert example["before"]["answer"] == "<b>another</b>"
    assert example["references"] == ["right", "also right"] and example["input"].startswith("Input | of <")

    pages = comparison.files(found, "v<1>")
    assert json.loads(pages["comparison.json"]) == found
    page = Page()
    page.feed(pages["index.html"])
    assert not page.open and "b" not in page.tags and "Compared with v&lt;1&gt;" in pages["index.html"]
    (line,) = [row for row in page.rows if row[2:5] == ["English track", "combined", "exact match (%)"]]
    assert line[0] == "better" and line[6] == "0.0" and line[8].startswith("+")
    assert pages["index.html"].partition(" numbers: ")[2].startswith("2 better, ")
    assert ["before", "<b>another</b>", "0"] in page.rows and ["now", "right", "100"] in page.rows


def test_a_question_that_changed_is_not_compared(before: Path) -> None:
    def reworded(row: dict[str, Any]) -> None:
        row["references"] = ["other"]

    change(before / "questions" / NAME, contracts.QUESTIONS, reworded)
    found = by_cell(comparison.compare(Path("data"), before))
    assert found["combined", "default", "rougeL"]["verdict"] == "not comparable"
    assert "another input or other references" in found["combined", "default", "rougeL"]["reason"]
    assert Path(QUESTIONS).is_dir()


def test_the_average_of_a_benchmark(workdir: Path, built_with_long: Path) -> None:
    """The mean counts the instances of all ten tasks, whatever one has: its row is that of the leaderboard."""
    shutil.copytree(built_with_long / "data", "data")
    shutil.copytree("data", "before")
    found = by_cell(comparison.compare(Path("data"), Path("before")))
    row = found["tk_instruct", "score", "score"]
    rows = tables.read_rows(Path("data/evaluate", LONG), contracts.SCORES)
    (score,) = [it for it in rows if (it["system"], it["track"]) == ("tk_instruct", "score")]
    assert row["now"] == row["before"] == pytest.approx(score["value"], abs=1e-4) and row["n"] == score["n"]
    assert (row["verdict"], row["p"], row["low"], row["high"]) == ("unchanged", 1, 0, 0)
    few = [it for it in found.values() if it["n"] < 20]
    assert few and all((it["verdict"], it["p"]) == ("not comparable", None) for it in few)
    assert all(it["reason"] == f"n<20: {it['n']} instances" for it in few)


def write_tasks(root: Path, right: dict[str, tuple[int, int]]) -> None:
    """An evaluation whose system answers so many questions of each task right, of so many."""
    questions: list[Question] = []
    scores: list[dict[str, Any]] = []
    for task, (count, n) in right.items():
        for at in range(n):
            key = {"track": task, "category": task, "task_id": task, "id": f"{at:03}"}
            questions.append(question(key, benchmark=TASKS))
            score = {"benchmark": TASKS, "system": "untuned", "part": "accuracy"}
            scores.append(key | score | {"unscaled": float(at < count)})
    write_questions(root / "questions" / TASKS, questions)
    with tables.ArtifactWriter(root / "evaluate" / TASKS) as writer:
        writer.write(contracts.INSTANCE_SCORES, scores)


def test_the_mean_of_tasks_counts_each_task_the_same(workdir: Path) -> None:
    """As the leaderboard's: of the tasks that papers have, whatever the number of their instances."""
    write_tasks(Path("now"), {"svamp": (30, 40), "asdiv": (60, 80), "dateset": (1, 30)})
    write_tasks(Path("then"), {"svamp": (20, 40), "asdiv": (20, 80), "dateset": (1, 30)})
    found = comparison.compare(Path("now"), Path("then"))
    (row,) = [row for row in found["numbers"] if row["track"] == "accuracy"]
    assert row["n"] == 150
    now, before = (100 / 30 + 75 + 75) / 3, (100 / 30 + 50 + 25) / 3
    assert (row["now"], row["before"], row["value"]) == pytest.approx((now, before, now - before), abs=1e-3)
    assert row["low"] < row["value"] < row["high"] and row["verdict"] == "better"

    (line,) = [it for it in comparison.lines(found) if it["track"] == "mean of tasks"]
    assert (line["metric"], line["now"], line["difference"]) == ("accuracy (%)", "51.1", "+25.0")
    write_tasks(Path("then"), {"svamp": (20, 40), "asdiv": (20, 70), "dateset": (1, 30)})
    found = comparison.compare(Path("now"), Path("then"))
    (row,) = [row for row in found["numbers"] if row["track"] == "accuracy"]
    assert (row["verdict"], row["value"]) == ("not comparable", None)
    assert row["before"] == pytest.approx(27.301, abs=1e-3)
    assert row["reason"] == "other instances: 10 new, 0 gone, in ASDiv"


def test_a_system_that_only_one_version_has(before: Path) -> None:
    shutil.rmtree(before / "predict" / NAME / "combined")

    def renamed(row: dict[str, Any]) -> None:
        if row["system"] == "combined":
            row["system"] = "earlier"

    change(before / "evaluate" / NAME, contracts.INSTANCE_SCORES, renamed)
    found = comparison.compare(Path("data"), before)
    cells = by_cell(found)
    assert "has no such score" in cells["combined", "default", "rougeL"]["reason"]
    assert cells["earlier", "default", "rougeL"]["now"] is None
    assert [row["system"] for row in found["answers"]] == ["supervised", "tk_instruct", "untuned"]
    assert "earlier" in comparison.files(found, "x")["index.html"]


def test_a_folder_without_an_evaluation_is_an_error(before: Path) -> None:
    shutil.rmtree(before / "evaluate")
    with pytest.raises(NightjarError, match="there is no evaluation"):
        comparison.compare(Path("data"), before)
