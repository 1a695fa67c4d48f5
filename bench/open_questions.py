"""Open questions, each with a text that answers it: questions of many kinds for the reader of the tool QA.

The questions and answers are those of three tasks of Super-NaturalInstructions, which have no passages. Search finds
them (distant supervision: Chen et al. 2017, section 4.3), among sentences that are given and the passages of other
tasks. About three of four such texts do answer their question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.public_sets import tasks, words
from nightjar.benchmarks.protoqa.similarity import STOP_WORDS
from nightjar.search import LexicalIndex

# Natural Questions, SciQ and FreebaseQA; and passages of Wikipedia, of BoolQ, AQuaMuSe, QED and ReCoRD.
QUESTIONS = ("task582_", "task591_", "task898_")
PASSAGES = ("task381_", "task519_", "task769_", "task1660_")
# Words of a part of a passage, and from one part to the next.
PART, STEP = 80, 60
# Texts that are looked at for a question.
BEST = 5


def texts(source: Path) -> Iterator[str]:
    """The parts of the passages."""
    for passage, _ in tasks(source / "natural-instructions/tasks", PASSAGES):
        every = passage.split()
        yield from (" ".join(every[first : first + PART]) for first in range(0, len(every), STEP))


def found(
    source: Path, sentences: Iterable[str], left_out: frozenset[str]
) -> Iterator[tuple[str, str, str, int, str]]:
    """Task, question, text, and the start and the text of the answer in it.

    A text has the answer, and at least two and half of the question's words that tell something. No question has a word
    that begins with one of `left_out`.
    """
    asked = [
        (name.rstrip("_"), question, answer.rstrip(".").strip())
        for name in QUESTIONS
        for question, answer in tasks(source / "natural-instructions/tasks", [name])
        if not any(word.startswith(tuple(left_out)) for word in words(question).split())
    ]
    every = list(dict.fromkeys([*sentences, *texts(source)]))
    ids, _ = LexicalIndex.build(every).search([question for _, question, _ in asked], k=BEST)
    for (name, question, answer), row in zip(asked, ids.tolist(), strict=True):
        own = set(words(question).split())
        told = own - STOP_WORDS
        if not set(words(answer).split()) - own:
            continue
        for text in (every[place] for place in row if place >= 0):
            shared = len(told & set(words(text).split()))
            place = re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE)
            if place and shared >= max(2, len(told) / 2):
                yield name, question, text, place.start(), place[0]
                break
