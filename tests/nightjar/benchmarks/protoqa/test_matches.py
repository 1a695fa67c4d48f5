"""The cluster of each answer of a list, against what `nightjar score --details` says and lists done by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightjar.benchmarks import files
from nightjar.benchmarks.card import Match
from nightjar.benchmarks.protoqa.card import CARD
from nightjar.benchmarks.protoqa.matches import counted_answers, matches
from nightjar.benchmarks.protoqa.scoring import RULES, explained
from nightjar.benchmarks.protoqa.similarity import SIMILARITIES
from tests.nightjar.benchmarks.protoqa.test_scoring import question


def test_matches_of_a_list() -> None:
    """Two answers that are similar to one cluster: the matching gives it to one, and the other is close to it."""
    asked = question({("sun", "star"): 5, ("earth",): 3, ("zero",): 0})
    found = matches(asked, ["Star", "mud", "sun", "Earth ", "zero"])
    assert list(found) == list(SIMILARITIES)
    pairs = found["exact_match"]
    assert {pairs[0], pairs[2]} == {(None, "q.0"), ("q.0", "q.0")}
    assert pairs[1] == (None, None) and pairs[3] == ("q.1", "q.1")
    assert pairs[4] == (None, "q.2"), "worth nothing, so that it is not matched"
    assert matches(asked, []) == {name: [] for name in SIMILARITIES}


def test_matches_are_those_of_the_explanation(real_data: Path) -> None:
    folder = real_data / "protoqa"
    questions = files.read_references(CARD, folder / "dev.crowdsourced.jsonl")
    given = files.read_answers(CARD, folder / "dev.predictions.gpt2finetuned.json", questions)
    for one, answers in zip(questions[:8], given[:8], strict=True):
        assert answers
        ranked, found = explained(one, answers)["ranked"], matches(one, answers)
        for name, pairs in found.items():
            assert [line[name]["cluster"] for line in ranked] == [match.cluster for match in pairs]
            assert all(
                match.closest is None or line[name]["similarity"] > 0.5
                for line, match in zip(ranked, pairs, strict=True)
            )


HAS, REPEATS, NONE = Match("a", "a"), Match(None, "a"), Match(None, None)


@pytest.mark.parametrize(
    ("rule", "found", "most"),
    [
        ("max_answers@3", [NONE, HAS, NONE, NONE], 3),
        ("max_answers@3", [HAS], 1),
        ("max_incorrect@1", [HAS, REPEATS, NONE, HAS], 3),
        ("max_incorrect@3", [NONE, NONE, REPEATS, NONE, HAS], 4),
        ("max_incorrect@3", [NONE, HAS, NONE], 3),
        ("unlimited", [NONE] * 4, 4),
        ("max_incorrect@3", [], 0),
    ],
)
def test_answers_that_count(rule: str, found: list[Match], most: int) -> None:
    assert counted_answers(found, next(one for one in RULES if one.name == rule)) == most


def test_the_main_similarity_is_that_of_the_main_metric() -> None:
    assert CARD.matching
    main, *_ = CARD.matching.titles
    assert CARD.metrics[0].name.startswith(f"{main}/max_incorrect@3")
    assert CARD.matching.counted([NONE] * 9) == 3
    assert set(CARD.matching.titles) >= set(SIMILARITIES)
