"""The texts of PGRA (Guo et al. 2023): demonstrations, prompts of the reranker and in-context learning, reader texts.

The prompts are from the templates of PromptSource, which shortens a field of more than 2,053 characters to at most
2,048 and strips the prompt. The texts of FEVER and of the pairs (RTE, QNLI, MRPC) are Nightjar's own.

The reader's texts have two forms. The paper's form ends the sentence with "This is <extra_id_0> ." ("intended"). In the
published code (src/data.py) a condition is always true, so that every task gets the suffix of sentence pairs
("published"); the golden vectors have that form. A pair has its mask between the sentences in both forms.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nightjar.benchmarks.classification.tasks import PAIR, label_of, names
from nightjar.core.errors import NightjarError

_SENTIMENT = "Does the following sentence have a positive or negative sentiment?\n{}"
TEMPLATES = {
    "sst2": _SENTIMENT,
    "sst5": "What sentiment does this sentence have? terrible, bad, okay, good or great\n{}",
    "cola": 'The following sentence is either "acceptable", meaning it is grammatically correct and makes sense, or '
    '"unacceptable". Which is it?\n{}',
    "trec": "Which category best describes the following question: {} \n\nChoose from the following list: \n"
    "Description, Entity, Abbreviation, Person, Quantity, Location",
    "cr": _SENTIMENT,
    "mr": _SENTIMENT,
    "mpqa": _SENTIMENT,
    "subj": "Is this a subjective or objective description?\n{}",
    "fever": "Is the following claim true? Yes, No or Not Sure\n{}",
    "rte": "Does the first sentence entail the second? Yes or No\n{}\n{}",
    "qnli": "Does the sentence answer the question? Yes or No\n{}\n{}",
    "mrpc": "Do the two sentences differ in meaning? Yes or No\n{}\n{}",
}
CUE = "\nThe answer is"
HEAD, SEPARATOR = "Follow the demonstrations:\n", "\n\n"
# Characters of a field, and how many more are left as they are (the leeway of Jinja's filter truncate).
FIELD, LEEWAY = 2048, 5
# Demonstrations of a prompt, as published.
SHOTS = 8
# What the reader writes is between these.
MASK, END = "<extra_id_0>", "<extra_id_1>"
# The task whose mask comes before the sentence.
_MASK_FIRST = "trec"


class Labelled(NamedTuple):
    """A sentence of a task and its label's name; `id` is unique in the task."""

    task: str
    id: str
    text: str
    label: str


def demonstrations(train: Iterable[Labelled], task: str, shots: int = SHOTS, seed: int = 0) -> list[Labelled]:
    """At least `shots` sentences of the training split with every label among them, in an order that the seed draws.

    The sentences are taken in the order of `train`, at most shots // labels + 1 of a label, until there are `shots` of
    them and every label has one: of a task with six labels, eight to eleven. Of a label with few sentences there may be
    so few that it is less than `shots`. As published, the reader does not train on them. The published code shuffles
    without a seed. With 0 shots there are none.
    """
    if not shots:
        return []
    labels = names(task)
    per_label = shots // len(labels) + 1
    chosen: list[Labelled] = []
    taken: Counter[str] = Counter()
    for sentence in train:
        if taken[sentence.label] < per_label:
            chosen.append(sentence)
            taken[sentence.label] += 1
        if len(chosen) >= shots and len(taken) == len(labels):
            break
    if missing := [label for label in labels if label not in taken]:
        what = f"no training sentence has the label {' or '.join(missing)}"
        raise NightjarError(what, task, "add some, or raise train_per_task")
    random.Random(f"{seed}\x1f{task}").shuffle(chosen)
    return chosen


def shortened(text: str, limit: int = FIELD) -> str:
    """The text, or at most `limit` characters of it: whole words and "..."."""
    if len(text) <= limit + LEEWAY:
        return text
    return text[: limit - 3].rsplit(" ", 1)[0] + "..."


def prompt(task: str, text: str) -> str:
    """The question of a task about a sentence or a pair."""
    first, *others = TEMPLATES[task].split("{}")
    fields = text.split(PAIR, maxsplit=len(others) - 1)
    fields += [""] * (len(others) - len(fields))
    return (first + "".join(shortened(it) + after for it, after in zip(fields, others, strict=True))).strip()


def query(task: str, text: str) -> str:
    """The prompt to the place where the label comes, without demonstrations."""
    return prompt(task, text) + CUE


def choice(task: str, label: str) -> str:
    """The text of a label as the answer to a `query`: a blank and its word."""
    return f" {label_of(task, label).prompt_word}"


def demonstration(task: str, text: str, label: str) -> str:
    """A prompt with its answer, without blank lines; `label` is the name of a label."""
    return prompt(task, text).replace("\n\n", "\n") + CUE + choice(task, label)


def prefix(task: str, examples: Sequence[Labelled]) -> str:
    """The text before a `query`: the demonstrations in their order; empty if there are none."""
    if not examples:
        return ""
    return HEAD + SEPARATOR.join(demonstration(task, it.text, it.label) for it in examples) + SEPARATOR


def reader_question(task: str, text: str, form: str = "intended") -> str:
    """The sentence with the mask that the label takes."""
    if form == "published" or PAIR in text:
        first, _, second = text.partition(PAIR)
        mask = f" ? {MASK} , "
        return mask + text if task == _MASK_FIRST else first + mask + second
    return f"{MASK} : {text}" if task == _MASK_FIRST else f"{text} This is {MASK} ."


def reader_passage(task: str, text: str, label: str | None = None) -> str:
    """A retrieved text; with `label`, the name of a label, one that shows it."""
    if label is None:
        return text
    word = label_of(task, label).reader_word
    if PAIR in text:
        return text.replace(PAIR, f" ? {word} , ")
    return f"{word} :  {text} ." if task == _MASK_FIRST else f"{text} This is {word} ."


def reader_inputs(task: str, text: str, passages: Sequence[str], form: str = "intended") -> list[str]:
    """The encoder's texts, one for each passage (`reader_passage`); without passages, the question alone."""
    question = reader_question(task, text, form)
    return [f"{passage} {question}" for passage in passages] or [question]


def target(task: str, label: str) -> str:
    """The text that the decoder learns to write for a label."""
    return f"{MASK} {label_of(task, label).reader_word} {END}"
