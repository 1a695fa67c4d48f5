"""A card whose files have forms of its own: what the readers give is checked, scored and explained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.capabilities import Explain
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.files import read_answers, read_references, write_references
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.readers import Readers
from nightjar.benchmarks.score import score_files
from nightjar.core import contracts
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import parse
from nightjar.core.tables import ArtifactWriter
from tests.made_card import CARD

PREDICTIONS = [("p:1", "one", ["a"]), ("p:2", "three", [])]


def asked() -> list[Question]:
    return [Question("made", "words", id, {"question": "?"}, ("a",)) for id in ("one", "two", "three")]


def own(predictions: list[tuple[str, str, list[str]]], questions: list[Question]) -> Card:
    """The made card with readers that give these, whatever the file."""

    def references(path: Path) -> Iterator[tuple[str, Question]]:
        return ((f"{path}:{number}", one) for number, one in enumerate(questions, start=1))

    readers = Readers(lambda path: iter(predictions), references, lambda question: {"own": question.id})
    files = replace(CARD.files, unanswered="left out", by_task=False)
    metric = Metric("errors", "Errors", range=(0, 1), scale=1 / 3, decimals=12)
    return replace(CARD, files=files, metrics=(metric,), tasks={}, capabilities=(readers, Explain(_explain)))


def _explain(question: Question, answers: Any) -> dict[str, Any]:
    return {"told": [question.id, list(answers)]}


@pytest.fixture()
def file(tmp_path: Path) -> Path:
    path = tmp_path / "given.txt"
    path.write_text("in a form of its own")
    return path


def test_answers_are_matched_to_questions(file: Path) -> None:
    card = own(PREDICTIONS, asked())
    questions = read_references(card, file)
    assert read_answers(card, file, questions) == [["a"], None, []]


@pytest.mark.parametrize(
    ("predictions", "reason"),
    [
        ([*PREDICTIONS, ("p:3", "one", ["b"])], "p:3: the id 'one' occurs twice; give every id once"),
        (
            [("p:1", "four", [])],
            "p:1: no reference has the id 'four'; check that the two files belong together",
        ),
    ],
)
def test_predictions_with_other_ids(
    file: Path, predictions: list[tuple[str, str, list[str]]], reason: str
) -> None:
    card = own(predictions, asked())
    with pytest.raises(NightjarError) as raised:
        read_answers(card, file, read_references(card, file))
    assert str(raised.value) == reason


def test_references_twice_or_none(file: Path) -> None:
    with pytest.raises(NightjarError, match=r":4: the id 'one' occurs twice"):
        read_references(own([], [*asked(), asked()[0]]), file)
    with pytest.raises(NightjarError, match="no references"):
        read_references(own([], []), file)


def test_an_unanswered_question_is_left_out_of_the_scores(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "card", lambda name: own(PREDICTIONS, asked()))
    found = score_files("made", file, file, tmp_path / "details.jsonl", samples=0)
    assert (found["n"], found["missing"]) == (3, 1)
    # Errors 0 and 1 of two questions, in thirds, with 12 decimals.
    assert found["metrics"] == {"errors": 0.166666666667}
    lines = [parse(line) for line in (tmp_path / "details.jsonl").read_bytes().splitlines()]
    assert [line["told"] for line in lines] == [["one", ["a"]], ["two", []], ["three", []]]
    assert ["errors" in line for line in lines] == [True, False, True]


def test_references_are_written_in_the_own_form(tmp_path: Path) -> None:
    with ArtifactWriter(tmp_path / "questions") as writer:
        writer.write(contracts.QUESTIONS, [one.row() for one in asked()], part="all")
    assert write_references(own([], []), tmp_path / "written.jsonl", tmp_path / "questions") == 3
    lines = (tmp_path / "written.jsonl").read_bytes().splitlines()
    assert sorted(parse(line)["own"] for line in lines) == ["one", "three", "two"]
