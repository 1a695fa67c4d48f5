"""Results that contradict what is expected: findings of a benchmark's paper, and an upper bound above all systems."""

from __future__ import annotations

from collections.abc import Iterator

from nightjar.benchmarks.papers import PublishedFinding
from nightjar.benchmarks.sections import initial
from stages.report import numbers
from stages.report.benchmark import differences
from stages.report.read.benchmark_results import Results, Row


def opposites(results: Results, mean: Row | None) -> list[str]:
    """A sentence for each number that is the opposite of a finding of the paper; `mean` is that of the tasks."""
    return [_sentence(results, *contradiction) for contradiction in _contradictions(results, mean)]


def _contradictions(results: Results, mean: Row | None) -> Iterator[tuple[str, Row, PublishedFinding]]:
    for finding in results.card.papers.findings:
        for track, row in _rows(results, mean, finding):
            compared = {finding.system, finding.reference} <= row.lanes.keys()
            if compared and _worse(row, finding.system, finding.reference):
                yield track, row, finding


def exceeded_bounds(results: Results, mean: Row | None) -> list[str]:
    """Return a sentence for each track where systems are better than an upper bound, unless `opposites` has one."""
    contradicted = {(track, finding.system) for track, _, finding in _contradictions(results, mean)}
    sentences = []
    for track in results.tracks:
        row = results.overall(track)[0]
        bounds = [system for system in row.lanes if results.roles.get(system) == "bound"]
        for bound in [system for system in bounds if (track, system) not in contradicted]:
            better = [it for it in row.ranked(results.roles) if _worse(row, bound, it)]
            texts = [f"{it} with {numbers.value(row.metric, row.lanes[it].value)}" for it in better]
            if texts:
                sentences.append(
                    f"{_heading(results, track, row)}: the upper bound {bound} has "
                    f"{numbers.value(row.metric, row.lanes[bound].value)} and is worse than {' and '.join(texts)}. "
                    "Its training on other instances of the test tasks is no bound in this run."
                )
    return sentences


def _rows(results: Results, mean: Row | None, finding: PublishedFinding) -> Iterator[tuple[str, Row]]:
    if not finding.tracks and mean:
        yield "", mean
    for track in finding.tracks:
        if track in results.tracks:
            yield track, results.overall(track)[0]


def _worse(row: Row, system: str, reference: str) -> bool:
    """Tell whether the system is worse than the other, in the digits that are shown."""
    digits = row.metric.shown_decimals
    gain = round(row.lanes[system].value, digits) - round(row.lanes[reference].value, digits)
    return gain < 0 if row.metric.higher_is_better else gain > 0


def _sentence(results: Results, track: str, row: Row, finding: PublishedFinding) -> str:
    values = [
        numbers.value(row.metric, row.lanes[name].value) for name in (finding.system, finding.reference)
    ]
    paired = results.difference(track, "overall", row, finding.system, finding.reference) if track else None
    p = f" (p {differences.texts(paired, row.metric)['p']})" if paired and paired["p"] is not None else ""
    return (
        f"{_heading(results, track, row)}: {finding.system} has {values[0]} and is worse than {finding.reference} with "
        f"{values[1]}{p}; {finding.paper}, {finding.setting}."
    )


def _heading(results: Results, track: str, row: Row) -> str:
    """Return the metric and the track of a sentence at its beginning; without a track it is the mean of the tasks."""
    if not track:
        return "The mean of the tasks"
    return initial(f"{numbers.heading(row.metric)}, {results.card.track_title(track)}")
