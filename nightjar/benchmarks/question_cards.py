"""Cards by name without what scores: what the stages load that make, answer or read questions."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from nightjar.benchmarks.question_card import QuestionCard
from nightjar.core.config import PARAMS_FILE, checked
from nightjar.core.plugins import calling

# Name: the half of the card that asks.
OWN = {
    "supernatinst": "nightjar.benchmarks.supernatinst.questions:QUESTION_CARD",
    "tool_use": "nightjar.benchmarks.tool_use.questions:QUESTION_CARD",
    "classification": "nightjar.benchmarks.classification.questions:QUESTION_CARD",
    "protoqa": "nightjar.benchmarks.protoqa.questions:QUESTION_CARD",
    "zeroscrolls": "nightjar.benchmarks.zeroscrolls.questions:QUESTION_CARD",
    "reading": "nightjar.benchmarks.reading.questions:QUESTION_CARD",
}
# Cards of other packages and of task files are made whole.
WHOLE = "nightjar.benchmarks.registry"


def question_card(name: str) -> QuestionCard:
    """The card of that name. Raises NightjarError as `registry.card`."""
    if name in OWN:
        module, _, variable = OWN[name].partition(":")
        card: QuestionCard = getattr(import_module(module), variable)
        return card
    whole: QuestionCard = import_module(WHOLE).card(name)
    return whole


def names() -> list[str]:
    """The names of all benchmarks, Nightjar's own first."""
    every: list[str] = import_module(WHOLE).names()
    return every


def settings(card: QuestionCard, values: Mapping[str, Any], where: object = PARAMS_FILE) -> Any:
    """The card's settings from its own keys in the group `benchmarks` of the parameters. Raises NightjarError."""
    with calling(f"benchmark {card.name}", "its settings cannot be checked"):
        return checked(card.settings, dict(values), where, "benchmarks", card.name)
