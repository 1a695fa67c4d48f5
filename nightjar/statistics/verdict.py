"""The verdict on a run: is any score better or worse than in an earlier run, on the same instances, beyond chance?

A cell is one metric of one system on one track of one benchmark. Its instances are paired by id; the paired bootstrap
draws instances with replacement and computes the metric of both runs on each draw. p is the share of resamples whose
difference lies as far from the observed one as that lies from zero (two-sided). Holm's correction is over all cells of
the run, so that `alpha` bounds the chance that an unchanged set of models gets any verdict but "unchanged".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nightjar.statistics import paired, resample
from nightjar.statistics.bootstrap import DECIMALS, Bootstrap
from nightjar.statistics.rule import enough
from nightjar.statistics.statistic import Statistic, mean

Word = Literal["better", "worse", "unchanged", "not comparable"]
Floats = NDArray[np.float64]
# Draws at a time: few enough for the processor's cache.
_DRAWS = 2**16
# Differences that are equal may differ in their last bits.
_CLOSE = 1e-12


class Cell(NamedTuple):
    """What one verdict is about."""

    benchmark: str
    system: str
    track: str
    metric: str


@dataclass(frozen=True)
class Measure:
    """A metric: its value is `statistic` of the `parts` of the instances, times `scale`.

    Without parts it has one, of its own name. The defaults are those of a mean in percent.
    """

    name: str
    parts: tuple[str, ...] = ()
    statistic: Statistic = mean
    scale: float = 100.0
    higher_is_better: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", self.parts or (self.name,))


# The metrics of a benchmark, from its name and the names of the parts that it has.
Measures = Callable[[str, Collection[str]], Sequence[Measure]]


@dataclass(frozen=True)
class Scored:
    """A cell's scores in one run: `values[i]` are the parts of its metric for `ids[i]`; ids are unique and sorted.

    `values` has the shape (n, parts). `contents[i]` is a digest of what was asked; None where it is not known.
    """

    measure: Measure
    ids: tuple[tuple[str, str], ...]
    contents: tuple[str | None, ...]
    values: Floats

    @property
    def value(self) -> float:
        """The metric in its unit, rounded to 4 decimals."""
        return _estimate(self.measure, self.values)


class Contrast(NamedTuple):
    """A weighted sum of a metric over runs: the parts of the same instances, shape (n, parts), and a weight for each
    run. The weights add up to 0, so runs with equal scores have a contrast of exactly 0.
    """

    measure: Measure
    runs: Sequence[Floats]
    weights: Sequence[float]

    @classmethod
    def between(cls, measure: Measure, now: Floats, before: Floats) -> Contrast:
        """The difference now - before."""
        return cls(measure, (now, before), (1.0, -1.0))

    def of(self, values: Sequence[Floats]) -> Floats:
        """The contrast of values that each run has."""
        rest = zip(self.weights[1:], values[1:], strict=True)
        return sum((weight * (value - values[0]) for weight, value in rest), np.zeros_like(values[0]))


@dataclass(frozen=True)
class Rule:
    """How verdicts are given: the family-wise level, the fewest instances of a cell, the bootstrap."""

    alpha: float
    minimum: int
    bootstrap: Bootstrap

    @classmethod
    def of(cls, alpha: float, minimum: int, samples: int, seed: int) -> Rule:
        """A rule whose intervals enclose 1 - alpha."""
        return cls(alpha, minimum, Bootstrap(seed, samples, 1 - alpha))


def cells(rows: Iterable[Mapping[str, Any]], measures: Measures) -> dict[Cell, Scored]:
    """Scores by cell from rows of contracts.LEDGER_INSTANCES in any order.

    A cell has the instances that have all parts of its metric; a metric without any has no cell.
    """
    groups: dict[tuple[str, str, str], dict[str, dict[tuple[str, str], tuple[str | None, float]]]] = {}
    for row in rows:
        parts = groups.setdefault((row["benchmark"], row["system"], row["track"]), {})
        found = row["content"], row["value"]
        parts.setdefault(row["metric"], {})[row["task_id"], row["id"]] = found
    scored = {}
    for group, parts in groups.items():
        for measure in measures(group[0], parts):
            columns = [parts.get(name, {}) for name in measure.parts]
            ids = sorted(set(columns[0]).intersection(*columns[1:]))
            if ids:
                values = np.array([[column[key][1] for column in columns] for key in ids], dtype=np.float64)
                contents = tuple(columns[0][key][0] for key in ids)
                scored[Cell(*group, measure.name)] = Scored(measure, tuple(ids), contents, values)
    return scored


def judge(
    now: Mapping[Cell, Scored],
    before: Mapping[Cell, Scored],
    other: Mapping[Cell, str],
    rule: Rule,
) -> list[dict[str, Any]]:
    """A verdict on every cell of either run, sorted by cell.

    `other` gives cells that are not comparable for a reason that the scores do not show, such as other parameters.
    Each row has the cell's four names, `verdict`, `reason` (why it is not comparable, else empty), n, `now` and
    `before`, their difference `value` with `low` and `high`, `p`, `p_corrected`, and how many instances are `better`,
    `worse` and `equal`. Numbers are in the unit of the metric, and differences are now - before. What is not known is
    None: an interval of few instances, and counts for a metric of several parts.
    """
    rows: dict[Cell, dict[str, Any]] = {}
    pairs: dict[Cell, Contrast] = {}
    for cell in sorted(now.keys() | before.keys()):
        ours, theirs = now.get(cell), before.get(cell)
        found = pair(ours, theirs, rule.minimum) if cell not in other else other[cell]
        rows[cell] = {
            **cell._asdict(),
            **dict.fromkeys(("value", "low", "high", "p", "p_corrected", "better", "worse", "equal")),
            "verdict": "not comparable",
            "reason": found if isinstance(found, str) else "",
            "n": len(ours.ids if ours else ()),
            "now": ours.value if ours else None,
            "before": theirs.value if theirs else None,
        }
        if isinstance(found, Contrast):
            pairs[cell] = found
    groups = [(cell.benchmark, cell.track) for cell in pairs]
    for cell, verdict in zip(pairs, decide(list(pairs.values()), groups, rule), strict=True):
        rows[cell] |= verdict
    return list(rows.values())


def pair(now: Scored | None, before: Scored | None, minimum: int) -> Contrast | str:
    """The difference between two runs, or why they cannot be compared."""
    if before is None:
        return "the run it is compared with has no such score"
    if now is None:
        return "missing now; the run it is compared with has it"
    if now.ids != before.ids:
        new, gone = len(set(now.ids) - set(before.ids)), len(set(before.ids) - set(now.ids))
        return f"other instances: {new} new, {gone} gone"
    changed = sum(
        a != b for a, b in zip(now.contents, before.contents, strict=True) if a is not None and b is not None
    )
    if changed:
        return f"{changed} instances have another input or other references"
    if len(now.ids) < minimum:
        return f"too few instances: {len(now.ids)}, wanted are {minimum}"
    return Contrast.between(now.measure, now.values, before.values)


def decide(pairs: Sequence[Contrast], groups: Sequence[Sequence[str]], rule: Rule) -> list[dict[str, Any]]:
    """The verdicts on a family of cells.

    The means of one group and length are resampled together, an instance with all that is known of it; the group's name
    seeds its random stream. There are at least as many resamples as the correction needs for any p to be small enough.
    """
    samples = max(rule.bootstrap.samples, math.ceil(2 * len(pairs) / rule.alpha))
    together: dict[tuple[str, ...], list[int]] = {}
    rows: dict[int, dict[str, Any]] = {}
    for number, (pair, group) in enumerate(zip(pairs, groups, strict=True)):
        if pair.measure.statistic is mean:
            together.setdefault((*group, str(len(pair.runs[0]))), []).append(number)
        else:
            rng = rule.bootstrap.stream("verdict", *group, pair.measure.name)
            rows[number] = _described(pair, _recomputed(pair, samples, rng), rule)
    for name, numbers in together.items():
        values = np.concatenate([pairs[number].of(pairs[number].runs) for number in numbers], axis=1)
        means = resampled(values, samples, rule.bootstrap.stream("verdict", *name))
        for number, resamples in zip(numbers, means.T, strict=True):
            rows[number] = _described(pairs[number], resamples, rule)
    ordered = [rows[number] for number in range(len(pairs))]
    correct(ordered, [pair.measure.higher_is_better for pair in pairs], rule.alpha)
    return ordered


def correct(rows: Sequence[dict[str, Any]], higher_is_better: Sequence[bool], alpha: float) -> None:
    """Set `p_corrected` and `verdict` of rows that have `p` and `value` and are one family."""
    corrected = holm([row["p"] for row in rows])
    for row, higher, p in zip(rows, higher_is_better, corrected, strict=True):
        row["p_corrected"] = p
        row["verdict"] = _word(p <= alpha, row["value"] if higher else -row["value"])


def _described(pair: Contrast, resamples: Floats, rule: Rule) -> dict[str, Any]:
    measure, n = pair.measure, len(pair.runs[0])
    if measure.statistic is mean:
        seen = float(pair.of(pair.runs).mean())
    else:
        seen = float(pair.of(list(measure.statistic(np.stack(pair.runs)))))
    ends: tuple[float | None, float | None] = (None, None)
    if enough(n) and np.isfinite(resamples).all():
        low, high = rule.bootstrap.ends(resamples)
        ends = _scaled(measure, low), _scaled(measure, high)
    counts: dict[str, int | None] = dict.fromkeys(("better", "worse", "equal"))
    if len(measure.parts) == 1:
        higher = pair.of(pair.runs)[:, 0]
        counts = dict(vars(paired.moved(higher if measure.higher_is_better else -higher)))
    return {
        "value": _scaled(measure, seen),
        "low": ends[0],
        "high": ends[1],
        "p": _p(resamples, seen),
        **counts,
    }


def _estimate(measure: Measure, values: Floats) -> float:
    if measure.statistic is mean:  # summed one after another, as the published evaluators do
        return round(measure.scale * sum(values[:, 0].tolist()) / len(values), DECIMALS)
    return _scaled(measure, float(measure.statistic(values[None])[0]))


def _scaled(measure: Measure, value: float) -> float:
    return round(measure.scale * value, DECIMALS)


def _word(moved: bool, gain: float) -> Word:
    if not moved or gain == 0:
        return "unchanged"
    return "better" if gain > 0 else "worse"


def resampled(values: Floats, samples: int, rng: np.random.Generator) -> Floats:
    """The column means of `samples` resamples of the rows of `values`, drawn with replacement: samples x columns.

    Unlike those of `resample.sums`, the draws do not depend on the values: a column's means are the same whatever the
    other columns hold.
    """
    n = len(values)
    means = np.zeros((samples, values.shape[1]))
    if not values.any():
        return means
    step = max(1, _DRAWS // n)
    for start in range(0, samples, step):
        count = min(step, samples - start)
        drawn = rng.integers(0, n, size=(count, n)) + n * np.arange(count)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=count * n).reshape(count, n)
        means[start : start + count] = weights.astype(np.float64) @ values / n
    return means


def _recomputed(pair: Contrast, samples: int, rng: np.random.Generator) -> Floats:
    """The contrast of the statistic on `samples` resamples of the instances, all runs on the same draws."""
    if all(np.array_equal(run, pair.runs[0]) for run in pair.runs):
        return np.zeros(samples)
    return pair.of(list(resample.resampled(pair.measure.statistic, pair.runs, samples, rng)))


def _p(resamples: Floats, seen: float) -> float:
    """Two-sided p of an observed difference, from resampled differences around it; never 0.

    A resample on which the statistic is not defined counts as extreme.
    """
    extreme = int((~(np.abs(resamples - seen) < abs(seen) - _CLOSE)).sum())
    return (1 + extreme) / (1 + len(resamples))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's corrected p-values, in the order given: rejecting those <= alpha holds the family-wise level."""
    corrected = [0.0] * len(p)
    highest = 0.0
    for rank, number in enumerate(sorted(range(len(p)), key=lambda number: p[number])):
        highest = max(highest, min(1.0, (len(p) - rank) * p[number]))
        corrected[number] = highest
    return corrected


