"""The inputs and targets of PGRA's reader (its src/data.py).

The paper's form ends the sentence with "This is <extra_id_0> ." ("intended"). In the published code a condition is
always true, so that every task gets the suffix of sentence pairs ("published"); the golden vectors have that form. A
pair has its mask between the sentences in both forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from nightjar.benchmarks.classification.labels import PAIR, label_of, labels_of

Suffix = Literal["intended", "published"]
MASK, END = "<extra_id_0>", "<extra_id_1>"
# Its mask comes before the sentence.
_FIRST = "trec"


def reader_question(task: str, text: str, suffix: Suffix = "intended") -> str:
    """The sentence with the mask that the label takes. Raises NightjarError for an unknown task."""
    labels_of(task)
    if suffix == "published" or PAIR in text:
        first, _, second = text.partition(PAIR)
        mask = f" ? {MASK} , "
        return mask + text if task == _FIRST else first + mask + second
    return f"{MASK} : {text}" if task == _FIRST else f"{text} This is {MASK} ."


def reader_passage(task: str, text: str, label: str | None = None) -> str:
    """A retrieved text; with `label`, the name of a label, one that shows it. Raises NightjarError as `label_of`."""
    if label is None:
        return text
    word = label_of(task, label).reader_word
    if PAIR in text:
        return text.replace(PAIR, f" ? {word} , ")
    return f"{word} :  {text} ." if task == _FIRST else f"{text} This is {word} ."


def encoder_inputs(task: str, text: str, passages: Sequence[str], suffix: Suffix = "intended") -> list[str]:
    """One encoder input for each passage (`reader_passage`); without passages, the question alone."""
    question = reader_question(task, text, suffix)
    return [f"{passage} {question}" for passage in passages] or [question]


def target(task: str, label: str) -> str:
    """What the decoder learns to write for a label. Raises NightjarError as `label_of`."""
    return f"{MASK} {label_of(task, label).reader_word} {END}"
