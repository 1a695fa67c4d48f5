"""Ranked lists of answers in the columns of `answers.answering`, made by the card of many weighted texts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from nightjar.benchmarks.capabilities import Ranking
from nightjar.benchmarks.card import Card
from nightjar.core.errors import NightjarError
from nightjar.params.predict import PredictBenchmark


def ranking_of(card: Card) -> Ranking:
    """How the card ranks. Raises NightjarError if it does not."""
    if (ranking := card.capability(Ranking)) is None:
        fix = "add the capability Ranking to the card"
        raise NightjarError("its card ranks no answers", f"benchmark {card.name}", fix)
    return ranking


def ranked_row(card: Card, texts: Iterable[tuple[str, float]], settings: PredictBenchmark) -> dict[str, Any]:
    """The answers and the `text` of contracts.PREDICTIONS for texts with their weights, in their order."""
    sums: dict[str, float] = {}
    for text, weight in texts:
        sums[text] = sums.get(text, 0) + weight
    answers = ranking_of(card).ranked(sums.items(), settings)
    found = {
        "texts": sums,
        "answers": dict(answers),
        "without_full_stop": sum(weight for text, weight in sums.items() if "." not in text),
    }
    return {"answers": [answer for answer, _ in answers], "text": json.dumps(found, ensure_ascii=False)}


def ranked_again(card: Card, text: str, settings: PredictBenchmark) -> list[str]:
    """The answers under other settings, from the `text` of a row of contracts.PREDICTIONS."""
    return [answer for answer, _ in ranking_of(card).ranked(json.loads(text)["texts"].items(), settings)]
