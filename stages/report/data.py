"""The section Data: what the ingested tasks are, beside the published collection, and where lists and rule part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from stages.report import svg
from stages.report.curves import shortened
from stages.report.facts import Node
from stages.report.results import TRACK_NAMES

# Table 2 of the paper (facts 1.1): the fact, its name, the published figure, its decimals.
TABLE_2 = (
    ("tasks", "tasks", 1616, 0),
    ("task_types", "task types", 76, 0),
    ("languages", "languages", 55, 0),
    ("domains", "domains", 33, 0),
    ("non_english_tasks", "non-English tasks", 576, 0),
    ("definition_words", "words of a definition, mean", 56.6, 1),
    ("positive_examples", "positive examples of a task, mean", 2.8, 1),
    ("negative_examples", "negative examples of a task, mean", 2.4, 1),
    ("instances_per_task", "instances of a task, mean", 3106.0, 1),
)
DISTRIBUTIONS = (("task_types", "Task types"), ("languages", "Languages"), ("domains", "Domains"))
# Bars of a drawing, the others folded into one.
BARS = 14


@dataclass(frozen=True)
class Bar:
    """One value of a distribution with its tasks and instances; the rest of them is `folded` into one bar."""

    name: str
    tasks: int
    instances: int
    folded: bool = False


def context(nodes: Sequence[Node]) -> dict[str, Any]:
    """What the templates show: `data`, None where no ingested tasks are among the stages."""
    by_name = {node.name: node.details for node in nodes}
    collection = by_name.get("ingest@natural_instructions", {}).get("collection")
    if not collection:
        return {"data": None}
    split = by_name.get("split", {})
    return {
        "data": {
            "figures": [
                {
                    "name": name,
                    "here": f"{collection[key]:,.{decimals}f}",
                    "published": f"{published:,.{decimals}f}",
                }
                for key, name, published, decimals in TABLE_2
            ],
            "domains_in_full": collection["domains_in_full"],
            "distributions": [
                {
                    "title": title,
                    "file": f"data-{key}.svg",
                    "plot": Markup(plot(collection, key, title)),  # noqa: S704 - svg.py escapes its texts
                    "rows": collection["distributions"]["domains_in_full" if key == "domains" else key],
                }
                for key, title in DISTRIBUTIONS
            ],
            "tracks": ", ".join(TRACK_NAMES.get(track, track) for track in split.get("lists") or ()),
            "disagreements": [
                {**line, "track": TRACK_NAMES.get(line["track"], line["track"])}
                for line in split.get("disagreements") or ()
            ],
        }
    }


def drawings(nodes: Sequence[Node]) -> dict[str, str]:
    """The drawings of the section as files by name, for the Markdown report."""
    data = context(nodes)["data"]
    return {it["file"]: svg.standalone(str(it["plot"])) for it in data["distributions"]} if data else {}


def plot(collection: Mapping[str, Any], key: str, title: str) -> str:
    """A distribution as bars, tasks on the left and instances on the right."""
    return bars(fold(collection["distributions"][key]), f"{title}: tasks and instances")


def fold(counts: Sequence[Sequence[Any]], most: int = BARS) -> list[Bar]:
    """The values that most tasks have, and the others added up; a single other one keeps its name."""
    shown = most if len(counts) > most + 1 else len(counts)
    listed = [Bar(name, tasks, instances) for name, tasks, instances in counts[:shown]]
    if rest := counts[shown:]:
        tasks, instances = (sum(count[at] for count in rest) for at in (1, 2))
        listed.append(Bar(f"other, {len(rest)} values", tasks, instances, True))
    return listed


def bars(rows: Sequence[Bar], label: str) -> str:
    """Two panels of horizontal bars in one order, each on its own scale from zero."""
    left, panel, gap, lane, top = 232.0, 270.0, 78.0, 21.0, 26.0
    body = []
    for place, heading in enumerate(("tasks", "instances")):
        start = left + place * (panel + gap)
        body.append(svg.text(start, 14, heading, 12, fill="muted"))
        body.append(svg.line(start, top - 4, start, top + lane * len(rows)))
        most = max((getattr(row, heading) for row in rows), default=0) or 1
        for at, row in enumerate(rows):
            count, y = getattr(row, heading), top + lane * at
            width = panel * count / most
            fill = "s1" if row.folded else "s4"
            body.append(svg.rect(start, y, width, lane - 7, fill, fill))
            body.append(svg.text(start + width + 6, y + 11, f"{count:,}", 11, fill="muted"))
    for at, row in enumerate(rows):
        words = shortened(row.name, 34)
        body.append(
            svg.text(left - 10, top + lane * at + 11.5, words, 12.5, "end", "muted" if row.folded else "ink")
        )
    return svg.drawing(left + 2 * panel + gap + 70, top + lane * len(rows) + 6, label, body)
