"""Answers to the questions whose task is of the kind choose: the choice whose text is likeliest after the prompt."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nightjar.benchmarks.card import Card, Choice
from nightjar.core.errors import NightjarError
from nightjar.models.forward import causal_only
from nightjar.models.load import LanguageModel
from nightjar.models.score import continuation_sums, continued
from nightjar.predict.answers import Asked
from nightjar.predict.predictor import NOTHING_WRITTEN


def choosing(
    lm: LanguageModel, card: Card, asked: Mapping[int, Asked]
) -> Callable[[Sequence[int]], Iterator[tuple[int, dict[str, Any]]]]:
    """A function that answers the questions of given numbers, in the columns of `answers.answering`.

    The likelihood of a choice is the product of the probabilities of its text's pieces after the prompt; of equal ones
    the first choice of the task is the answer. They come as they are done, the same whichever others are asked for.
    Raises NightjarError for an encoder-decoder, and for a task without choices.
    """
    if asked:
        causal_only(lm, "choosing among the choices of a task")
    choices = {number: choices_of(card, one.question.task_id) for number, one in asked.items()}
    numbers = list(asked)
    rows = [
        [continued(lm.tokenizer, asked[number].prompt, choice.text) for choice in choices[number]]
        for number in numbers
    ]
    place = {number: at for at, number in enumerate(numbers)}

    def choose(wanted: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        last = time.monotonic()
        for at, sums in continuation_sums(lm, rows, [place[number] for number in wanted]):
            number = numbers[at]
            best = max(range(len(sums)), key=sums.__getitem__)
            now = time.monotonic()
            answers = [choices[number][best].answer]
            yield number, {"answers": answers, **NOTHING_WRITTEN, "seconds": round(now - last, 6)}
            last = now

    return choose


def choices_of(card: Card, task_id: str) -> tuple[Choice, ...]:
    """The choices of a task. Raises NightjarError if it has none."""
    if not (choices := card.task(task_id).choices):
        raise NightjarError(
            f"the task {task_id} has no choices", f"benchmark {card.name}", "add them to the card"
        )
    return choices
