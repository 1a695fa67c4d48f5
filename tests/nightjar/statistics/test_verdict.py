"""Verdicts against exact bootstrap distributions, a literal Holm, and worlds in which the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.false_alarms import simulated_night
from nightjar.statistics import Contrast, Metric, Statistic, binomial_interval, matthews
from nightjar.statistics.verdict import Cell, Scored, cells, decide, holm, judge, summary

ALPHA = 0.05
MEASURE = Metric("rougeL")


def scored(values: np.ndarray, prefix: str = "i", content: str | None = "same") -> Scored:
    ids = tuple(("task", f"{prefix}{number:05d}") for number in range(len(values)))
    return Scored(MEASURE, ids, (content,) * len(values), np.asarray(values, dtype=float)[:, None])


def cell(system: str = "model", metric: str = "rougeL", track: str = "default") -> Cell:
    return Cell("made", system, track, metric)


def words(rows: list[dict]) -> dict[str, str]:
    return {row["system"]: row["verdict"] for row in rows}


def test_better_worse_and_unchanged_are_told_apart_by_size_noise_and_pairing() -> None:
    rng = np.random.default_rng(0)
    before = rng.random(200) * 0.5
    now = {
        "better": before + 0.1,
        "worse": before - before * 0.2,
        "same": before,
        # As large a mean difference as a real one could have, but all of it on one instance.
        "one": np.concatenate([[before[0] + 0.4], before[1:]]),
        "shuffled": rng.permutation(before),
    }
    rows = judge(
        {cell(name): scored(values) for name, values in now.items()},
        {cell(name): scored(before) for name in now},
        {},
        ALPHA,
    )
    assert words(rows) == {
        "better": "better",
        "one": "unchanged",
        "same": "unchanged",
        "shuffled": "unchanged",
        "worse": "worse",
    }
    told = {row["system"]: row for row in rows}
    assert told["same"]["p"] == 1 and told["same"]["equal"] == 200 and told["same"]["reason"] == ""
    assert told["better"]["value"] == pytest.approx(10) and told["better"]["better"] == 200
    assert told["worse"]["high"] < 0 and told["worse"]["now"] < told["worse"]["before"]
    # The other cells of the family do not move the draws.
    alone = judge({cell("one"): scored(now["one"])}, {cell("one"): scored(before)}, {}, ALPHA)
    assert alone[0]["p"] == pytest.approx(told["one"]["p"])
    assert alone[0]["low"] == pytest.approx(told["one"]["low"])


def test_what_cannot_be_compared_says_why_and_counts_in_no_correction() -> None:
    values = np.linspace(0, 1, 40)
    now = {cell(name): scored(values * 0.9) for name in ("a", "new", "params", "worse")}
    before = {cell(name): scored(values) for name in ("a", "gone", "params", "worse")}
    now[cell("a")] = scored(values, prefix="j")
    now[cell("few")], before[cell("few")] = scored(values[:19]), scored(values[:19])
    now[cell("text")], before[cell("text")] = scored(values), scored(values, content="older")
    now[cell("unknown")], before[cell("unknown")] = scored(values), scored(values, content=None)
    rows = {row["system"]: row for row in judge(now, before, {cell("params"): "seed 1 → 2"}, ALPHA)}
    assert {name: row["reason"] for name, row in rows.items() if row["verdict"] == "not comparable"} == {
        "a": "other instances: 40 new, 40 gone",
        "few": "n<20: 19 instances",
        "gone": "missing now; the run it is compared with has it",
        "new": "the run it is compared with has no such score",
        "params": "seed 1 → 2",
        "text": "40 instances have another input or other references",
    }
    assert rows["unknown"]["verdict"] == "unchanged"
    assert rows["worse"]["verdict"] == "worse"
    # Two cells were compared: Holm multiplies the smaller p by two.
    assert rows["worse"]["p_corrected"] == pytest.approx(2 * rows["worse"]["p"])
    assert rows["gone"]["p"] is None and rows["gone"]["now"] is None and rows["gone"]["before"] == 50
    assert summary(rows.values()) == "worse"
    assert summary([rows["gone"], rows["unknown"]]) == "unchanged"
    assert summary([rows["gone"]]) == summary([]) == "not comparable"


# Sum of the first part over that of the second, as in perplexity before exp.
ratio = Statistic("ratio", 2, lambda values: values, lambda sums, n: sums[:, 0] / sums[:, 1])


def test_scale_and_direction_are_those_of_the_metric() -> None:
    loss = Metric("loss", scale=1.0, higher_is_better=False)
    rng = np.random.default_rng(5)
    ids = tuple(("task", f"i{number:03d}") for number in range(100))
    before = 2.5 + rng.random((100, 1))
    runs = [Scored(loss, ids, (None,) * 100, values) for values in (before - 0.25, before)]
    (row,) = judge({cell(metric="loss"): runs[0]}, {cell(metric="loss"): runs[1]}, {}, ALPHA)
    assert (row["verdict"], row["better"], row["worse"]) == ("better", 100, 0)
    assert row["value"] == -0.25 == row["low"] == row["high"]
    assert row["before"] == pytest.approx(before.mean(), abs=5e-5)
    (row,) = judge({cell(metric="loss"): runs[1]}, {cell(metric="loss"): runs[0]}, {}, ALPHA)
    assert (row["verdict"], row["value"], row["worse"]) == ("worse", 0.25, 100)


def test_a_statistic_of_several_parts_is_recomputed_on_each_resample() -> None:
    """With equal second parts a ratio is a mean: both ways have to agree, and a literal loop with both."""
    rng = np.random.default_rng(6)
    before, now = rng.random((60, 1)), rng.random((60, 1))
    ones = np.ones((60, 1))
    measure = Metric("ratio", "", ("a", "b"), ratio)
    of_parts = Contrast.between(measure, np.hstack([now, ones]), np.hstack([before, ones]))
    rows = decide([of_parts, Contrast.between(MEASURE, now, before)], ALPHA)
    assert rows[0]["value"] == pytest.approx(rows[1]["value"], abs=1e-4)
    for name, tolerance in (("low", 1.5), ("high", 1.5), ("p", 0.03)):
        assert rows[0][name] == pytest.approx(rows[1][name], abs=tolerance), name
    assert rows[0]["better"] is rows[0]["worse"] is rows[0]["equal"] is None and rows[1]["better"] > 0
    # One of Nightjar's own statistics, which a model answers better now.
    gold = rng.integers(0, 2, 200).astype(float)
    guesses = np.where(rng.random(200) < 0.1, 1 - gold, gold), rng.integers(0, 2, 200).astype(float)
    now, before = (np.stack([guess, gold], axis=1) for guess in guesses)
    (row,) = decide([Contrast.between(Metric("mcc", "", ("guess", "gold"), matthews), now, before)], ALPHA)
    expected = np.corrcoef(guesses[0], gold)[0, 1] - np.corrcoef(guesses[1], gold)[0, 1]
    assert (row["verdict"], row["value"]) == ("better", pytest.approx(100 * expected, abs=1e-4))
    # The same answers: nothing is resampled.
    (row,) = decide([Contrast.between(of_parts.measure, now, now)], ALPHA)
    assert (row["verdict"], row["p"], row["value"]) == ("unchanged", 1, 0)


def test_a_resample_without_a_value_moves_nothing() -> None:
    def undefined(sums: np.ndarray, n: int) -> np.ndarray:
        found = sums[:, 0] / n
        return np.where(np.arange(len(found)) % 2, found, np.nan) if len(found) > 2 else found

    measure = Metric("odd", "", ("a", "b"), Statistic("odd", 2, lambda values: values, undefined))
    pair = Contrast.between(measure, np.ones((40, 2)), np.zeros((40, 2)))
    (row,) = decide([pair], ALPHA)
    assert (row["verdict"], row["value"], row["low"], row["high"]) == ("unchanged", 100, None, None)
    assert row["p"] >= 0.5


def test_cells_have_the_instances_with_all_parts_of_a_metric() -> None:
    names = {"benchmark": "made", "system": "model", "track": "default", "content": "c", "task_id": "t"}
    rows = [
        names | {"metric": metric, "id": id, "value": float(place)}
        for metric, ids in (("b", "yxz"), ("a", "xyw"), ("helper", "x"))
        for place, id in enumerate(ids)
    ]

    def measures(benchmark: str, found: object) -> list[Metric]:
        assert benchmark == "made" and set(found) == {"a", "b", "helper"}
        return [Metric("a"), Metric("ratio", "", ("a", "b"), ratio), Metric("absent")]

    found = cells(rows, measures)
    assert {key.metric: value.ids for key, value in found.items()} == {
        "a": (("t", "w"), ("t", "x"), ("t", "y")),
        "ratio": (("t", "x"), ("t", "y")),
    }
    assert found[cell(metric="ratio")].values.tolist() == [[0, 1], [1, 0]]
    assert found[cell(metric="ratio")].value == 100
    assert found[cell(metric="a")].values.tolist() == [[2], [0], [1]]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.01, 0.5))
def test_holm_rejects_what_the_procedure_as_published_rejects(p: list[float], alpha: float) -> None:
    rejected: set[int] = set()
    for rank, number in enumerate(sorted(range(len(p)), key=lambda number: p[number])):
        if p[number] * (len(p) - rank) > alpha:
            break
        rejected.add(number)
    assert {number for number, corrected in enumerate(holm(p)) if corrected <= alpha} == rejected


def test_there_are_enough_samples_for_a_large_family() -> None:
    """p gets small enough for Holm's correction over 900 cells, for a mean and for any other statistic."""
    rng = np.random.default_rng(2)
    base = np.hstack([rng.random((50, 1)), np.ones((50, 1))])
    loss = Contrast.between(Metric("ratio", "", ("a", "b"), ratio), base + np.array([0.3, 0]), base)
    moved = [Contrast.between(MEASURE, base[:, :1] * 1.5, base[:, :1]), loss]
    rows = decide(moved + [Contrast.between(MEASURE, base[:, :1], base[:, :1])] * 898, 0.01)
    assert [row["verdict"] for row in rows] == ["better"] * 2 + ["unchanged"] * 898


