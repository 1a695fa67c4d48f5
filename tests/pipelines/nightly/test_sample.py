"""The sample of a night: as many questions of each task as the limit allows, and the same every night."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nightjar.benchmarks.evaluation_folder import WHOLE
from nightjar.benchmarks.records import read_questions
from nightjar.core import tables
from pipelines.graph.graph import Graph, Stage
from pipelines.nightly import sample
from pipelines.nightly.stages import Night
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


def drawn(root: Path, limit: int | None) -> tuple[dict[str, dict[str, int]], dict[str, set[Any]]]:
    """A night's sample: the facts, and the questions that remain, in a clone of its own."""
    work = root / "clone"
    tables.remove(work)
    questions(work)
    names = {"predict@many-a": "many", "evaluate@many": "many", "predict@one-a": "one"}
    graph = Graph(root, {name: stage(name, benchmark) for name, benchmark in names.items()})
    shown: Any = None  # a sample shows nothing
    facts = sample.draw(Night(graph, graph, work, root / "logs", shown), limit)
    asked = {name: {one.key for one in read_questions(work / "data/questions" / name)} for name in TASKS}
    return facts, asked


def test_without_a_limit_every_question_is_asked(tmp_path: Path) -> None:
    facts, asked = drawn(tmp_path, None)
    assert facts == {} and [len(it) for it in asked.values()] == [200, 300]


def test_every_task_has_at_most_so_many_questions_and_always_the_same(tmp_path: Path) -> None:
    facts, first = drawn(tmp_path, 9)
    assert facts["predict@many-a"] == facts["evaluate@many"] == {"limit": 9, "questions": 90}
    assert facts["predict@one-a"] == {"limit": 9, "questions": 9}
    assert {task for task, _ in first["many"]} == set(TASKS["many"])
    # The artifact as it was is beside the sample, for files of predictions.
    whole = tmp_path / "clone/data/questions/one" / WHOLE
    assert len(read_questions(whole)) == 300 and {one.key for one in read_questions(whole)} > first["one"]
    assert drawn(tmp_path, 9) == (facts, first)


def test_a_larger_sample_contains_a_smaller_one(tmp_path: Path) -> None:
    smaller, larger = (drawn(tmp_path, limit)[1] for limit in (9, 25))
    assert all(smaller[name] < larger[name] for name in TASKS)
    # A task with fewer questions has all of them, and the artifact that is not reduced is left alone.
    assert [len(it) for it in larger.values()] == [200, 25]
    assert not (tmp_path / "clone/data/questions/many" / WHOLE).exists()
