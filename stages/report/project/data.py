"""The section Data: the ingested datasets beside the published ones, and where published lists and rule disagree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightjar.benchmarks.card import Card
from nightjar.benchmarks.papers import Collection
from stages.report.plots import kinds
from stages.report.plots.spec import Plot
from stages.report.read.facts import Node
from stages.report.read.results import category_title

# Bars of a drawing, the others folded into one.
BARS = 14


@dataclass(frozen=True)
class Bar:
    """One value of a distribution with its tasks and instances; the rest of them is `folded` into one bar."""

    name: str
    tasks: int
    instances: int
    folded: bool = False


# Ends the name of a distribution that has the values of another with their parts.
_IN_FULL = "_in_full"


def context(
    nodes: Sequence[Node], cards: Sequence[Card], track_title: Callable[[str], str]
) -> dict[str, Any] | None:
    """What the templates show; None if no stage described a dataset. `track_title` names a track of the split."""
    described = [
        _dataset(dataset, card.papers.collection, node.details["collection"])
        for card in cards
        if card.papers.collection
        for dataset in card.datasets
        for node in nodes
        if node.name == f"ingest@{dataset}" and node.details.get("collection")
    ]
    if not described:
        return None
    split = next((node.details for node in nodes if node.name == "split"), {})
    return {
        "datasets": described,
        "tracks": ", ".join(track_title(track) for track in split.get("lists") or ()),
        "disagreements": [
            {**line, "track": track_title(line["track"])} for line in split.get("disagreements") or ()
        ],
    }


def _dataset(name: str, paper: Collection, numbers: Mapping[str, Any]) -> dict[str, Any]:
    found = numbers["distributions"]
    return {
        "name": name,
        "source": paper.source,
        "notes": paper.notes,
        "figures": [
            {
                "title": it.title,
                "here": f"{numbers[it.name]:,.{it.decimals}f}",
                "published": "–" if it.published is None else f"{it.published:,.{it.decimals}f}",
            }
            for it in paper.figures
        ],
        "distributions": [
            {
                "title": category_title(key),
                "plot": plot(f"data-{name}-{key}", found[key], category_title(key)),
                "rows": found.get(key + _IN_FULL, found[key]),
                "in_full": key + _IN_FULL in found,
            }
            for key in [it.name for it in paper.figures if it.name in found]
            if not key.endswith(_IN_FULL)
        ],
    }


def plot(name: str, counts: Sequence[Sequence[Any]], title: str) -> Plot:
    """A distribution as bars, tasks on the left and instances on the right."""
    shown = fold(counts)
    rows = [(row.name, row.tasks, row.instances) for row in shown]
    return kinds.bars(name, f"{title}: tasks and instances", rows)


def fold(counts: Sequence[Sequence[Any]], most: int = BARS) -> list[Bar]:
    """The values that most tasks have, and the others added up; a single other one keeps its name."""
    shown = most if len(counts) > most + 1 else len(counts)
    listed = [Bar(name, tasks, instances) for name, tasks, instances in counts[:shown]]
    if rest := counts[shown:]:
        tasks, instances = (sum(count[at] for count in rest) for at in (1, 2))
        listed.append(Bar(f"other, {len(rest)} values", tasks, instances, True))
    return listed