def test_unchanged_noisy_models_are_called_moved_no_oftener_than_alpha() -> None:
    """200 nights of two systems whose answers are drawn anew from the same answers."""
    rng = np.random.default_rng(7)
    answers = np.stack([rng.random((60, 4)) < 0.4, rng.random((60, 4))], axis=2).astype(float)

    def night(share: float) -> str:
        pairs = [pair for _ in range(2) for pair in simulated_night(answers, share, rng)]
        return summary(decide(pairs, ALPHA))

    false = sum(night(0.5) != "unchanged" for _ in range(200))
    low, high = binomial_interval(false, 200)
    assert low < 0.05, f"{false} of 200 nights"
    assert high > 0.005, "hardly ever an alarm: the simulation moves nothing"
    assert night(0.0) == "unchanged"


def test_the_binomial_interval_is_the_published_one() -> None:
    # Clopper and Pearson 1934; the figures can be looked up in any table.
    assert binomial_interval(0, 10) == (0.0, pytest.approx(0.3085, abs=1e-4))
    assert binomial_interval(10, 10) == (pytest.approx(0.6915, abs=1e-4), 1.0)
    assert binomial_interval(5, 10) == (pytest.approx(0.1871, abs=1e-4), pytest.approx(0.8129, abs=1e-4))
    assert binomial_interval(20, 2000) == (pytest.approx(0.00612, abs=1e-5), pytest.approx(0.01540, abs=1e-5))
