"""The naive baselines: what they answer to each task, and that draws depend on the example alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.aggregate import aggregate
from nightjar.benchmarks.question import Question, Record
from nightjar.benchmarks.scores import score
from nightjar.benchmarks.zeroscrolls.formats import load
from nightjar.benchmarks.zeroscrolls.prompts import LongExample, built
from nightjar.benchmarks.zeroscrolls.questions import SPANS, naive
from nightjar.benchmarks.zeroscrolls.tasks import NAME, TASKS
from nightjar.statistics import Bootstrap

WORDS = [f"w{number}" for number in range(1000)]


def example(task: str, words: int = 1000, n: int = 7) -> LongExample:
    return built(TASKS[task], " ".join(WORDS[:words]), "Which?" if TASKS[task].query else "", n)


def question(task: str, id: str = "a", words: int = 1000) -> Question:
    return Question(NAME, task, id, example(task, words).parts(), ())


@pytest.mark.parametrize(("task", "size"), list(SPANS.items()))
def test_a_span_of_the_document(task: str, size: int) -> None:
    found = [naive(question(task, str(number)), 1).split() for number in range(30)]
    starts = {int(words[0][1:]) for words in found}
    assert len(starts) > 10
    assert all(words == WORDS[int(words[0][1:]) :][:size] and len(words) == size for words in found)
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


@pytest.mark.parametrize("task", ["qmsum", "squality"])
def test_the_published_score_is_that_on_the_real_test_set(real_data: Path, tmp_path: Path, task: str) -> None:
    """Table 3 has 6.7 and 10.5; other spans were drawn there."""
    (tmp_path / task).mkdir()
    (tmp_path / task / "test.jsonl").symlink_to(real_data / "long-documents" / task / "test.jsonl")
    found = [one for one in load(tmp_path) if isinstance(one, Record)]
    questions = [Question(NAME, task, it.id, it.parts, it.references, track=task) for it in found]
    card = registry.load_benchmark(NAME)
    scores = score(card, "naive", questions, [[naive(one, 0)] for one in questions])
    row = aggregate(card, [scores], Bootstrap(0, 1000, 0.999))[0]
    published = next(it.values[task] for it in card.papers.rows if it.system == "naive")
    assert row["metric"] == "rouge"
    assert row["low"] < published + 0.05 and published - 0.05 < row["high"]
