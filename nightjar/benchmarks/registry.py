"""The benchmarks: Nightjar's own cards, and those of other packages by the entry point group `nightjar.benchmarks`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from nightjar.benchmarks.card import Card
from nightjar.core.config import PARAMS_FILE, checked
from nightjar.core.errors import NightjarError

if TYPE_CHECKING:
    from nightjar.core.params import Params

GROUP = "nightjar.benchmarks"
# Name: the module that holds its CARD.
OWN = {
    "supernatinst": "nightjar.benchmarks.supernatinst.card",
    "tool_use": "nightjar.benchmarks.tool_use.card",
    "classification": "nightjar.benchmarks.classification.card",
    "protoqa": "nightjar.benchmarks.protoqa.card",
    "zeroscrolls": "nightjar.benchmarks.zeroscrolls.card",
}


def names() -> list[str]:
    """The names of all benchmarks, Nightjar's own first."""
    return [*OWN, *(name for name in _foreign() if name not in OWN)]


@cache
def card(name: str) -> Card:
    """The card of that name. Raises NightjarError if there is none, or its module is broken."""
    foreign = _foreign()
    if name in OWN:
        found = import_module(OWN[name]).CARD
    elif name in foreign:
        try:
            found = foreign[name].load()
        except Exception as error:
            what = f"the benchmark {name} cannot be loaded ({type(error).__name__}: {error})"
            raise NightjarError(what, foreign[name].value, "mend or uninstall that package") from error
    else:
        raise NightjarError("no such benchmark", repr(name), f"benchmarks are {', '.join(names())}")
    if not isinstance(found, Card) or found.name != name:
        raise NightjarError(f"not the card of {name}", foreign[name].value, "name a Card of that name")
    return found


def settings(card: Card, values: Mapping[str, Any], where: object = PARAMS_FILE) -> Any:
    """The card's settings from its own keys in the group `benchmarks` of the parameters. Raises NightjarError."""
    return checked(card.settings, dict(values), where, "benchmarks", card.name)


def check(params: Params, where: object = PARAMS_FILE) -> None:
    """Raise NightjarError for a benchmark in the parameters that there is not, or whose settings its card refuses."""
    for name, group in params.benchmarks.items():
        settings(card(name), group.settings(), where)
    for system in params.predict.systems.values():
        if system.benchmark not in params.benchmarks:
            what = f"predict.systems has {system.benchmark}-{system.system}"
            raise NightjarError(what, where, f"add {system.benchmark} to the group benchmarks")


@lru_cache(maxsize=1)
def _foreign() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=GROUP)}
