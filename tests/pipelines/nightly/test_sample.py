"""The sample of a night: within the budget, the same every night, and drawn again only when it no longer fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.evaluation import WHOLE
from nightjar.benchmarks.records import read_questions
from nightjar.core import paths, tables
from nightjar.params.drivers import Nightly
from pipelines.graph.graph import Graph, Stage
from pipelines.nightly import sample
from pipelines.nightly.stages import Night
from stages._runtime import history
from tests.questions import question, write_questions

# Benchmarks by their tasks.
TASKS = {"many": dict.fromkeys(map(str, range(10)), 20), "one": {"t": 300}}


def questions(root: Path) -> None:
    for name, tasks in TASKS.items():
        keys = [{"task_id": task, "id": f"i{n}"} for task, count in tasks.items() for n in range(count)]
        asked = (question(key, benchmark=name) for key in keys)
        write_questions(root / "data/questions" / name, asked)


def stage(name: str, benchmark: str) -> Stage:
    return Stage(name, "x", "", (f"data/questions/{benchmark}", "code.py"), (), (), {}, (), ())


def drawn(
    root: Path, minutes: float | None, before: dict[str, Any]
) -> tuple[dict[str, Any], str, dict[str, set[Any]]]:
    """A night's sample: the facts, the line, and the questions that remain, in a clone of its own."""
    work = root / "clone"
    tables.remove(work)
    questions(work)
    names = {
        "predict@many-a": "many",
        "predict@many-b": "many",
        "evaluate@many": "many",
        "predict@one-a": "one",
    }
    graph = Graph(root, {name: stage(name, benchmark) for name, benchmark in names.items()})
    shown: Any = None  # a sample shows nothing
    night = Night(graph, graph, work, root / "logs", shown)
    settings = Nightly(minutes=minutes)
    facts, line = sample.draw(night, settings, before)
    asked = {name: {one.key for one in read_questions(work / "data/questions" / name)} for name in TASKS}
    return facts, line, asked


def measured(facts: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The facts of a night whose stages took so long for each question."""
    return {name: {**told, "seconds": seconds * told["questions"]} for name, told in facts.items()}


@pytest.fixture()
def root(tmp_path: Path) -> Path:
    # A rebuild took 4 seconds a question of `many`, all stages together, and 1 of `one`.
    for name, seconds in (
        ("predict@many-a", 300),
        ("predict@many-b", 400),
        ("evaluate@many", 100),
        ("predict@one-a", 300),
    ):
        history.append(tmp_path, name, seconds)
    return tmp_path


def test_without_a_budget_every_question_is_asked(root: Path) -> None:
    facts, line, asked = drawn(root, None, {})
    assert (facts, line) == ({}, "") and [len(it) for it in asked.values()] == [200, 300]


def test_the_largest_sample_that_is_expected_to_fit_is_drawn_and_remains(root: Path) -> None:
    facts, line, first = drawn(root, 10, {})
    # 80% of 600 s. 9 a task of `many` are 90 questions for 360 s, and 90 of `one` take 90 s; 10 a task do not fit.
    assert facts["predict@many-a"] == facts["evaluate@many"] == {"limit": 9, "questions": 90}
    assert facts["predict@one-a"] == {"limit": 90, "questions": 90}
    assert line == (
        "new sample for 10 min: 90 of data/questions/many, 90 of data/questions/one; expected: 8 min"
    )
    assert {task for task, _ in first["many"]} == set(TASKS["many"])
    # The artifact as it was is beside the sample, for files of predictions.
    whole = root / "clone/data/questions/one" / WHOLE
    assert len(read_questions(whole)) == 300 and {one.key for one in read_questions(whole)} > first["one"]
    # The measured times replace the history: they are others, and the sample still fits.
    again, line, second = drawn(root, 10, measured(facts, 1.1))
    assert (again, line, second) == (facts, "", first)


def test_a_sample_that_no_longer_fits_is_replaced_by_one_of_the_same_questions(root: Path) -> None:
    facts, _, first = drawn(root, 10, {})
    for minutes, smaller in ((4, True), (25, False)):
        other, line, second = drawn(root, minutes, measured(facts, 1.1))
        assert line.startswith(f"new sample for {minutes} min: ")
        for name in TASKS:
            assert second[name] < first[name] if smaller else second[name] > first[name]
        assert other["predict@one-a"]["questions"] == len(second["one"])
    other, line, second = drawn(root, 10_000, measured(facts, 1.1))
    assert [len(it) for it in second.values()] == [200, 300]
    assert not (root / "clone/data/questions/one" / WHOLE).exists()
    # All of it takes little of the budget, and is not drawn again.
    assert drawn(root, 10_000, measured(other, 1.1))[1] == ""


def test_a_benchmark_of_which_no_time_is_known_gets_the_smallest_sample(root: Path) -> None:
    (root / paths.HISTORY).unlink()
    history.append(root, "predict@one-a", 300)
    facts, _, _ = drawn(root, 2, {})
    assert facts["predict@many-a"] == {"limit": 2, "questions": 20}
    assert facts["predict@one-a"] == {"limit": 96, "questions": 96}
    # The next night knows what the first one measured.
    facts, _, _ = drawn(root, 10, measured(facts, 0.5))
    # Half a second for each question and stage: 480 s are enough for 240 of `one` and, of `many`, all 200.
    assert [facts[name]["questions"] for name in ("predict@many-a", "predict@one-a")] == [200, 300]


def test_a_budget_that_is_too_small_gets_the_smallest_sample_and_says_so(root: Path) -> None:
    facts, line, _ = drawn(root, 0.1, {})
    assert {told["questions"] for told in facts.values()} == {20}
    assert line.endswith("; expected: 100 s")
    assert drawn(root, 0.1, measured(facts, 1.0))[1] == "", "the same sample is no new one"


def test_an_entry_of_an_earlier_version_calls_questions_asked(root: Path) -> None:
    facts, _, _ = drawn(root, 1.0, {})
    now = measured(facts, 0.5)
    before = {
        name: {("asked" if key == "questions" else key): it for key, it in of.items()}
        for name, of in now.items()
    }
    assert drawn(root, 1.0, before) == drawn(root, 1.0, now)
