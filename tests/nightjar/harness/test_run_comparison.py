"""Runs compared: the differences, their correction, and what makes runs incomparable."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nightjar.core.errors import NightjarError
from nightjar.harness import HarnessRun, Sample, Subject, compare_runs
from nightjar.harness.run_reader import read_run
from nightjar.statistics import Bootstrap, holm, p_value

TASK = Subject("sums", "none")


def run(name: str, values: list[float], metric: str = "acc", contents: str = "") -> HarnessRun:
    """A run of one task with a sample for each value."""
    rows = [Sample(f"{place:03}", 1, contents, {metric: value}) for place, value in enumerate(values)]
    return HarnessRun(Path(name), "test", name, {TASK: rows})


@pytest.fixture()
def answers() -> list[list[float]]:
    """Right and wrong answers of three models to forty questions."""
    rng = np.random.default_rng(3)
    return [[float(it) for it in rng.random(40) < share] for share in (0.9, 0.5, 0.4)]


def test_numbers_are_those_of_the_statistics(answers: list[list[float]]) -> None:
    runs = [run(name, values) for name, values in zip("xyz", answers, strict=True)]
    rows = compare_runs(runs)["differences"]
    pairs = [(0, 1), (0, 2), (1, 2)]
    arrays = [np.array(values) for values in answers]
    p = [p_value(arrays[a] - arrays[b], Bootstrap().stream()) for a, b in pairs]
    assert [row["p"] for row in rows] == p and [row["p_corrected"] for row in rows] == holm(p)
    for row, (a, b) in zip(rows, pairs, strict=True):
        assert (row["a"], row["b"]) == ("xyz"[a], "xyz"[b])
        assert row["value"] == pytest.approx(100 * (arrays[a] - arrays[b]).mean())
        low, high = Bootstrap().interval_of_difference(arrays[a], arrays[b])
        assert (row["low"], row["high"]) == (round(100 * low, 4), round(100 * high, 4))
        counts = [
            (arrays[a] > arrays[b]).sum(),
            (arrays[a] < arrays[b]).sum(),
            (arrays[a] == arrays[b]).sum(),
        ]
        assert [row["better"], row["worse"], row["equal"]] == counts
    assert [row["verdict"] for row in rows] == ["better", "better", "unchanged"]


def test_few_documents_have_a_difference_and_no_p() -> None:
    (row,) = compare_runs([run("x", [1.0] * 19), run("y", [0.0] * 19)])["differences"]
    assert (row["value"], row["p"], row["low"], row["verdict"]) == (100.0, None, None, "not comparable")
    assert row["reason"] == "n<20: 19 instances"


def test_lower_is_better_for_a_loss_and_where_the_run_says_so() -> None:
    runs = [run("x", [0.0] * 30, "wer"), run("y", [1.0] * 30, "wer")]
    (row,) = compare_runs(runs)["differences"]
    assert (row["verdict"], row["better"], row["value"]) == ("better", 30, -100.0)
    (row,) = compare_runs([replace(it, higher_is_better={"wer": True}) for it in runs])["differences"]
    assert (row["verdict"], row["worse"]) == ("worse", 30)


def test_epochs_of_a_document_count_once() -> None:
    values = [0.0, 1.0] * 15
    repeated = [
        replace(
            it, samples={TASK: [sample._replace(repeat=n) for sample in it.samples[TASK] for n in (1, 2, 3)]}
        )
        for it in (run("x", values), run("y", [1.0] * 30))
    ]
    once = compare_runs([run("x", values), run("y", [1.0] * 30)])
    assert compare_runs(repeated)["differences"] == once["differences"]


def test_an_answer_without_a_score_is_changed_and_no_example() -> None:
    def written(name: str, word: str, unscored: int) -> HarnessRun:
        samples = [
            Sample(f"{n:02}", 1, "", {} if n == unscored else {"acc": float(n % 2)}, answer=word)
            for n in range(30)
        ]
        return HarnessRun(Path(name), "test", name, {TASK: samples})

    runs = [written("x", "yes", 3), written("y", "no", 4)]
    (row,) = compare_runs(runs, common=True, texts=True)["answers"]
    assert row["changed"] == 30 and [it["id"] for it in row["examples"]] == ["00", "01", "02", "05", "06"]


def test_other_documents_are_refused_with_their_number(answers: list[list[float]]) -> None:
    runs = [run("x", answers[0]), run("y", answers[1][:37])]
    with pytest.raises(NightjarError, match=r"sums: 3 documents of 40 not in all runs; --common compares"):
        compare_runs(runs)
    result = compare_runs(runs, common=True)
    assert result["scores"][0]["n"] == 37 and result["notes"] == ["sums: 3 documents of 40 not in all runs"]


def test_other_prompts_are_refused_with_their_number(answers: list[list[float]]) -> None:
    runs = [run("x", answers[0], contents="p"), run("y", answers[1], contents="q")]
    for common in (False, True):
        with pytest.raises(NightjarError, match="40 documents with another prompt or target"):
            compare_runs(runs, common)
    assert compare_runs(runs, any_prompt=True)["scores"][0]["n"] == 40


def test_runs_without_a_common_task_and_equal_runs_are_refused(answers: list[list[float]]) -> None:
    one_run = run("x", answers[0])
    with pytest.raises(NightjarError, match="no task in common"):
        compare_runs(
            [one_run, replace(one_run, model="y", samples={Subject("a", "none"): one_run.samples[TASK]})]
        )
    with pytest.raises(NightjarError, match="the same run is named twice"):
        compare_runs([one_run, one_run])


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path, "no run of a harness in it"),
        (tmp_path / "none", "no such file or folder"),
    ):
        with pytest.raises(NightjarError, match=message):
            read_run(path)
    (tmp_path / "a.txt").touch()
    with pytest.raises(NightjarError, match="no run of a harness, by its name"):
        read_run(tmp_path / "a.txt")
