"""Files of predictions and references: their forms, and one line for each fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.protoqa.formats import predictions, reference, references
from nightjar.core.errors import NightjarError
from tests.nightjar.benchmarks.protoqa.files import put, row


def read(path: Path) -> dict[str, list[str]]:
    return {id: answers for _, id, answers in predictions(path)}


def test_the_three_forms_of_predictions(tmp_path: Path) -> None:
    expected = {"q1": ["rain", ""], "q2": []}
    listed = put(
        tmp_path / "a.jsonl", [{"question_id": id, "ranked_answers": it} for id, it in expected.items()]
    )
    keyed = put(tmp_path / "b.jsonl", [{id: it} for id, it in expected.items()])
    whole = put(tmp_path / "c.json", [json.dumps(expected, indent=1)])
    assert read(listed) == read(keyed) == read(whole) == expected


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([{"question_id": "q1"}], ":1: ranked_answers is missing"),
        ([{"ranked_answers": ["x"]}], ":1: question_id is missing"),
        ([{"question_id": 3, "ranked_answers": ["x"]}], "the question_id 3 is not a text"),
        ([{"q1": ["x", 3]}], "answer 2 to 'q1' is 3, which is not a text"),
        ([{"q1": [None]}], "answer 1 to 'q1' is None, which is not a text"),
        ([{"q1": "x"}], "the answers to 'q1' are not a list"),
        ([{"q1": ["x"], "q2": ["y"]}], "2 keys and no question_id"),
        ([{}], "0 keys and no question_id"),
        ([["x"]], "not an object"),
        (
            [{"q1": ["x"]}, {"question_id": "q2", "ranked_answers": ["x"]}],
            ":2: question_id with ranked_answers, where earlier lines have the id as the key",
        ),
        (["{"], ":1: not JSON"),
        (['{"q1": ["x"], "q1": ["y"]}'], "occurs twice"),
        ([], "no predictions"),
    ],
)
def test_predictions_that_are_refused(tmp_path: Path, lines: list[Any], reason: str) -> None:
    with pytest.raises(NightjarError) as raised:
        read(put(tmp_path / "p.jsonl", lines))
    assert reason in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[1]", "not a JSON object"),
        ("{}", "no predictions"),
        ('{"q1": [1]}', "answer 1 to 'q1' is 1, which is not a text"),
        ('{"q1": ["x"], "q1": ["y"]}', "occurs twice"),
        ('{"q1": ["x"]}\n{"q2": ["y"]}', "not JSON"),
    ],
)
def test_a_json_file_that_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    with pytest.raises(NightjarError, match=reason):
        read(put(tmp_path / "p.json", [content]))


def test_references_are_in_the_form_of_the_dataset(tmp_path: Path) -> None:
    ((where, found),) = references(put(tmp_path / "dev.jsonl", [row()]))
    assert where.endswith("dev.jsonl:1")
    assert (found.id, found.references) == ("q1", ("rain", "snow"))
    assert reference(found) == row()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (
            {key: value for key, value in row().items() if key != "answers"},
            "the question 'q1' has no clusters",
        ),
        (row(a={"count": 3, "answers": []}), "the cluster 'q1.a' has no strings"),
        (row(a={"count": -3, "answers": ["x"]}), "is negative"),
        (row(a={"count": 0, "answers": ["x"]}), "the counts of 'q1' are all 0"),
        ("[]", "not an object"),
    ],
)
def test_references_that_are_refused(tmp_path: Path, given: Any, reason: str) -> None:
    with pytest.raises(NightjarError, match=f":1: .*{reason}"):
        list(references(put(tmp_path / "dev.jsonl", [given])))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for suffix in (".json", ".jsonl"):
        with pytest.raises(NightjarError, match="no such file"):
            read(tmp_path / f"absent{suffix}")
