"""How the commands score and compare print scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
        track = result["tracks"][0]
        only = f", task {track}" if card_of(result).files.by_task else f", {track_title(track, result)}"
    n = result["n"]
    say(f"{result['benchmark']}{only}: {n} instance{'s' * (n != 1)}{missing}")
    say()


def track_title(track: str, result: Mapping[str, Any]) -> str:
    """The title of a track, as the report has it."""
    return str(card_of(result).tracks.get(track, f"{track} track"))
