"""Current and older forms of a question, and rows that cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from nightjar.benchmarks.protoqa.answer_clusters import Cluster, best_list, parse_question
from nightjar.benchmarks.source_rows import InvalidRow
from tests.nightjar.benchmarks.protoqa.files import row

CLUSTERS = [Cluster("q1.0", 60, ("rain", "a shower")), Cluster("q1.1", 40, ("snow",))]
LISTED = [{"count": 60, "answers": ["rain", "a shower"]}, {"count": 40, "answers": ["snow"]}]


def test_the_current_form() -> None:
    found = parse_question(row())
    assert (found.id, found.source) == ("q1", "made")
    assert found.text == "name something that falls from the sky."
    assert found.original == "Name something that falls from the sky."
    assert [cluster.count for cluster in found.clusters] == [60, 40]
    assert found.raw == {"rain": 50, "a shower": 10, "snow": 40}
    assert found.remarks == ()


@pytest.mark.parametrize(
    "older",
    [
        {"questionid": "q1", "normalized-question": "what falls?", "answers-cleaned": LISTED},
        {"questionid": "q1", "question": {"normalized-question": "what falls?"}, "answers-cleaned": LISTED},
        {"metadata": {"id": "q1"}, "normalized-question": "what falls?", "answer-clusters": LISTED},
        {
            "metadata": {"source": "x"},
            "questionid": "q1",
            "question": "What falls? ",
            "answers-cleaned": LISTED,
        },
    ],
)
def test_older_forms(older: dict[str, Any]) -> None:
    found = parse_question(older)
    assert (found.id, found.text) == ("q1", "what falls?")
    assert list(found.clusters) == CLUSTERS


def test_an_older_form_of_one_string_a_cluster() -> None:
    found = parse_question(
        {"questionid": "q1", "normalized-question": "x", "answers-cleaned": {"snow": 4, "rain": 6}}
    )
    assert found.clusters == (Cluster("q1.0", 4, ("snow",)), Cluster("q1.1", 6, ("rain",)))
    assert best_list(found.clusters) == ("rain", "snow")


def test_odd_rows_are_kept_with_remarks() -> None:
    given = row(
        a={"count": 0, "answers": ["rain"]},
        b={"count": 9, "answers": ["rain", "hail"]},
        c={"count": 3, "answers": ["snow"]},
    )
    assert parse_question(given).remarks == (
        "a string is in two clusters",
        "a cluster has the count 0",
        "num differs from the clusters",
        "raw answers are in no cluster",
        "a string of a cluster is no raw answer",
        "the count of a cluster differs from its raw answers",
    )


@pytest.mark.parametrize(
    ("cluster", "reason"),
    [
        ({"count": -1, "answers": ["x"]}, "the count of the cluster 'q1.a' is negative"),
        ({"count": "3", "answers": ["x"]}, "the count of the cluster 'q1.a' is not a number"),
        ({"count": True, "answers": ["x"]}, "is not a number"),
        ({"count": None, "answers": ["x"]}, "is not a number"),
        ({"count": float("nan"), "answers": ["x"]}, "is not a number"),
        ({"count": 1e300, "answers": ["x"]}, "is too large"),
        ({"count": 3, "answers": []}, "the cluster 'q1.a' has no strings"),
        ({"count": 3}, "has no strings"),
        ({"count": 3, "answers": ["x", 4]}, "an answer of the cluster 'q1.a' is not a string"),
        ("x", "the cluster 'q1.a' is not an object"),
    ],
)
def test_a_cluster_that_cannot_be_used(cluster: Any, reason: str) -> None:
    with pytest.raises(InvalidRow, match=reason):
        parse_question(row(a=cluster))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"answers": {"raw": {}, "clusters": {}}}, "the question has no clusters"),
        ({"answers": {"raw": {}}}, "answers has no object clusters"),
        ({"answers": {"raw": {"x": -1}, "clusters": {"a": {"count": 1, "answers": ["x"]}}}}, "is negative"),
        ({"answers": None, "answers-cleaned": 3}, "answers-cleaned is not a list and not an object"),
        ({"metadata": {}}, "no metadata.id and no questionid"),
        ({"metadata": {"id": 3}}, "the id is not a string"),
        ({"question": {"normalized": " "}}, "the question is blank"),
        ({"question": {}}, "no question.normalized and no normalized-question"),
    ],
)
def test_a_row_that_cannot_be_used(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidRow, match=reason):
        parse_question(row() | change)
