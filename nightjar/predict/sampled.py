"""Answers to the questions whose task is of the kind sample: a list that the card ranks from many sampled texts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nightjar.benchmarks.card import Card
from nightjar.core.errors import NightjarError
from nightjar.models.forward import causal_only
from nightjar.models.load import LanguageModel
from nightjar.models.row import Prompt
from nightjar.models.samples import Sampling, generator_for, stream_samples
from nightjar.params.predict import PredictBenchmark
from nightjar.predict.answers import Asked, limit, stops
from nightjar.predict.ranked import ranked_row, ranking_of


def sampling(
    lm: LanguageModel, card: Card, asked: Mapping[int, Asked], settings: PredictBenchmark, seed: int
) -> Callable[[Sequence[int]], Iterator[tuple[int, dict[str, Any]]]]:
    """A function that answers the questions of given numbers, in the columns of `answers.answering`.

    An answer depends on the model, the prompt, the settings and the seed alone. They come as they end. Raises
    NightjarError for an encoder-decoder, for a card that ranks no answers, and for a temperature of 0, at which all
    samples are equal.
    """
    if asked:
        causal_only(lm, "sampling many answers to a question")
        ranking_of(card)
        if not settings.temperature:
            where = f"predict.{card.name}.temperature"
            raise NightjarError("all samples are equal at the temperature 0", where, "set one above 0")

    count = settings.samples
    draws = Sampling(
        settings.temperature,
        lambda row: generator_for(seed, f"{asked[row // count].sha256} {row % count}"),
        settings.top_p,
    )

    def prompt(number: int) -> Prompt:
        one = asked[number]
        task = one.question.task_id
        return Prompt(number, one.ids, limit(card, task, settings), stops(card, task, settings))

    def answer(numbers: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        last, prompts = time.monotonic(), map(prompt, numbers)
        for number, found in stream_samples(
            lm, prompts, count, draws, settings.batch_size, settings.batch_tokens
        ):
            # With the stop string: whether a text has a full stop may decide.
            row = ranked_row(card, [(one.text + (one.stop or ""), 1) for one in found], settings)
            row |= {"calls": [], "new_tokens": sum(one.tokens for one in found)}
            now = time.monotonic()
            yield number, row | {"seconds": round(now - last, 6)}
            last = now

    return answer
