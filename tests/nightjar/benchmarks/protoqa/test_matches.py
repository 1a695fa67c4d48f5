"""The cluster of each answer of a list, against what `nightjar score --details` says and lists done by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import lists, sampled_from

from nightjar.benchmarks import files
from nightjar.benchmarks.capabilities import Match, Matching
from nightjar.benchmarks.protoqa.card import CARD
from nightjar.benchmarks.protoqa.metrics import RULES, counted_answers, explained, matches
from nightjar.benchmarks.protoqa.similarity import SIMILARITIES
from tests.nightjar.benchmarks.protoqa.test_scoring import question


def test_matches_of_a_list() -> None:
    """Two answers that are similar to one cluster: the first has it, and the other is close to it."""
    asked = question({("sun", "star"): 5, ("earth",): 3, ("zero",): 0})
    found = matches(asked, ["Star", "mud", "sun", "Earth ", "zero"])
    assert list(found) == list(SIMILARITIES)
    pairs = found["exact_match"]
    assert (pairs[0], pairs[2]) == (("q.0", "q.0"), (None, "q.0"))
    assert pairs[1] == (None, None) and pairs[3] == ("q.1", "q.1")
    assert pairs[4] == (None, "q.2"), "worth nothing, so that it is not matched"
    assert matches(asked, []) == {name: [] for name in SIMILARITIES}


@given(lists(sampled_from(["sun", "star", "earth", "moon", "mud", "ash"]), max_size=12))
def test_the_first_answer_has_the_cluster(answers: list[str]) -> None:
    """By exact match every answer is similar to one cluster at most, so that the first of them has it."""
    clusters = {("sun", "star"): 5, ("earth",): 3, ("moon",): 8}
    similarities = {"exact_match": SIMILARITIES["exact_match"]}
    taken: set[str] = set()
    for answer, match in zip(
        answers, matches(question(clusters), answers, similarities)["exact_match"], strict=True
    ):
        close = next((f"q.{at}" for at, strings in enumerate(clusters) if answer in strings), None)
        assert match == (None if close in taken else close, close)
        taken.update([close] if close else [])


def test_matches_are_worth_what_the_matching_of_the_list_is(real_data: Path) -> None:
    folder = real_data / "protoqa"
    questions = files.read_references(CARD, folder / "dev.crowdsourced.jsonl")
    predicted = files.read_answers(CARD, folder / "dev.predictions.gpt2finetuned.json", questions)
    for one, answers in zip(questions[:12], predicted[:12], strict=True):
        assert answers
        counts = {it["id"]: it["count"] for it in one.parts["clusters"]}
        ranked, found = explained(one, answers)["ranked"], matches(one, answers)
        for name, pairs in found.items():
            ours = [match.cluster for match in pairs if match.cluster is not None]
            assert len(ours) == len(set(ours))
            wanted = [line[name]["cluster"] for line in ranked if line[name]["cluster"] is not None]
            assert sum(counts[id] for id in ours) == sum(counts[id] for id in wanted)
            for line, match in zip(ranked, pairs, strict=True):
                assert (match.closest is not None) == (line[name]["similarity"] > 0.5)
                if match.cluster is None and match.closest is not None:
                    assert match.closest in ours, "an answer before or after it has the cluster"


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
    matching = CARD.capability(Matching)
    assert matching
    main, *_ = matching.titles
    assert CARD.metrics[0].name.startswith(f"{main}/max_incorrect@3")
    assert matching.counted([NONE] * 9) == 3
    assert set(matching.titles) >= set(SIMILARITIES)
