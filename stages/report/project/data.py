"""The section Data: the ingested datasets beside the published ones, and where published lists and rule disagree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.papers import Collection
from stages.report.plots import kinds
from stages.report.read.benchmark_results import category_title
from stages.report.read.facts import Node

# Bars of a drawing, the others folded into one.
BARS = 14


# Ends the name of a distribution that has the values of another with their parts.
_IN_FULL = "_in_full"


def context(
    nodes: Sequence[Node], cards: Sequence[Benchmark], track_title: Callable[[str], str]
) -> dict[str, Any]:
    """Return the datasets; empty if no stage described one. `track_title` names a track of the split."""
    datasets = [
        _dataset(dataset, card.papers.collection, node.details["collection"])
        for card in cards
        if card.papers.collection
        for dataset in card.datasets
        for node in nodes
        if node.name == f"ingest@{dataset}" and node.details.get("collection")
    ]
    if not datasets:
        return {}
    split = next((node.details for node in nodes if node.name == "split"), {})
    return {
        "datasets": datasets,
        "disagreements": [
            (it["task_id"], track_title(it["track"]), it["listed"], it["rule"], it["reason"])
            for it in split.get("disagreements") or ()
        ],
        "lists": [track_title(track) for track in split.get("lists") or ()],
    }


def _dataset(name: str, paper: Collection, statistics: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a dataset beside the published ones, and its distributions."""

    def text(number: float | None, decimals: int) -> str | None:
        return None if number is None else f"{number:,.{decimals}f}"

    figures = [
        (it.title, text(statistics[it.name], it.decimals), text(it.published, it.decimals))
        for it in paper.figures
    ]
    every = statistics["distributions"]
    distributions = []
    for key in [it.name for it in paper.figures if it.name in every and not it.name.endswith(_IN_FULL)]:
        full, title = every.get(key + _IN_FULL, every[key]), category_title(key)
        subdivided = full != every[key]
        distributions.append(
            {
                "title": title,
                "plot": kinds.bars(f"data-{name}-{key}", f"{title}: tasks and instances", fold(every[key])),
                "rows": full if subdivided or len(fold(full)) < len(full) else [],
                "subdivided": subdivided,
            }
        )
    return {"name": name, "paper": paper, "figures": figures, "distributions": distributions}


def fold(counts: Sequence[Sequence[Any]], limit: int = BARS) -> list[tuple[str, int, int]]:
    """The values that most tasks have, and the others added up; a single other one keeps its name."""
    shown_count = limit if len(counts) > limit + 1 else len(counts)
    listed = [(name, tasks, instances) for name, tasks, instances in counts[:shown_count]]
    if smaller_counts := counts[shown_count:]:
        tasks, instances = (sum(count[at] for count in smaller_counts) for at in (1, 2))
        listed.append((f"other, {len(smaller_counts)} values", tasks, instances))
    return listed