def summary(rows: Iterable[Mapping[str, Any]]) -> Word:
    """One word for several verdicts: worse if any is; else better if any is; else unchanged if any is
    comparable.
    """
    words = {row["verdict"] for row in rows}
    order: tuple[Word, ...] = ("worse", "better", "unchanged")
    return next((word for word in order if word in words), "not comparable")


def simulated_night(
    answers: Sequence[Floats], share: float, rng: np.random.Generator, rule: Rule
) -> list[dict[str, Any]]:
    """The verdicts on two runs of unchanged, noisy models.

    `answers[s][i, k]` are the metrics of the k-th answer that system s might give to instance i. In either run it
    gives an answer drawn at random to a `share` of the instances, and the same one to the others: the two runs are
    exchangeable, so every verdict but "unchanged" is false.
    """
    pairs = []
    for pool in answers:
        instances, kinds, metrics = pool.shape
        first, second = rng.integers(0, kinds, size=(2, instances))
        second = np.where(rng.random(instances) < share, second, first)
        rows = np.arange(instances)
        before, now = pool[rows, first], pool[rows, second]
        pairs += [
            Contrast.between(Measure(str(metric)), now[:, [metric]], before[:, [metric]])
            for metric in range(metrics)
        ]
    night = str(rng.integers(2**62))
    return decide(pairs, [(night,)] * len(pairs), rule)


def binomial_interval(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's exact interval for a share of which `hits` of `trials` were seen."""
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _crossing(lambda share: _at_least(hits, trials, share) - tail)
    high = 1.0 if hits == trials else _crossing(lambda share: tail - _at_most(hits, trials, share))
    return low, high


def _crossing(rising: Any) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


def _at_most(hits: int, trials: int, share: float) -> float:
    """The chance of at most `hits` in `trials`."""
    if share >= 1:
        return float(hits >= trials)
    logs = (
        math.lgamma(trials + 1)
        - math.lgamma(k + 1)
        - math.lgamma(trials - k + 1)
        + (k * math.log(share) if k else 0.0)
        + (trials - k) * math.log1p(-share)
        for k in range(hits + 1)
    )
    return math.fsum(math.exp(log) for log in logs)


def _at_least(hits: int, trials: int, share: float) -> float:
    return 1 - _at_most(hits - 1, trials, share)
