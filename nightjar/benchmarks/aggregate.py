"""From the parts of each instance to the numbers of a table, with bootstrap intervals and paired tests.

A number of several tasks is over their instances, not over the tasks: a task with fewer instances weighs less, as
published for Super-NaturalInstructions (its compute_metrics.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.average import main_metrics, mean_difference, mean_of_tasks, mean_score
from nightjar.benchmarks.benchmark import Average, Benchmark
from nightjar.benchmarks.scores import InstanceKey, SystemScores
from nightjar.core.errors import NightjarError
from nightjar.statistics import Bootstrap, Contrast, enough, estimate, significant
from nightjar.statistics.metric import Metric, scaled
from nightjar.statistics.statistic import Floats

Ints = NDArray[np.int64]
Places = dict[tuple[str, str], Ints]


@lru_cache(maxsize=1024)
def category_name(category: str) -> str:
    """The published form of a category: "Textual Entailment" is textual_entailment."""
    return "_".join(category.lower().split())


def group(keys: Sequence[InstanceKey], places: Sequence[int] | Ints, levels: Sequence[str]) -> Places:
    """The places of instances by (level, name): overall, then each category, then each task, names sorted."""
    chosen = np.fromiter(places, np.int64, len(places))
    names = {
        "category": [category_name(keys[place].category) for place in places],
        "task": [keys[place].task_id for place in places],
    }
    cells: Places = {("overall", "overall"): chosen}
    for level, column in names.items():
        cells |= {(level, name): members for name, members in _by_name(column, chosen).items()}
    return {cell: members for cell, members in cells.items() if cell[0] in levels}


def by_track(scores: SystemScores) -> dict[str, Ints]:
    """The places of instances by track, tracks sorted."""
    return _by_name([key.track for key in scores.keys], np.arange(len(scores.keys)))


def _by_name(names: Sequence[str], places: Ints) -> dict[str, Ints]:
    """The places by their names, one name for each place; names sorted, places in their order."""
    numbers = {name: number for number, name in enumerate(sorted(set(names)))}
    column = np.fromiter(map(numbers.__getitem__, names), np.int64, len(names))
    order, ends = np.argsort(column, kind="stable"), np.cumsum(np.bincount(column))
    return dict(zip(numbers, np.split(places[order], ends[:-1]), strict=False))


def interval(metric: Metric, values: Floats, bootstrap: Bootstrap) -> tuple[float | None, float | None]:
    """The ends of the interval of `estimate`, None below MINIMUM instances."""
    if not enough(len(values)):
        return None, None
    low, high = bootstrap.interval(values, metric.statistic)
    return scaled(metric, low), scaled(metric, high)


def reported_mean(card: Benchmark, scores: Sequence[SystemScores]) -> Average | None:
    """The mean of tasks that a table of these systems' scores has as a row; None if it has none."""
    pairs = (
        (track, metric.name)
        for system in scores
        for track, places in by_track(system).items()
        for metric in card.metrics
        if len(system.of(metric, places))
    )
    return mean_of_tasks(card, main_metrics(card, pairs))


def aggregate(card: Benchmark, scores: Sequence[SystemScores], bootstrap: Bootstrap) -> list[dict[str, Any]]:
    """Rows of contracts.SCORES: every system, track, level and metric that has instances, in this order.

    The mean of tasks comes last of each system, as a track of its own.
    """
    table, mean = [], reported_mean(card, scores)
    columns = ("benchmark", "system", "track", "level", "name", "metric")
    for system in scores:
        tracks = by_track(system)
        for track, places in tracks.items():
            for (level, name), members in group(system.keys, places, card.levels).items():
                for metric in card.metrics:
                    values = system.of(metric, members)
                    if not len(values):
                        continue
                    of = (card.name, system.system, track, level, name, metric.name)
                    low, high = interval(metric, values, bootstrap)
                    estimated = {
                        "n": len(values),
                        "value": estimate(metric, values),
                        "low": low,
                        "high": high,
                    }
                    table.append(dict(zip(columns, of, strict=True)) | estimated)
        if mean and (score := mean_score(card, mean, system, tracks, bootstrap)):
            of = (card.name, system.system, mean.name, "overall", "overall", mean.name)
            table.append(dict(zip(columns, of, strict=True)) | score)
    return table


def aligned(ours: SystemScores, theirs: SystemScores) -> SystemScores:
    """`theirs` in the order of the instances of `ours`."""
    places = {key.instance: place for place, key in enumerate(theirs.keys)}
    if len(ours.keys) != len(theirs.keys) or any(key.instance not in places for key in ours.keys):
        what = f"{ours.system} and {theirs.system} were not scored on the same instances"
        raise NightjarError(what, "compare", "score both on the same questions")
    order = [places[key.instance] for key in ours.keys]
    parts = {name: values[order] for name, values in theirs.parts.items()}
    return SystemScores(theirs.system, ours.keys, parts)


