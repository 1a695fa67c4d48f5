"""The card as the registry gives it, the published rows, and `nightjar score`'s files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.classification.tasks import LABELS, names
from nightjar.benchmarks.file_scoring import compare_files, score_files
from nightjar.core.errors import NightjarError

BENCHMARK = registry.load_benchmark("classification")
EIGHT = ("sst2", "sst5", "cola", "trec", "cr", "mr", "mpqa", "subj")


def test_tasks_are_tracks_and_have_choices() -> None:
    assert list(BENCHMARK.tasks) == list(BENCHMARK.tracks) == list(LABELS)
    for task in LABELS:
        assert BENCHMARK.task(task).kind == "choose"
        assert tuple(choice.answer for choice in BENCHMARK.task(task).choices) == names(task)
        assert all(choice.text.startswith(" ") for choice in BENCHMARK.task(task).choices)
    assert [choice.text for choice in BENCHMARK.task("fever").choices] == [" Yes", " No", " Not Sure"]


def test_published_rows() -> None:
    """Averages that the paper prints, from its own rows; 57.0 for CoLA there is 57.6 in the runs."""
    rows = {it.system: it for it in BENCHMARK.papers.rows if set(it.values) == set(EIGHT)}
    averages = {system: sum(it.values.values()) / 8 for system, it in rows.items()}
    printed = {
        "in-context learning, OPT-13b": 53.2, "k-NN, T5-base": 42.9, "LM-BFF, T5-base": 69.9, "T5-base": 77.9,
        "RAG, T5-base": 81.6, "FiD, T5-base": 81.8, "PGRA, T5-base": 82.3, "k-NN, T5-large": 45.0,
        "LM-BFF, T5-large": 71.2, "T5-large": 83.4, "RAG, T5-large": 82.9, "FiD, T5-large": 83.5,
        "PGRA, T5-large": 83.8, "PGRA, T5-base, mean of 3 runs": 82.4,
    }  # fmt: skip
    assert {system: it.average for system, it in rows.items() if it.average is not None} == printed
    for system, average in printed.items():
        assert averages[system] == pytest.approx(average, abs=0.076), system
    means, table_2 = rows["PGRA, T5-base, mean of 3 runs"].values, rows["PGRA, T5-base"].values
    assert means["cola"] == 57.6
    assert {task for task in EIGHT if abs(means[task] - table_2[task]) > 0.05} == {"cola"}
    large, table_2 = rows["PGRA, T5-large, mean of 3 runs"].values, rows["PGRA, T5-large"].values
    assert all(large[task] == pytest.approx(table_2[task], abs=0.1001) for task in EIGHT)
    assert {it.system: it.values["fever"] for it in BENCHMARK.papers.rows if "fever" in it.values} == {
        "FiD, T5-base": 73.8, "PGRA, T5-base": 77.7,
    }  # fmt: skip
    assert [table.tracks for table in BENCHMARK.papers.tables] == [EIGHT, ("fever",)]


def lines(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture()
def references(tmp_path: Path) -> Path:
    rows = [("sst2", "1", "positive"), ("sst2", "2", "negative")]
    rows += [("cola", str(n), "acceptable" if n % 3 else "unacceptable") for n in range(9)]
    return lines(tmp_path / "r.jsonl", *({"task": t, "id": i, "references": [r]} for t, i, r in rows))


def test_scores_of_files(tmp_path: Path, references: Path) -> None:
    rows = [("sst2", "1", "Positive"), ("sst2", "2", "who knows")]
    rows += [("cola", str(n), "acceptable" if n else "unacceptable") for n in range(9)]
    given = lines(tmp_path / "p.jsonl", *({"task": t, "id": i, "prediction": p} for t, i, p in rows))
    found = score_files("classification", given, references, details=tmp_path / "d.jsonl")
    # CoLA: 1 true negative, 2 false positives, 6 true positives.
    cola = 100 * 6 / (8 * 6 * 3 * 1) ** 0.5
    assert found["metrics"] == {
        "sst2": 50.0,
        "cola": pytest.approx(cola, abs=1e-4),
        "accuracy": pytest.approx((50 + cola) / 2, abs=1e-4),
    }
    assert found["average"] == {
        "metric": "accuracy",
        "n": 11,
        "value": found["metrics"]["accuracy"],
        "low": None,
        "high": None,
    }
    assert found["by_track"]["cola"]["metrics"]["accuracy"] == pytest.approx(700 / 9, abs=1e-4)
    details = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text("utf-8").splitlines()]
    assert [row["accuracy"] for row in details[:3]] == [1, 0, 1]
    assert (details[2]["predicted"], details[2]["gold"]) == (0, 0) and "gold" not in details[0]
    same = compare_files("classification", given, given, references)
    assert same["by_track"]["cola"]["metrics"]["matthews"]["value"] == 0


def test_wrong_references_name_their_place(tmp_path: Path) -> None:
    bad = lines(tmp_path / "bad.jsonl", {"task": "sst3", "id": "1", "references": ["positive"]})
    with pytest.raises(NightjarError, match=r"bad.jsonl:1: the task is 'sst3'; allowed are cola, cr"):
        score_files("classification", bad, bad)
