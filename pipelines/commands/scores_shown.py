"""How the commands score and compare print scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nightjar.core.display import counted_as
from pipelines.commands.console import say

ALL = "all tracks together (not a published number)"


def card_of(result: Mapping[str, Any]) -> Any:
    """The card of the benchmark of a result."""
    from nightjar.benchmarks import registry

    return registry.card(result["benchmark"])


def say_head(result: Mapping[str, Any], missing: str) -> None:
    """Print the first line: what was scored. Each of several tracks is named further down."""
    only = ""
    if len(result["tracks"]) == 1:
        track, card = result["tracks"][0], card_of(result)
        only = f", task {track}" if card.files.by_task else f", {card.track_title(track)}"
    n = result["n"]
    say(f"{result['benchmark']}{only}: {counted_as(n, 'instance')}{missing}")
    say()
