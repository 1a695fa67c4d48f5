"""What a benchmark's paper finds and these results do not."""

from __future__ import annotations

from collections.abc import Iterator

from nightjar.benchmarks.papers import PublishedFinding
from nightjar.benchmarks.sections import initial
from stages.report import numbers
from stages.report.benchmark import differences
from stages.report.read.results import Results, Row


def opposites(found: Results, mean: Row | None) -> list[str]:
    """A sentence for each number that is the opposite of a finding of the paper; `mean` is that of the tasks."""
    return [
        _sentence(found, track, row, it)
        for it in found.card.papers.findings
        for track, row in _rows(found, mean, it)
        if {it.system, it.other} <= row.lanes.keys() and _worse(row, it)
    ]


def _rows(found: Results, mean: Row | None, it: PublishedFinding) -> Iterator[tuple[str, Row]]:
    if not it.tracks and mean:
        yield "", mean
    for track in it.tracks:
        if track in found.tracks:
            yield track, found.overall(track)[0]


def _worse(row: Row, it: PublishedFinding) -> bool:
    """Whether the system is worse than the other, in the digits that are shown."""
    digits = row.metric.shown_decimals
    gain = round(row.lanes[it.system].value, digits) - round(row.lanes[it.other].value, digits)
    return gain < 0 if row.metric.higher_is_better else gain > 0


def _sentence(found: Results, track: str, row: Row, it: PublishedFinding) -> str:
    values = [numbers.value(row.metric, row.lanes[name].value) for name in (it.system, it.other)]
    name = (
        f"{numbers.heading(row.metric)}, {found.card.track_title(track)}"
        if track
        else "the mean of the tasks"
    )
    paired = found.difference(track, "overall", row, it.system, it.other) if track else None
    p = f" (p {differences.texts(paired, row.metric)['p']})" if paired and paired["p"] is not None else ""
    return (
        f"{initial(name)}: {it.system} has {values[0]} and is worse than {it.other} with {values[1]}{p}; "
        f"{it.paper}, {it.setting}."
    )
