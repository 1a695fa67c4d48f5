"""The ranked list of a question's answers, from many sampled texts (ProtoQA_GPT2's run_generation.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nightjar.benchmarks.protoqa.tokens import STOP_WORDS

if TYPE_CHECKING:
    from nightjar.params.predict import PredictBenchmark


def answer_of(text: str, cut: bool = True, required: bool = False) -> str:
    """The answer that a sampled text gives: up to its first full stop, if it is `cut`, and without stop words.

    `required`: a text without a full stop gives the empty answer, as in the published code. Words are what single
    blanks separate, and stop words are in lower case; both as published.
    """
    if cut:
        end = text.find(".") + 1
        text = text[:end] if end or required else text
    words = text.strip().removesuffix(".").split(" ")
    return " ".join(word for word in words if word not in STOP_WORDS)


def ranked(texts: Iterable[tuple[str, float]], settings: PredictBenchmark) -> list[tuple[str, float]]:
    """The answers of weighted texts with the sums of their weights: the largest sum first, ties by first appearance.

    At most `settings.keep`. An empty answer is listed only with `settings.require_full_stop`, as published.
    """
    sums: dict[str, float] = {}
    for text, weight in texts:
        answer = answer_of(text, settings.cut_at_full_stop, settings.require_full_stop)
        if answer.strip() or settings.require_full_stop:
            sums[answer] = sums.get(answer, 0) + weight
    return sorted(sums.items(), key=lambda one: -one[1])[: settings.keep]
