"""The naive baselines: what they answer to each task, and that draws depend on the example alone."""

from __future__ import annotations

from collections import Counter

import pytest

from nightjar.benchmarks.card import Question
from nightjar.benchmarks.zeroscrolls.baselines import SPANS, naive, summaries
from nightjar.benchmarks.zeroscrolls.examples import Example, built
from nightjar.benchmarks.zeroscrolls.tasks import NAME, TASKS

WORDS = [f"w{number}" for number in range(1000)]


def example(task: str, words: int = 1000, n: int = 7) -> Example:
    return built(TASKS[task], " ".join(WORDS[:words]), "Which?" if TASKS[task].query else "", n)


def question(task: str, id: str = "a", words: int = 1000) -> Question:
    return Question(NAME, task, id, example(task, words).parts(), ())


@pytest.mark.parametrize(("task", "size"), list(SPANS.items()))
def test_a_span_of_the_document(task: str, size: int) -> None:
    found = [naive(question(task, str(number)), 1).split() for number in range(30)]
    starts = {int(words[0][1:]) for words in found}
    assert len(starts) > 10
    assert all(words == WORDS[int(words[0][1:]) :][:size] and len(words) == size for words in found)


@pytest.mark.parametrize("task", list(SPANS))
def test_a_shorter_document_is_the_answer(task: str) -> None:
    assert naive(question(task, words=3), 1) == "w0 w1 w2"


def test_qasper_chooses_from_four_equally() -> None:
    found = Counter(naive(question("qasper", str(number)), 1) for number in range(400))
    named = [found[name] for name in ("Yes", "No", "Unanswerable")]
    # 100 of 400 are expected each; 60 and 140 are 4.6 standard deviations away.
    assert all(60 < count < 140 for count in (*named, 400 - sum(named)))
    assert all(len(answer.split()) in (1, 15) for answer in found)


def test_the_others() -> None:
    assert naive(question("musique"), 1) == "Unanswerable"
    assert naive(question("space_digest"), 1) == "50%"
    assert naive(question("book_sum_sort"), 1) == "1, 2, 3, 4, 5, 6, 7"
    letters = Counter(naive(question("quality", str(number)), 1) for number in range(400))
    assert set(letters) == set("ABCD") and min(letters.values()) > 60


@pytest.mark.parametrize("task", list(TASKS))
def test_draws_depend_on_the_seed_and_the_example(task: str) -> None:
    assert naive(question(task), 1) == naive(question(task), 1)
    if task in SPANS:
        assert naive(question(task), 1) != naive(question(task), 2)
        assert naive(question(task, "a"), 1) != naive(question(task, "b"), 1)


def test_the_number_of_summaries_is_that_of_the_instruction() -> None:
    assert summaries(example("book_sum_sort", n=86)) == 86
    assert summaries(example("qmsum")) == 0
