"""Findings of a benchmark's paper that these results contradict."""

from __future__ import annotations

from collections.abc import Iterator

from nightjar.benchmarks.papers import PublishedFinding
from nightjar.benchmarks.sections import initial
from stages.report import numbers
from stages.report.benchmark import differences
from stages.report.read.results import Results, Row


def opposites(results: Results, mean: Row | None) -> list[str]:
    """A sentence for each number that is the opposite of a finding of the paper; `mean` is that of the tasks."""
    return [
        _sentence(results, track, row, finding)
        for finding in results.card.papers.findings
        for track, row in _rows(results, mean, finding)
        if {finding.system, finding.reference} <= row.lanes.keys() and _worse(row, finding)
    ]


def _rows(results: Results, mean: Row | None, finding: PublishedFinding) -> Iterator[tuple[str, Row]]:
    if not finding.tracks and mean:
        yield "", mean
    for track in finding.tracks:
        if track in results.tracks:
            yield track, results.overall(track)[0]


def _worse(row: Row, finding: PublishedFinding) -> bool:
    """Tell whether the system is worse than the other, in the digits that are shown."""
    digits = row.metric.shown_decimals
    gain = round(row.lanes[finding.system].value, digits) - round(row.lanes[finding.reference].value, digits)
    return gain < 0 if row.metric.higher_is_better else gain > 0


def _sentence(results: Results, track: str, row: Row, finding: PublishedFinding) -> str:
    values = [
        numbers.value(row.metric, row.lanes[name].value) for name in (finding.system, finding.reference)
    ]
    name = (
        f"{numbers.heading(row.metric)}, {results.card.track_title(track)}"
        if track
        else "the mean of the tasks"
    )
    paired = results.difference(track, "overall", row, finding.system, finding.reference) if track else None
    p = f" (p {differences.texts(paired, row.metric)['p']})" if paired and paired["p"] is not None else ""
    return (
        f"{initial(name)}: {finding.system} has {values[0]} and is worse than {finding.reference} with {values[1]}{p}; "
        f"{finding.paper}, {finding.setting}."
    )