def compare(
    card: Benchmark,
    scores: Sequence[SystemScores],
    pairs: Sequence[tuple[str, str]],
    bootstrap: Bootstrap,
    levels: Sequence[str] = ("overall",),
) -> list[dict[str, Any]]:
    """Rows of contracts.COMPARISONS: for each (system, baseline) the paired difference, by track, level and metric.

    The bootstrap draws instances, not scores, so that what makes an instance hard for both cancels out. See
    `difference` for the columns. Raises NightjarError if two systems were not scored on the same instances.
    """
    by_name = {scored.system: scored for scored in scores}
    table, mean = [], reported_mean(card, scores)
    card_levels = [level for level in levels if level in card.levels]
    for system, baseline in pairs:
        ours = by_name[system]
        theirs = aligned(ours, by_name[baseline])
        tracks = by_track(ours)
        for track, places in tracks.items():
            for (level, name), members in group(ours.keys, places, card_levels).items():
                cell = {"benchmark": card.name, "system": system, "baseline": baseline, "track": track}
                cell |= {"level": level, "name": name}
                for metric in card.metrics:
                    both = ours.both(theirs, metric, members)
                    if len(both[0]):
                        estimated = difference(metric, *both, bootstrap)
                        table.append({**cell, "metric": metric.name, **estimated})
        if mean and (tested := mean_difference(card, mean, (ours, theirs), tracks, bootstrap)):
            columns = ("system", "baseline", "track", "level", "name", "metric")
            of = (system, baseline, mean.name, "overall", "overall", mean.name)
            table.append({"benchmark": card.name} | dict(zip(columns, of, strict=True)) | tested)
    return table


def difference(metric: Metric, ours: Floats, theirs: Floats, bootstrap: Bootstrap) -> dict[str, Any]:
    """The difference of two systems on the same instances, parts of shape (n, parts) each.

    The keys of `statistics.Contrast.described`, n, and `significant` (`statistics.significant`).
    """
    n, tested = len(ours), Contrast.between(metric, ours, theirs).described(bootstrap)
    return {"n": n, "significant": significant(tested["p"], n, bootstrap.confidence), **tested}


def improvements(
    card: Benchmark, scores: Sequence[SystemScores], baselines: Sequence[str], bootstrap: Bootstrap
) -> list[dict[str, Any]]:
    """Rows of contracts.IMPROVEMENTS: each other system minus the best baseline of each task.

    Source: Wang et al. 2022, figures 11 and 12.

    The metric is the first of the card's that the task has. The best baseline is chosen for each task by it, as
    published, the first named among equals; because the better of two is chosen by what is observed, gains are, if
    anything, underestimated. Intervals resample the task's instances in pairs.
    """
    by_name = {one.system: one for one in scores}
    if any(name not in by_name for name in baselines) or not baselines:
        return []
    table = []
    for ours in scores:
        if ours.system in baselines:
            continue
        others = {name: aligned(ours, by_name[name]) for name in baselines}
        for track, places in by_track(ours).items():
            for (_, task_id), members in group(ours.keys, places, ("task",)).items():
                metric = next((one for one in card.metrics if len(ours.of(one, members))), None)
                if metric is None:
                    continue
                numbers = {name: estimate(metric, one.of(metric, members)) for name, one in others.items()}
                best = (max if metric.higher_is_better else min)(numbers, key=numbers.__getitem__)
                both = ours.both(others[best], metric, members)
                tested = Contrast.between(metric, *both).described(bootstrap)
                table.append(
                    {
                        "benchmark": card.name,
                        "system": ours.system,
                        "track": track,
                        "category": category_name(ours.keys[members[0]].category),
                        "task_id": task_id,
                        "heuristic": best,
                        "metric": metric.name,
                        "n": len(both[0]),
                        **{name: tested[name] for name in ("value", "low", "high")},
                    }
                )
    return table


def pairs(systems: Sequence[str], baselines: Sequence[str]) -> list[tuple[str, str]]:
    """Which systems are compared: each with every system before it, and with the card's baselines.

    `systems` begins with the untuned model.
    """
    return [
        (system, other)
        for place, system in enumerate(systems)
        for other in (*reversed(systems[:place]), *baselines)
    ]


# The tools that each answer called, by (task_id, id); answers without a call are left out.
Called = Mapping[tuple[str, str], frozenset[str]]


@dataclass(frozen=True)
class ByCall:
    """The answers of a system to the questions of a track, by the track's first metric, in its unit.

    `with_call` and `without_call` are None where there are no such answers. `called` of `n` answers have a call;
    `tools` counts the answers that called a tool, by its name.
    """

    track: str
    system: str
    metric: Metric
    everything: float
    with_call: float | None
    without_call: float | None
    n: int
    called: int
    tools: Mapping[str, int]

    @property
    def share(self) -> float:
        """Answers with a call, in percent."""
        return 100 * self.called / self.n


def called(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], frozenset[str]]:
    """The tools that each answer called, from rows of contracts.PREDICTIONS."""
    return {
        (row["task_id"], row["id"]): frozenset(call["tool"] for call in row["calls"])
        for row in rows
        if row["calls"]
    }


def split_by_call(card: Benchmark, scores: SystemScores, tools: Called) -> list[ByCall]:
    """A row a track, tracks sorted; questions that are not answered by a text, and tracks without others, are left out.

    The metric of a track is the first of the card's that its answers have.
    """
    rows = []
    for track, places in by_track(scores).items():
        written = [at for at in places if card.task(scores.keys[at].task_id).kind == "generate"]
        metric = next((it for it in card.metrics if len(scores.of(it, written))), None)
        if metric is None:
            continue
        with_call = [at for at in written if scores.keys[at].instance in tools]
        without = [at for at in written if scores.keys[at].instance not in tools]
        counts = Counter(name for at in with_call for name in sorted(tools[scores.keys[at].instance]))
        rows.append(
            ByCall(
                track=track,
                system=scores.system,
                metric=metric,
                everything=estimate(metric, scores.of(metric, written)),
                with_call=_estimate(metric, scores, with_call),
                without_call=_estimate(metric, scores, without),
                n=len(written),
                called=len(with_call),
                tools=counts,
            )
        )
    return rows


def _estimate(metric: Metric, scores: SystemScores, places: Sequence[int]) -> float | None:
    values = scores.of(metric, places)
    return estimate(metric, values) if len(values) else None
