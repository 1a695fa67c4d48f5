"""Questions from the ingested records and from Dateset, their draw, and the published prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.question import Asking, Question, Sources
from nightjar.benchmarks.question_artifact import opened
from nightjar.benchmarks.tool_use.questions import QUESTION_SET, ToolUseSettings
from nightjar.benchmarks.tool_use.scoring import BENCHMARK
from nightjar.benchmarks.tool_use.tasks import GROUPS
from nightjar.core.config import checked
from tests.nightjar.benchmarks.zeroscrolls.words import Words
from tests.nightjar.prompts.options import options

# Questions of the sample, by task.
SAMPLE = {
    "lama_squad": 8, "lama_google_re": 8, "lama_trex": 8, "asdiv": 24, "svamp": 24, "mawps": 8, "web_questions": 24,
    "natural_questions": 8, "trivia_qa": 8, "mlqa_en": 6, "mlqa_es": 6, "mlqa_de": 6, "mlqa_hi": 6, "mlqa_vi": 6,
    "mlqa_zh": 6, "mlqa_ar": 6, "templama": 8, "wikitext": 6, "held_out": 24,
}  # fmt: skip


@pytest.fixture(scope="module")
def sources(sample: Path) -> Iterator[Sources]:
    """The sample, ingested."""
    with opened(BENCHMARK, sample / "tool_use") as (sources, _):
        yield sources


def settings(**values: Any) -> ToolUseSettings:
    return checked(ToolUseSettings, values, "params.yaml")


def test_all_questions(sources: Sources) -> None:
    found = list(QUESTION_SET.questions(sources, settings(), 1))
    assert list(Counter(it.task_id for it in found).items()) == [*SAMPLE.items(), ("dateset", 9400)]
    assert all(it.track == it.task_id for it in found)
    assert all(it.category == GROUPS[it.task_id] for it in found)
    assert all((it.day is not None) == (it.task_id in ("templama", "dateset")) for it in found)
    assert {(it.dataset, it.file) for it in found if it.task_id == "svamp"} == {
        ("tool_use", "svamp/SVAMP.json")
    }


def test_so_many_questions_on_dates_are_drawn(sources: Sources) -> None:
    few = QUESTION_SET.questions(sources, settings(tasks=["dateset"], dateset_questions=30), 5)
    assert Counter(it.task_id for it in few) == {"dateset": 30}


def asking(length: int, *passages: tuple[str, str]) -> Asking:
    encoding = options(positive_examples=0, max_source_length=length)
    return Asking(encoding, Words(), [{"title": title, "text": text} for title, text in passages])


def math(body: str, question: str) -> Question:
    parts = {"body": body, "question": question}
    return Question("tool_use", "svamp", "1", parts, ("1",), category="math")


def test_published_prompts() -> None:
    none = asking(100)
    assert (
        QUESTION_SET.prompt(math("Ann has 3 hats", "How many?"), none)
        == "Ann has 3 hats How many? The answer is"
    )
    for task, group in (("web_questions", "question answering"), ("dateset", "temporal")):
        question = Question("tool_use", task, "1", {"question": "who won"}, ("Ann",), category=group)
        assert QUESTION_SET.prompt(question, none) == "Answer the following question: who won?"
        question = Question("tool_use", task, "1", {"question": "who won?"}, ("Ann",), category=group)
        assert QUESTION_SET.prompt(question, none) == "Answer the following question: who won?"


def of(task: str, **parts: str) -> Question:
    return Question("tool_use", task, "1", parts, ("  the text\n",), category=GROUPS[task])


def test_published_prompts_of_statements_paragraphs_and_texts() -> None:
    """Schick et al. 2023, section 4.2 and appendix C, character by character."""
    none = asking(100)
    complete = "Please complete the following text so that it is factually correct: "
    for task in ("lama_squad", "lama_google_re", "lama_trex", "templama"):
        assert QUESTION_SET.prompt(of(task, text="Ann was born in"), none) == f"{complete}Ann was born in"
    assert QUESTION_SET.prompt(of("mlqa_de", context="Ann has hats.", question="Wer hat?"), none) == (
        "Your task is to answer a question based on the following paragraph: Ann has hats. "
        "Now answer the following question in English: Wer hat?"
    )
    assert QUESTION_SET.prompt(of("mawps", question="How many?"), none) == "How many? The answer is"
    assert QUESTION_SET.prompt(of("trivia_qa", question="Who"), none) == "Answer the following question: Who?"
    for passages in ((), (("A", "one"),)):
        assert QUESTION_SET.prompt(of("wikitext", title="T"), asking(1, *passages)) == "  the text\n"


def test_what_evidence_is_searched_by() -> None:
    assert QUESTION_SET.query({"context": "c", "question": "q"}) == "q"
    assert QUESTION_SET.query({"text": "t"}) == "t"
    assert QUESTION_SET.query({"title": "a title"}) == "a title"


def test_evidence_that_does_not_fit_is_left_out_last_first() -> None:
    question = math("Ann has 3 hats.", "How many?")
    passages = [("A", "one two three"), ("B", "four five")]
    asked = "Ann has 3 hats. How many? The answer is"
    first, second = "Evidence 1 - A: one two three\n", "Evidence 2 - B: four five\n"
    assert QUESTION_SET.prompt(question, asking(22, *passages)) == f"{first}{second}\n{asked}"
    assert QUESTION_SET.prompt(question, asking(21, *passages)) == f"{first}\n{asked}"
    assert QUESTION_SET.prompt(question, asking(16, *passages)) == f"{first}\n{asked}"
    assert QUESTION_SET.prompt(question, asking(15, *passages)) == asked
    assert QUESTION_SET.prompt(question, asking(1, *passages)) == asked


def test_prompts_in_the_encoding_of_the_recipes(sources: Sources) -> None:
    found = {one.task_id: one for one in QUESTION_SET.questions(sources, settings(prompts="instructions"), 1)}
    statement = QUESTION_SET.prompt(found["lama_trex"], asking(500))
    assert f"Input: {found['lama_trex'].parts['text']} ___\nOutput:" in statement
    assert QUESTION_SET.prompt(found["wikitext"], asking(500)) == found["wikitext"].references[0]
    for task, beginning in (
        ("svamp", "Definition: Solve the problem"),
        ("dateset", "Definition: Answer the"),
        ("templama", "Definition: Complete the text"),
        ("mlqa_zh", "Definition: Read the paragraph"),
    ):
        text = QUESTION_SET.prompt(found[task], asking(500, ("T", "a passage")))
        assert text.startswith(beginning) and text.endswith("Output:")
        assert all(part.rstrip("?") in text for part in found[task].parts.values())
        assert "Evidence 1 - T: a passage" in text


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"body": "It is 3 by 4 meters.", "question": "Find its area."}, "It is 3 by 4 meters. Find its area."),
        ({"question": "Who?", "context": "Ann."}, "Who?\n\nAnn."),
        ({"question": "Who?"}, "Who?"),
        ({"text": "Ann lives in"}, "Ann lives in"),
    ],
)  # fmt: skip
def test_pages_show_the_story_of_a_word_problem(parts: dict[str, Any], text: str) -> None:
    assert BENCHMARK.display_text(parts) == text
