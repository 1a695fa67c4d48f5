"""The inputs of a reader for each question of a benchmark: its texts, with passages or demonstrations."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.question import Question, drawn
from nightjar.benchmarks.question_set import QuestionSet
from nightjar.core.errors import NightjarError
from nightjar.models.reader.reader_tokens import ReaderTokenizer
from nightjar.search.rankings import Passages, Side, read_rankings

# The training questions of each answer of a task, by the answer.
Pool = Mapping[str, Sequence[Question]]


@dataclass(frozen=True)
class Read:
    """The encoder's texts for a question, the text of the question alone, and ln p(passage | question) of each text."""

    texts: list[str]
    question: str
    prior: NDArray[np.float64]

    def ids(self, tokens: ReaderTokenizer, limit: int) -> list[list[int]]:
        """Return the ids of the texts, each of at most `limit` tokens; see `Tokens.input`."""
        return [tokens.input(text, self.question, limit) for text in self.texts]


def check_form(benchmark: QuestionSet, form: str) -> None:
    """Raise NightjarError for a benchmark that has no texts for a reader, or not in that form."""
    if not benchmark.reader_forms:
        raise NightjarError(
            f"{benchmark.name} has no texts for a reader", "params.yaml", "use another benchmark"
        )
    if form not in benchmark.reader_forms:
        fix = f"forms are {', '.join(benchmark.reader_forms)}"
        raise NightjarError(f"{benchmark.name} has no form {form!r} of a question", "params.yaml", fix)


def with_passages(
    benchmark: QuestionSet,
    form: str,
    questions: Sequence[Question],
    evidence: Path | None,
    index: Path | None,
    side: Side,
    limit: int,
    temperature: float = 1.0,
) -> list[Read]:
    """Return the inputs of each question with its best `limit` passages, fewer where fewer were found.

    Without `evidence`, or for a question for which nothing was found, the question alone. p(passage | question) is the
    softmax of the scores of these passages (Lewis et al. 2020), which are divided by the temperature before. Raises
    NightjarError for a question without a ranking, and for a ranking of another index.
    """
    rankings = read_rankings(evidence, side) if evidence else {}
    passages = Passages(index) if evidence and index else None
    inputs = []
    for question in questions:
        texts: list[str] = []
        prior = np.zeros(1)
        if passages and evidence:
            if question.key not in rankings:
                what = f"no ranking for the question {question.id} of {question.task_id} ({side})"
                raise NightjarError(what, evidence, "make it again: nightjar rebuild")
            numbers, scores = rankings[question.key]
            texts = passages.texts(numbers[:limit])
            scaled = scores[:limit] / temperature
            prior = scaled - np.logaddexp.reduce(scaled) if texts else prior
        inputs.append(
            Read(
                benchmark.reader_inputs(question, texts, form),
                benchmark.reader_inputs(question, (), form)[0],
                prior,
            )
        )
    return inputs


def pool_of(
    questions: Sequence[Question], names: Sequence[str], shots: int, seed: int
) -> dict[str, list[Question]]:
    """At most `shots` training questions of each answer, drawn by the seed."""
    return {
        name: list(
            drawn([one for one in questions if one.references[0] == name], shots, seed, lambda one: one.key)
        )
        for name in names
    }


def with_demonstrations(
    benchmark: QuestionSet,
    form: str,
    questions: Sequence[Question],
    pools: Mapping[str, Pool],
    seed: int,
    tokens: ReaderTokenizer,
    limit: int,
) -> list[Read]:
    """The input of each question with one labelled example of each answer, drawn by the seed from its task's pool.

    The seed draws their order too. Where the input has more than `limit` tokens, all examples are cut to the same
    number of words, and keep their labels. A question is no example of its own (LM-BFF; Gao et al. 2021, section 6.1).
    """
    inputs = []
    for question in questions:
        chance = random.Random("\x1f".join((str(seed), *question.key)))
        others = [
            [one for one in members if one.key != question.key]
            for members in pools[question.task_id].values()
        ]
        examples = [chance.choice(members) for members in others if members]
        chance.shuffle(examples)
        text = _fitting(partial(benchmark.demonstrated_input, question, examples, form), tokens, limit)
        inputs.append(Read([text], benchmark.reader_inputs(question, (), form)[0], np.zeros(1)))
    return inputs


def _fitting(text: Callable[[int | None], str], tokens: ReaderTokenizer, limit: int) -> str:
    """The text with so many words of each example that it has at most `limit` tokens, with none if it must be."""
    if tokens.length(full_text := text(None)) <= limit:
        return full_text
    # A word has at least one token.
    longer = bisect_right(range(limit), limit, key=lambda words: tokens.length(text(words)))
    return text(max(0, longer - 1))


def check_answers(
    benchmark: QuestionSet,
    task: str,
    train: Sequence[Question],
    dev: Sequence[Question],
    names: Sequence[str],
) -> None:
    """Raise NightjarError for an answer that is none of `names`, and for one that no training question has."""
    for question in (*train, *dev):
        if question.references[0] not in names:
            what = f"the answer of the question {question.id} is {question.references[0]!r}"
            raise NightjarError(what, f"{benchmark.name} {task}", f"answers are {', '.join(names)}")
    present = {question.references[0] for question in train}
    if missing := [name for name in names if name not in present]:
        what = f"no training question has the answer {', '.join(missing)}"
        fix = f"give it more training questions (benchmarks.{benchmark.name}), or leave the task out"
        raise NightjarError(what, f"{benchmark.name} {task}", fix)
