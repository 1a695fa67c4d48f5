"""The card, the published rows, and the files of `nightjar score`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.file_scoring import compare_files, score_files, score_rows
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.zeroscrolls.metrics import score
from nightjar.benchmarks.zeroscrolls.tasks import NAME, TASKS
from tests.nightjar.benchmarks.zeroscrolls.files import put

BENCHMARK = registry.load_benchmark(NAME)
GOLD = {"quality": "B", "space_digest": "60%", "book_sum_sort": "2, 1, 3"}
# Of the corpus form: values of the example in the published documentation of the metric.
DOC = [
    ("exact match example", ["exact match example"]),
    ("hello there", ["hello", "hi there"]),
    ("general kenobi", ["commander kenobi"]),
]


def lines(key: str, value: Any, n: int = 20) -> list[dict[str, Any]]:
    """One row for each of n ids of every task; `value` makes the value from the task."""
    return [{"task": task, "id": f"{task}-{i}", key: value(task, i)} for task in TASKS for i in range(n)]


def gold(task: str, number: int) -> list[str]:
    return [GOLD.get(task, f"the red fox {number}")]


def test_published_averages_are_the_means_of_the_tasks() -> None:
    rows = {it.system: it.values for it in BENCHMARK.papers.rows}
    whole = {system: values for system, values in rows.items() if len(values) == 11}
    assert len(whole) == 13
    for system, values in whole.items():
        assert sum(values[task] for task in TASKS) / 10 == pytest.approx(values["score"], abs=0.051), system
    assert rows["human"]["quality"] == 93.5
    assert set(rows["Flan-T5-xxl, 512"]) == {"score"}


def test_every_task_has_a_main_metric_and_its_reserved_tokens() -> None:
    questions = [Question(NAME, task, "1", {}, (GOLD.get(task, "x"),)) for task in TASKS]
    parts = score(questions, [[]] * 10)
    for place, (task, it) in enumerate(TASKS.items()):
        main = next(
            one
            for one in BENCHMARK.metrics
            if all(parts[part][place] == parts[part][place] for part in one.parts)
        )
        assert main.name == it.kind
        assert BENCHMARK.task(task).max_new_tokens == it.reserved


def test_rouge_has_the_published_corpus_form_and_the_form_by_instance(tmp_path: Path) -> None:
    references = [{"task": "qmsum", "id": str(i), "references": it} for i, (_, it) in enumerate(DOC)]
    answers = [{"task": "qmsum", "id": str(i), "prediction": it} for i, (it, _) in enumerate(DOC)]
    result = score_files(NAME, put(tmp_path / "p", answers), put(tmp_path / "r", references))
    assert result["metrics"] == {"qmsum": 55.8136}
    assert result["by_track"]["qmsum"]["metrics"]["rouge_per_instance"] == 33.3333


def test_the_golden_corpus(tmp_path: Path, golden: Path) -> None:
    vectors = json.loads((golden / "zeroscrolls_metrics.json").read_text(encoding="utf-8"))["rouge"]
    cases = list(enumerate(vectors["instances"]))
    references = [{"task": "qmsum", "id": str(i), "references": it["references"]} for i, it in cases]
    answers = [{"task": "qmsum", "id": str(i), "prediction": it["prediction"]} for i, it in cases]
    result = score_files(NAME, put(tmp_path / "p", answers), put(tmp_path / "r", references))
    found = result["by_track"]["qmsum"]["metrics"]
    assert found["rouge"] == pytest.approx(vectors["corpus_all"]["geometric_mean"], abs=5e-5)
    assert found["rouge_per_instance"] == pytest.approx(
        vectors["mean_of_instance_geometric_means_all"], abs=5e-5
    )


@pytest.mark.parametrize(
    ("task", "answer", "value"),
    [
        ("musique", "Paris</answer>", 100.0),
        ("musique", "Paris</answer> because", 100.0),
        ("musique", "<answer>\nParis", 100.0),
        ("musique", "</answer>Paris", 0.0),
        ("musique", "Paris</summary>", 0.0),
        ("quality", "B</answer> not A", 100.0),
        ("space_digest", "60%</percentage_of_positive_reviews>", 100.0),
        ("book_sum_sort", "2, 1, 3</summary_ids_in_correct_order> of 3", 100.0),
    ],
)
def test_what_claude_highlights_is_scored(tmp_path: Path, task: str, answer: str, value: float) -> None:
    row = {"task": task, "id": "1"}
    result = score_files(
        NAME,
        put(tmp_path / "p", [row | {"prediction": answer}]),
        put(tmp_path / "r", [row | {"references": [GOLD.get(task, "Paris")]}]),
    )
    assert result["metrics"] == {task: value}
    form = result["by_track"][task]["metrics"]
    assert form["forgiving"] >= value and form["asked_form"] >= value


def test_the_average_needs_all_ten_tasks(tmp_path: Path) -> None:
    references = put(tmp_path / "r.jsonl", lines("references", gold))
    answers = put(
        tmp_path / "p.jsonl", lines("prediction", lambda task, i: gold(task, i)[0] if i % 2 else "NA")
    )
    result = score_files(NAME, answers, references)
    tasks = [result["metrics"][task] for task in TASKS]
    assert result["metrics"]["score"] == pytest.approx(sum(tasks) / 10, abs=1e-4)
    low, high = result["intervals"]["metrics"]["score"]
    assert low < result["metrics"]["score"] < high
    # Ten tasks vary less than one.
    one_low, one_high = result["intervals"]["metrics"]["quality"]
    assert high - low < (one_high - one_low) / 2
    assert score_rows(result)[-1]["track"] == "score"
    nine = [row for row in lines("references", gold) if row["task"] != "quality"]
    given = [row for row in lines("prediction", lambda task, i: "x") if row["task"] != "quality"]
    without = score_files(NAME, put(tmp_path / "p9", given), put(tmp_path / "r9", nine))
    assert "score" not in without["metrics"]


def test_two_systems_are_compared_by_the_average(tmp_path: Path) -> None:
    references = put(tmp_path / "r.jsonl", lines("references", gold))
    a = put(tmp_path / "a.jsonl", lines("prediction", lambda task, i: gold(task, i)[0]))
    b = put(tmp_path / "b.jsonl", lines("prediction", lambda task, i: gold(task, i)[0] if i % 4 else "x"))
    found = compare_files(NAME, a, b, references)["average"]
    assert (found["a"], found["b"]) == (100.0, pytest.approx(75.0, abs=0.6))
    assert found["low"] < found["value"] < found["high"]
    assert found["p"] < 0.001 and found["significant"]


@pytest.mark.parametrize("answer", ["NA", "null", "nan", ""])
def test_words_for_missing_values_are_answers(tmp_path: Path, answer: str) -> None:
    references = put(tmp_path / "r", [{"task": "musique", "id": "1", "references": ["NA", "null", "nan"]}])
    answers = put(tmp_path / "p", [{"task": "musique", "id": "1", "prediction": answer}])
    assert score_files(NAME, answers, references)["metrics"]["musique"] == (100.0 if answer else 0.0)


def test_questions_without_references_are_left_out() -> None:
    parts = score(
        [Question(NAME, "qmsum", "1", {}, ()), Question(NAME, "qmsum", "2", {}, ("a",))], [["a"], ["a"]]
    )
    assert [value == value for value in parts["rouge1"]] == [False, True]


def test_published_curves_have_the_values_of_the_tables() -> None:
    rows = {it.system: it.values for it in BENCHMARK.papers.rows}
    curves = {(it.study, it.system): it.points for it in BENCHMARK.papers.curves}
    lengths = curves["input_length", "Flan-T5-xxl"]
    assert {at: of["score"] for at, of in lengths.items()} == {
        "512": 17.1, "1024": 20.8, "2048": 24.9, "4096": 29.1, "8192": 29.9,
    }  # fmt: skip
    assert curves["input_length", "Claude"] == {"4096": rows["Claude, 4096"], "8000": rows["Claude, 8000"]}
    sizes = curves["models", "Flan-T5"]
    assert [of["score"] for of in sizes.values()] == [11.0, 13.2, 22.7, 25.5, 29.9]
