"""The questions of a night: as many of each task as `nightly.minutes` allows, and the same ones every night.

Which questions are drawn depends on their ids alone, so a larger sample contains every smaller one. The ledger has the
number of questions a task and the seconds of every stage. The sample of the last good run is used again while its
stages are expected to take between LEAST of the minutes and all of them. A new one is drawn for DRAWN of the minutes,
with about as many questions of every benchmark. The time of a stage is taken to grow with its questions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightjar.benchmarks.evaluation import replace_by_subset
from nightjar.core import contracts, tables
from nightjar.core.display import duration
from nightjar.params.drivers import Nightly
from nightjar.statistics.statistic import MINIMUM
from pipelines.nightly.facts import has_questions
from pipelines.nightly.stages import Night
from stages._runtime import history

LEAST, DRAWN = 0.4, 0.8


@dataclass(frozen=True)
class Source:
    """An artifact with questions: how many each task has, the stages that read it, and the seconds that these need for
    a question; None if that is not known of all of them.
    """

    tasks: Mapping[str, int]
    stages: Sequence[str]
    seconds: float | None

    def count(self, limit: int) -> int:
        """The questions of a sample of at most `limit` of each task."""
        return sum(min(limit, count) for count in self.tasks.values())


def draw(night: Night, settings: Nightly, before: Mapping[str, Any]) -> tuple[dict[str, dict[str, int]], str]:
    """Replace the artifacts with questions in the clone of the night by a sample, if there is a budget.

    `before` are the facts of stages of the last good run. Returns, for every stage that reads questions, the `limit` of
    each task and the number of `questions`; and a line about the sample if it is a new one.
    """
    sources = _sources(night, before) if settings.minutes else {}
    if not settings.minutes or not sources:
        return {}, ""
    budget, minimum = 60 * settings.minutes, MINIMUM
    earlier_limits = {path: before.get(source.stages[0], {}).get("limit") for path, source in sources.items()}
    limits = earlier_limits
    if None in earlier_limits.values() or not _fits(sources, limits, budget):
        sizes = range(minimum, max(minimum, *(source.count(2**63) for source in sources.values())) + 1)
        fitting = bisect_right(
            sizes, DRAWN * budget, key=lambda size: _seconds(sources, _limits(sources, size, minimum))
        )
        limits = _limits(sources, sizes[max(0, fitting - 1)], minimum)
    facts: dict[str, dict[str, int]] = {}
    for path, source in sources.items():
        count = source.count(limits[path])
        facts |= {name: {"limit": limits[path], "questions": count} for name in source.stages}
        if count < source.count(2**63):
            replace_by_subset(night.work / path, source.tasks, limits[path], 0)
    if limits == earlier_limits:
        return facts, ""
    counts = ", ".join(f"{source.count(limits[path])} of {path}" for path, source in sources.items())
    expected = duration(_seconds(sources, limits))
    return facts, f"new sample for {duration(budget)}: {counts}; expected: {expected}"


def _sources(night: Night, before: Mapping[str, Any]) -> dict[str, Source]:
    readers: dict[str, list[str]] = {}
    for stage in night.graph.stages.values():
        for dep in stage.deps:
            if has_questions(night.work / dep):
                readers.setdefault(dep, []).append(stage.name)
    expected, sources = history.expected(night.project_graph.root), {}
    for path, names in sorted(readers.items()):
        rows = tables.read_rows(night.work / path, contracts.QUESTIONS, ["task_id"])
        tasks = Counter(row["task_id"] for row in rows)
        measured = {name: before[name] for name in names if _questions(before.get(name, {}))}
        seconds = [one["seconds"] / _questions(one) for one in measured.values()]
        others = [name for name in names if name not in measured]
        seconds += [expected[name] / len(rows) for name in others if name in expected]
        sources[path] = Source(tasks, names, sum(seconds) if expected.keys() >= set(others) else None)
    return sources


def _questions(facts: Mapping[str, Any]) -> int:
    """Return how many questions a stage of an earlier night read; entries of earlier versions call them `asked`."""
    return int(facts.get("questions", facts.get("asked", 0)))


def _limits(sources: Mapping[str, Source], size: int, minimum: int) -> dict[str, int]:
    """The questions a task of samples of about `size` questions; of about `minimum` where no time is known."""
    sizes = {path: minimum if source.seconds is None else size for path, source in sources.items()}
    return {
        path: min(-(-sizes[path] // len(source.tasks)), max(source.tasks.values()))
        for path, source in sources.items()
    }


def _seconds(sources: Mapping[str, Source], limits: Mapping[str, int]) -> float:
    return sum(source.count(limits[path]) * (source.seconds or 0.0) for path, source in sources.items())


def _fits(sources: Mapping[str, Source], limits: Mapping[str, int], budget: float) -> bool:
    all_questions = all(limits[path] >= max(source.tasks.values()) for path, source in sources.items())
    return (0 if all_questions else LEAST * budget) <= _seconds(sources, limits) <= budget
