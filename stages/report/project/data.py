"""The section Data: the ingested datasets beside the published ones, and where published lists and rule disagree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.papers import Collection
from nightjar.benchmarks.sections import (
    Block,
    Fold,
    Paragraph,
    ReportColumn,
    ReportRow,
    ReportTable,
    Section,
    numbered,
    texts,
)
from stages.report import numbers
from stages.report.plots import kinds
from stages.report.read.benchmark_results import category_title
from stages.report.read.facts import Node

# Bars of a drawing, the others folded into one.
BARS = 14


# Ends the name of a distribution that has the values of another with their parts.
_IN_FULL = "_in_full"


def sections(
    nodes: Sequence[Node], cards: Sequence[Benchmark], track_title: Callable[[str], str]
) -> list[Section]:
    """A section a dataset; none if no stage described one. `track_title` names a track of the split."""
    described = [
        _dataset(dataset, card.papers.collection, node.details["collection"])
        for card in cards
        if card.papers.collection
        for dataset in card.datasets
        for node in nodes
        if node.name == f"ingest@{dataset}" and node.details.get("collection")
    ]
    split = next((node.details for node in nodes if node.name == "split"), {})
    return [*described, _rule(split, track_title)] if described else []


def _rule(split: Mapping[str, Any], track_title: Callable[[str], str]) -> Section:
    """Return where the published lists and the rule disagree."""
    lines = split.get("disagreements") or ()
    blocks: list[Block]
    if lines:
        heads = [*texts("task", "track", "listed", "by the rule"), ReportColumn("reason", "words")]
        rows = [
            ReportRow((it["task_id"], track_title(it["track"]), it["listed"], it["rule"], it["reason"]))
            for it in lines
        ]
        explanation = (
            "Tasks that the published lists assign to another part than the rule of categories, languages and sources "
            "does."
        )
        blocks = [
            Paragraph(explanation),
            Fold(f"{len(lines)} tasks", [ReportTable(heads, rows)], open=len(lines) <= 12),
        ]
    elif tracks := ", ".join(track_title(track) for track in split.get("lists") or ()):
        blocks = [Paragraph(f"They agree on every task of these data ({tracks}).")]
    else:
        blocks = [
            Paragraph(
                "The split was made by the rule: the data have no published lists, or the parameters ignore them."
            )
        ]
    return Section("rule", "Published lists and the rule", blocks)


def _dataset(name: str, paper: Collection, statistics: Mapping[str, Any]) -> Section:
    figures = [
        ReportRow(
            (
                it.title,
                f"{statistics[it.name]:,.{it.decimals}f}",
                None if it.published is None else f"{it.published:,.{it.decimals}f}",
            )
        )
        for it in paper.figures
    ]
    caption = f"The ingested dataset {name} beside the published one: {paper.source}"
    blocks: list[Block] = [ReportTable([*texts(""), *numbered("here", "published")], figures, caption)]
    blocks += [Paragraph(paper.notes, note=True)] if paper.notes else []
    every = statistics["distributions"]
    for key in [it.name for it in paper.figures if it.name in every and not it.name.endswith(_IN_FULL)]:
        full = every.get(key + _IN_FULL, every[key])
        rows = [ReportRow((value, numbers.count(tasks), numbers.count(of))) for value, tasks, of in full]
        title = category_title(key)
        explanation = f"All {len(full)}" + (", with subdivisions" if full != every[key] else "")
        blocks += [
            Paragraph(f"**{title}**"),
            kinds.bars(f"data-{name}-{key}", f"{title}: tasks and instances", fold(every[key])),
        ]
        if full != every[key] or len(fold(full)) < len(full):
            blocks.append(
                Fold(explanation, [ReportTable([*texts("value"), *numbered("tasks", "instances")], rows)])
            )
    return Section(f"data-{name}", "", blocks)


def fold(counts: Sequence[Sequence[Any]], limit: int = BARS) -> list[tuple[str, int, int]]:
    """The values that most tasks have, and the others added up; a single other one keeps its name."""
    shown_count = limit if len(counts) > limit + 1 else len(counts)
    listed = [(name, tasks, instances) for name, tasks, instances in counts[:shown_count]]
    if smaller_counts := counts[shown_count:]:
        tasks, instances = (sum(count[at] for count in smaller_counts) for at in (1, 2))
        listed.append((f"other, {len(smaller_counts)} values", tasks, instances))
    return listed
