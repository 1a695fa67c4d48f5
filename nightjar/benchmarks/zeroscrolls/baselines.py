"""The naive baselines of the paper (section 4.1), one answer for each of the ten tasks.

A draw depends on the seed, the task and the example alone, so that no other example changes it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from nightjar.benchmarks.card import Baseline
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.zeroscrolls.examples import Example, of_parts
from nightjar.benchmarks.zeroscrolls.tasks import TASKS

# Words of a random span of the document.
SPANS = {"gov_report": 500, "summ_screen_fd": 200, "qmsum": 50, "squality": 120, "narrative_qa": 4}
# The answers that Qasper's baseline chooses from, with a random span of so many words. How often is not published: each
# of the four is equally likely here.
QASPER, QASPER_SPAN = ("Yes", "No", "Unanswerable"), 15


def naive(question: Question, seed: int) -> str:
    """A random span of the document or the most common answer, by the task, as published."""
    task = question.task_id
    example = of_parts(question.parts)
    source = random.Random(f"{seed}\x1f{task}\x1f{question.id}")
    if task == "musique":
        return "Unanswerable"
    if task == "quality":
        return source.choice("ABCD")
    if task == "space_digest":
        return "50%"
    if task == "book_sum_sort":
        return ", ".join(str(id + 1) for id in range(summaries(example)))
    if task == "qasper":
        return source.choice([*QASPER, _span(task, example, QASPER_SPAN, source)])
    return _span(task, example, SPANS[task], source)


def summaries(example: Example) -> int:
    """How many summaries are to be put in order: the first number of the instruction, 0 if it has none."""
    words = example.input.partition("\n\n")[0].split()
    return next((int(word) for word in words if word.isascii() and word.isdigit()), 0)


def baselines(settings: Any) -> Mapping[str, Baseline]:
    """The baseline by its name."""
    return {"naive": naive}


def _span(task: str, example: Example, words: int, source: random.Random) -> str:
    """So many words of the document in a row, or all of a shorter one."""
    found = example.document(TASKS[task].document).split()
    start = source.randrange(max(1, len(found) - words + 1))
    return " ".join(found[start : start + words])
