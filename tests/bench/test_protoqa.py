"""The plain way of the bench gives the scores of the library."""

from __future__ import annotations

import pytest

from bench.protoqa import EIGHT, answers, made, ours, plain
from nightjar.benchmarks.protoqa.clusters import Cluster
from nightjar.benchmarks.protoqa.wordnet import wordnet

CLUSTERS = (
    Cluster("a", 40, ("ice cream", "a frozen dessert", "gelato")),
    Cluster("b", 35, ("hot dog", "frankfurter with mustard")),
    Cluster("c", 25, ("the", "candies", "red wine glass")),
)
ANSWERS = (
    "cream",
    "glass of red wine",
    "Frankfurter",
    "",
    "candy",
    "hot dogs",
    "ice",
    "gelato",
    "candy cane",
)


def test_both_ways_agree() -> None:
    found = ours(ANSWERS, CLUSTERS)
    assert found == pytest.approx(plain(ANSWERS, CLUSTERS, wordnet()), abs=1e-12)
    assert len(found) == len(EIGHT) == 8
    assert len(set(found)) > 2


def test_made_questions() -> None:
    known = made(wordnet())[:2]
    assert all(len(clusters) == 9 for clusters in known)
    assert len(answers(0, known)) == 20
