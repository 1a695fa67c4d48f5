"""Cards by name without what scores: what the stages load that make, answer or read questions."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from nightjar.benchmarks.folders import OWN
from nightjar.benchmarks.question_card import QuestionCard
from nightjar.core.config import PARAMS_FILE, checked
from nightjar.core.plugins import calling

# Cards of other packages and of task files are made whole.
WHOLE = "nightjar.benchmarks.registry"


def question_card(name: str) -> QuestionCard:
    """The card of that name. Raises NightjarError as `registry.card`."""
    if name in OWN:
        card: QuestionCard = import_module(f"{OWN[name]}.questions").QUESTION_CARD
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
