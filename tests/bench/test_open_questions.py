"""A text is found for a question if it has the answer and enough of the question's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.open_questions import found
from tests.bench.test_toolformer_texts import write_task

MILL = "The old mill of Norwood was built in 1836, beside the river."
BREAD = "Bread of rye is baked in Easton."
LONG = (
    " ".join(f"w{number}" for number in range(150)) + " The lighthouse keeper of Skerry was called Tom Pell."
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    questions = [
        ("when was the old mill of Norwood built", "1836."),
        ("in which year was rye bread baked", "1836"),
        ("which mill is the old mill of Norwood", "the mill"),
        ("which instrument is played in the mill of Norwood", "river"),
        ("who was the lighthouse keeper of Skerry?", "tom pell"),
    ]
    write_task(tmp_path, "task582_made", questions)
    write_task(tmp_path, "task381_made", [(LONG, "a question")])
    return tmp_path


def test_a_text_has_the_answer_and_half_of_what_the_question_tells(source: Path) -> None:
    made = list(found(source, [MILL, BREAD], frozenset({"instr"})))
    assert [(task, question) for task, question, *_ in made] == [
        ("task582", "when was the old mill of Norwood built"),
        ("task582", "who was the lighthouse keeper of Skerry?"),
    ]
    assert [text[start : start + len(answer)] for *_, text, start, answer in made] == ["1836", "Tom Pell"]
    assert made[0][2] == MILL and made[1][2].startswith("w120 ")


def test_a_question_with_a_word_that_is_left_out_is_asked_only_without_it(source: Path) -> None:
    asked = [question for _, question, *_ in found(source, [MILL, BREAD], frozenset())]
    assert "which instrument is played in the mill of Norwood" in asked


def test_without_questions_nothing_is_found(tmp_path: Path) -> None:
    assert list(found(tmp_path, [MILL], frozenset())) == []
