"""A night in words."""

from __future__ import annotations

from pipelines import nightly_text


def test_a_benchmark_is_worse_if_any_of_its_scores_is() -> None:
    rows = [
        {"benchmark": "a", "system": "s", "verdict": "unchanged"},
        {"benchmark": "a", "system": "t", "verdict": "better"},
        {"benchmark": "b", "system": "s", "verdict": "better"},
        {"benchmark": "b", "system": "s", "verdict": "worse"},
        {"benchmark": "c", "system": "s", "verdict": "not comparable"},
    ]
    assert nightly_text.benchmarks(rows) == {"a": "better", "b": "worse", "c": "not comparable"}
    assert nightly_text.words(rows)["a", "s"] == "unchanged"


def test_a_page_without_comparisons_says_nothing_of_their_correction() -> None:
    facts = {
        **dict.fromkeys(("run", "state", "message", "commit", "lock_sha256"), "x"),
        "changed": [],
        "hardware": {"cpu": "x", "cores": 2, "gpus": []},
        "against": None,
    }
    row = {
        **dict.fromkeys(("benchmark", "system", "track", "metric", "reason"), "a"),
        **dict.fromkeys(("before", "now", "value", "better"), None),
        "n": 20,
        "verdict": "not comparable",
        "p_corrected": None,
    }
    assert "Holm" not in nightly_text.markdown(facts, [])
    assert "Holm" not in nightly_text.markdown(facts, [row])
    assert "Holm" in nightly_text.markdown(facts, [row, row | {"verdict": "unchanged", "p_corrected": 0.5}])
