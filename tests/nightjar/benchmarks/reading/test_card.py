"""Reading comprehension: SQuAD's files, what is refused, the sides, and the scores against small examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.question import Question, Record, Refused
from nightjar.benchmarks.question_artifact import opened
from nightjar.benchmarks.reading.questions import NAME, ReadingSettings
from nightjar.benchmarks.reading.scoring import BENCHMARK
from nightjar.core.errors import NightjarError

PASSAGE = "Ada Brock was born in Norwood in 1874."


def asked(id: str, answer: str | None, **more: Any) -> dict[str, Any]:
    answers = [{"text": answer, "answer_start": PASSAGE.index(answer)}] if answer else []
    return {"id": id, "question": f"question {id}?", "answers": answers, "is_impossible": not answers} | more


def write(folder: Path, name: str, *questions: Any) -> None:
    articles = [{"title": "Ada_Brock", "paragraphs": [{"context": PASSAGE, "qas": list(questions)}]}]
    (folder / f"{name}.json").write_text(json.dumps({"version": "1.1", "data": articles}))


def rows(folder: Path) -> tuple[list[Record], list[Refused]]:
    found = list(BENCHMARK.load(folder))
    return [it for it in found if isinstance(it, Record)], [it for it in found if isinstance(it, Refused)]


def test_the_rows_of_a_file(tmp_path: Path) -> None:
    several = [
        {"text": text, "answer_start": PASSAGE.index(text)} for text in ("in Norwood", "Norwood", "Norwood")
    ]
    write(
        tmp_path,
        "dev",
        asked("a", "Norwood"),
        asked("b", None),
        asked("c", None, answers=several, is_impossible=False),
    )
    records, refused = rows(tmp_path)
    assert not refused and [it.task_id for it in records] == ["dev"] * 3
    assert records[0].parts == {
        "title": "Ada Brock",
        "passage": PASSAGE,
        "question": "question a?",
        "spans": [[22, 29]],
    }
    assert [it.references for it in records] == [("Norwood",), ("",), ("in Norwood", "Norwood")]
    assert [it.parts["spans"] for it in records] == [[[22, 29]], [], [[19, 29], [22, 29]]]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (asked("a", "Norwood", answers=[{"text": "Norwood", "answer_start": 3}]), "not at its answer_start"),
        (asked("a", "Ada", answers=[{"text": "Ada", "answer_start": -3}]), "not at its answer_start"),
        (asked("a", "Ada", answers=[{"text": "Ada", "answer_start": 0.0}]), "not at its answer_start"),
        (
            asked("a", "Ada", answers=[{"text": one, "answer_start": 0} for one in ("Ada", "Norwood")]),
            "the answer 'Norwood' is not at its answer_start",
        ),
        (asked("a", "Ada", is_impossible="False"), "is_impossible is neither true nor false"),
        (asked("a", "Norwood", answers=[]), "answers is not a list"),
    ],
)
def test_what_is_refused(tmp_path: Path, question: Any, reason: str) -> None:
    write(tmp_path, "dev", question, asked("good", "Norwood"))
    records, (refused,) = rows(tmp_path)
    assert [it.id for it in records] == ["good"] and reason in refused.reason and refused.file == "dev.json"


def test_an_unanswerable_question_may_have_plausible_answers(tmp_path: Path) -> None:
    plausible = [{"text": "Norwood", "answer_start": 22}]
    write(tmp_path, "dev", asked("a", None, plausible_answers=plausible), asked("b", None, answers=plausible))
    records, refused = rows(tmp_path)
    assert not refused and [(it.references, it.parts["spans"]) for it in records] == [(("",), [])] * 2


def test_an_answer_starts_at_its_first_letter(tmp_path: Path) -> None:
    write(tmp_path, "dev", asked("a", " Norwood "))
    ((record,), _) = rows(tmp_path)
    assert record.references == ("Norwood",) and record.parts["spans"] == [[22, 29]]


def test_an_id_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "dev", asked("a", "Norwood"), asked("a", "1874"))
    write(tmp_path, "train", asked("a", "Ada"))
    with opened(BENCHMARK, tmp_path) as (sources, refused):
        found = [
            BENCHMARK.questions(sources, ReadingSettings(evaluated=name), 0) for name in ("dev", "train")
        ]
        assert [[it.references for it in own] for own in found] == [[("Norwood",)], [("Ada",)]]
    assert [(it.id, it.reason) for it in refused] == [("a", "the same id twice")]


def test_a_question_with_a_duplicate_key_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "dev", asked("a", "Norwood"))
    text = (tmp_path / "dev.json").read_text()
    (tmp_path / "dev.json").write_text(text.replace('"id": "a"', '"id": "b", "id": "a"'))
    records, (refused,) = rows(tmp_path)
    assert not records and "occurs twice" in refused.reason


def test_the_sides(tmp_path: Path) -> None:
    write(tmp_path, "test", asked("a", "Norwood"))
    with opened(BENCHMARK, tmp_path) as (sources, _):
        assert [it.id for it in BENCHMARK.questions(sources, ReadingSettings(), 0)] == ["a"]
    write(tmp_path, "train", *(asked(f"t{n}", "1874") for n in range(5)))
    settings = ReadingSettings(evaluated="test", train="train", train_questions=3)
    with opened(BENCHMARK, tmp_path) as (sources, _):
        assert [it.id for it in BENCHMARK.questions(sources, settings, 0)] == ["a"]
        training = BENCHMARK.training_questions(sources, settings, 0)
        sides = [side for side, _ in training]
        assert sides == ["train"] * 3
        with pytest.raises(
            NightjarError, match=r"evaluated names none of several files.*files are test, train"
        ):
            list(BENCHMARK.questions(sources, ReadingSettings(), 0))


def question(*references: str) -> Question:
    return Question(NAME, "dev", "1", {"title": "", "passage": PASSAGE, "question": "?"}, references)


@pytest.mark.parametrize(
    ("references", "answer", "exact", "f1"),
    [
        (("Norwood",), "norwood.", 1, 1),
        (("Norwood",), "in Norwood", 0, 2 / 3),
        (("in Norwood", "Norwood"), "the Norwood", 1, 1),
        (("Norwood",), "", 0, 0),
        (("",), "", 1, 1),
        (("",), "Norwood", 0, 0),
    ],
)
def test_scores(references: tuple[str, ...], answer: str, exact: float, f1: float) -> None:
    found = BENCHMARK.score([question(*references)], [[answer]])
    assert found["exact_match"].tolist() == [exact] and found["f1"].tolist() == [pytest.approx(f1)]


def test_a_question_without_a_prediction_is_wrong_even_if_it_has_no_answer() -> None:
    """An empty answer says that there is none; a model that failed says nothing."""
    found = BENCHMARK.score([question(""), question("")], [[""], []])
    assert found["exact_match"].tolist() == found["f1"].tolist() == [1.0, 0.0]
