"""Scores of ranked lists against the published evaluator's, and known values of its tests. Matches of answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import lists, sampled_from

from nightjar.benchmarks import answers_and_references
from nightjar.benchmarks.benchmark import Match
from nightjar.benchmarks.protoqa.metrics import RULES, cleaned, counted_answers, explained, matches, score
from nightjar.benchmarks.protoqa.scoring import BENCHMARK
from nightjar.benchmarks.protoqa.similarity import SIMILARITIES
from nightjar.benchmarks.question import Question

GOLDEN_NAMES = {"max_answers_None": "unlimited", "set_intersection": "set_intersection"}


def question(clusters: Mapping[tuple[str, ...], int], id: str = "q") -> Question:
    listed = [
        {"id": f"{id}.{place}", "count": count, "answers": list(answers)}
        for place, (answers, count) in enumerate(clusters.items())
    ]
    return Question("protoqa", "t", id, {"question": "?", "clusters": listed}, ())


def scores(clusters: Mapping[tuple[str, ...], int], answers: Sequence[str]) -> dict[str, float]:
    return {name: float(values[0]) for name, values in score([question(clusters)], [answers]).items()}


def ours(golden: str) -> str:
    """The name of a metric in the golden file as ours."""
    similarity, _, rule = golden.partition("/")
    rule = GOLDEN_NAMES.get(rule) or rule.replace("s_", "s@").replace("t_", "t@")
    return f"{similarity}/{rule}"


def test_golden_scores(golden: Path) -> None:
    known: dict[str, Any] = json.loads((golden / "protoqa_dev_scores.json").read_text("utf-8"))
    compared = 0
    for system in known["systems"]:
        rows = system["questions"]
        asked = [
            question({tuple(it["answers"]): it["count"] for it in known["clusters"][row["question_id"]]})
            for row in rows
        ]
        found = score(asked, [row["answers"] for row in rows])
        for golden_name, mean in system["mean"].items():
            values = found[ours(golden_name)]
            expected = [row["scores"][golden_name] for row in rows]
            assert values == pytest.approx(expected, abs=1e-12)
            assert values.mean() == pytest.approx(mean, abs=1e-12)
            compared += len(rows)
    assert compared >= 2 * 52 * 18


NUMBERS = {("10",): 10, ("60",): 60, ("30",): 30}


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["60", "30", "10"], {"max_incorrect@3": 1.0, "max_answers@1": 1.0, "set_intersection": 1.0}),
        (["30", "a", "b"], {"max_incorrect@3": 0.3, "max_answers@1": 0.5, "set_intersection": 1 / 3}),
        (["10", "30", "60"], {"max_incorrect@3": 1.0, "max_answers@1": 1 / 6}),
        (["60", "60", "60"], {"max_incorrect@3": 0.6, "max_answers@1": 1, "set_intersection": 1 / 3}),
        (["30", "x", "x", "10", "x", "60"], {"max_incorrect@3": 0.4, "set_intersection": 1.0}),
        (["x", "x", "x", "10", "x", "60"], {"max_incorrect@3": 0, "max_incorrect@5": 0.7}),
        (["30"] * 6 + ["60"], {"max_incorrect@3": 0.9, "max_incorrect@5": 0.9, "set_intersection": 2 / 3}),
        (["x"], dict.fromkeys((rule.name for rule in RULES), 0.0)),
        ([], dict.fromkeys((rule.name for rule in RULES), 0.0)),
    ],
)
def test_known_lists(answers: list[str], expected: dict[str, float]) -> None:
    found = scores(NUMBERS, answers)
    assert {name: found[f"exact_match/{name}"] for name in expected} == pytest.approx(expected)


def test_wordnet_matches_where_exact_match_does_not() -> None:
    found = scores({("smell",): 2, ("face",): 5}, ["odor", "looks"])
    assert (found["exact_match/max_answers@1"], found["exact_match/unlimited"]) == (0, 0)
    assert found["wordnet/max_answers@1"] == pytest.approx(0.4)
    assert found["wordnet/max_incorrect@3"] == 1.0


def test_the_best_matching_is_found_where_the_first_one_is_not_the_best() -> None:
    # "10" matches both clusters; the greedy choice would leave nothing for "ten".
    found = scores({("10", "ten"): 5, ("10",): 3}, ["10", "ten"])
    assert found["exact_match/unlimited"] == 1.0


def test_answers_are_cut_before_they_are_cleaned_and_stripped_last() -> None:
    assert cleaned("  Cat ") == "cat"
    assert cleaned("x" * 49 + " y") == "x" * 49
    assert cleaned(" " * 50 + "cat") == ""


def test_the_answers_that_count_are_those_before_cleaning() -> None:
    assert scores({("cat",): 1}, ["", "Cat"])["exact_match/max_answers@1"] == 0.0
    assert scores({("cat",): 1}, ["", "Cat"])["exact_match/max_answers@3"] == 1.0


def test_an_answer_of_a_megabyte_is_cut() -> None:
    found = scores({("x" * 50,): 1, ("cat",): 1}, ["x" * 2**20, "cat"])
    assert found["exact_match/unlimited"] == 1.0


def test_stop_words_match_only_stop_words_in_wordnet() -> None:
    assert scores({("it",): 3, ("cat",): 2}, ["the"])["wordnet/max_answers@1"] == 1.0
    assert scores({("cat",): 2}, ["the", " "])["wordnet/unlimited"] == 0.0


def test_a_cluster_of_count_0_is_matched_but_worth_nothing() -> None:
    found = scores({("cat",): 0, ("dog",): 4}, ["cat", "x", "dog"])
    assert found["exact_match/max_incorrect@1"] == 0.0
    assert found["exact_match/max_incorrect@3"] == 1.0
    assert found["exact_match/set_intersection"] == 1.0


def test_where_the_best_list_scores_0_there_is_no_score(caplog: pytest.LogCaptureFixture) -> None:
    found = scores({("Cat",): 3}, ["Cat"])
    assert np.isnan(found["exact_match/unlimited"])
    assert found["wordnet/unlimited"] == 1.0
    assert "best list scores 0" in caplog.text


def test_explained() -> None:
    asked = question({("sun", "star"): 2, ("ice cream",): 5})
    ranked = explained(asked, ["Star", "ice", "sun"])["ranked"]
    assert [line["answer"] for line in ranked] == ["star", "ice", "sun"]
    assert [line["exact_match"]["cluster"] for line in ranked].count("q.0") == 1
    assert ranked[1]["wordnet"] == {"cluster": None, "similarity": 0.5}
    assert ranked[1]["longest_common_substring"]["similarity"] == pytest.approx(3 / 9)
    assert explained(asked, []) == {"ranked": []}


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
    questions = answers_and_references.read_references(BENCHMARK, folder / "dev.crowdsourced.jsonl")
    predicted = answers_and_references.read_answers(
        BENCHMARK, folder / "dev.predictions.gpt2finetuned.json", questions
    )
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
    main, *_ = BENCHMARK.similarities
    assert BENCHMARK.metrics[0].name.startswith(f"{main}/max_incorrect@3")
    assert BENCHMARK.counted_answers([NONE] * 9) == 3
    assert set(BENCHMARK.similarities) >= set(SIMILARITIES)
