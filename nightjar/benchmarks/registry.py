"""The benchmarks: Nightjar's own cards, and those of other packages by the entry point group `nightjar.benchmarks`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

from nightjar.benchmarks.card import Card
from nightjar.core import plugins
from nightjar.core.config import PARAMS_FILE, checked
from nightjar.core.errors import NightjarError

if TYPE_CHECKING:
    from nightjar.params import Params

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
    return list(_points())


@cache
def card(name: str) -> Card:
    """The card of that name. Raises NightjarError if there is none, or its module is broken."""
    if name in OWN:
        own: Card = import_module(OWN[name]).CARD
        return own
    point = _points().get(name)
    if point is None:
        raise NightjarError("no such benchmark", repr(name), f"benchmarks are {', '.join(names())}")
    # Here, not above: its checks take time to be made, and Nightjar's own cards do without.
    from nightjar.benchmarks.held import held

    return held(plugins.load(point), name, plugins.place(point))


def place(name: str) -> str:
    """Where the card of that name is, for a message."""
    point = _points().get(name)
    return plugins.place(point) if point else f"nightjar.benchmarks, {name}"


def settings(card: Card, values: Mapping[str, Any], where: object = PARAMS_FILE) -> Any:
    """The card's settings from its own keys in the group `benchmarks` of the parameters. Raises NightjarError."""
    with plugins.calling(place(card.name), "its settings cannot be checked"):
        return checked(card.settings, dict(values), where, "benchmarks", card.name)


def check(params: Params, where: object = PARAMS_FILE) -> None:
    """Raise NightjarError for a benchmark in the parameters that there is not, whose settings its card refuses, or
    whose code is not what the graph watches."""
    for name, group in params.benchmarks.items():
        settings(card(name), group.settings(), where)
        if name not in OWN and (point := _points().get(name)):
            plugins.check_watched(point, group.code, f"benchmarks.{name}.code", where)
    for system in params.predict.systems.values():
        if system.benchmark not in params.benchmarks:
            what = f"predict.systems has {system.benchmark}-{system.system}"
            raise NightjarError(what, where, f"add {system.benchmark} to the group benchmarks")


@lru_cache(maxsize=1)
def _points() -> dict[str, EntryPoint]:
    own = {name: EntryPoint(name, f"{module}:CARD", GROUP) for name, module in OWN.items()}
    return plugins.points(GROUP, own)
