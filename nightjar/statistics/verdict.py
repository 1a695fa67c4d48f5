"""The verdict on a run: is any score better or worse than in an earlier run, on the same instances, beyond chance?

A cell is one metric of one system on one track of one benchmark. Its instances are paired by id; the paired
bootstrap resamples their differences. p is the share of resamples whose mean, drawn around zero instead of around
the mean that was seen, lies as far out as that mean (two-sided). Holm's correction is over all cells of the run, so
that `alpha` bounds the chance that an unchanged set of models gets any verdict but "unchanged".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nightjar.statistics import paired
from nightjar.statistics.bootstrap import Bootstrap, percent, percentage
from nightjar.statistics.rule import enough

Word = Literal["better", "worse", "unchanged", "not comparable"]
Floats = NDArray[np.float64]
# Draws at a time: few enough for the processor's cache.
_DRAWS = 2**16
# Means that are equal may differ in their last bits.
_CLOSE = 1e-12


class Cell(NamedTuple):
    """What one verdict is about."""

    benchmark: str
    system: str
    track: str
    metric: str


@dataclass(frozen=True)
class Scored:
    """A cell's scores (0 to 1) in one run: `values[i]` is that of `ids[i]`, ids are unique and sorted.

    `contents[i]` is a digest of the instance's input and references; None where it is not known.
    """

    ids: tuple[tuple[str, str], ...]
    contents: tuple[str | None, ...]
    values: Floats


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


def cells(rows: Iterable[Mapping[str, Any]]) -> dict[Cell, Scored]:
    """Scores by cell from rows of contracts.LEDGER_INSTANCES in any order."""
    found: dict[Cell, list[tuple[tuple[str, str], str | None, float]]] = {}
    for row in rows:
        cell = Cell(row["benchmark"], row["system"], row["track"], row["metric"])
        found.setdefault(cell, []).append(((row["task_id"], row["id"]), row["content"], row["value"]))
    scored = {}
    for cell, members in found.items():
        ids, contents, values = zip(*sorted(members, key=lambda member: member[0]), strict=True)
        scored[cell] = Scored(ids, contents, np.array(values, dtype=np.float64))
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
    `before` (means in percent), `value` with `low` and `high` (mean difference now - before in percentage points; no
    ends below MINIMUM instances, whatever the rule's own minimum is), `p`, `p_corrected`, and how many instances are
    `better`, `worse` and `equal`. What is not known is None.
    """
    rows: dict[Cell, dict[str, Any]] = {}
    pairs: dict[Cell, Floats] = {}
    for cell in sorted(now.keys() | before.keys()):
        ours, theirs = now.get(cell), before.get(cell)
        found = _pair(ours, theirs, rule.minimum) if cell not in other else other[cell]
        rows[cell] = {
            **cell._asdict(),
            **dict.fromkeys(("value", "low", "high", "p", "p_corrected", "better", "worse", "equal")),
            "verdict": "not comparable",
            "reason": found if isinstance(found, str) else "",
            "n": len(ours.ids if ours else ()),
            "now": percent(ours.values) if ours and ours.ids else None,
            "before": percent(theirs.values) if theirs and theirs.ids else None,
        }
        if not isinstance(found, str):
            pairs[cell] = found
    groups = [(cell.benchmark, cell.track) for cell in pairs]
    for cell, told in zip(pairs, decide(list(pairs.values()), groups, rule), strict=True):
        rows[cell] |= told
    return list(rows.values())


def _pair(now: Scored | None, before: Scored | None, minimum: int) -> Floats | str:
    """The differences now - before, or why there are none."""
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
    return now.values - before.values


def decide(
    differences: Sequence[Floats], groups: Sequence[Sequence[str]], rule: Rule
) -> list[dict[str, Any]]:
    """The verdicts on a family of cells from their paired differences.

    Cells of one group and length are resampled together, an instance with all that is known of it; the group's name
    seeds its random stream. There are at least as many resamples as the correction needs for any p to be small enough.
    """
    samples = max(rule.bootstrap.samples, math.ceil(2 * len(differences) / rule.alpha))
    together: dict[tuple[str, ...], list[int]] = {}
    for number, (values, group) in enumerate(zip(differences, groups, strict=True)):
        together.setdefault((*group, str(len(values))), []).append(number)
    rows: dict[int, dict[str, Any]] = {}
    for group, numbers in together.items():
        values = np.stack([differences[number] for number in numbers], axis=1)
        means = resampled(values, samples, rule.bootstrap.stream("verdict", *group))
        for number, column, resamples in zip(numbers, values.T, means.T, strict=True):
            rows[number] = _described(column, resamples, rule)
    ordered = [rows[number] for number in range(len(differences))]
    for row, corrected in zip(ordered, holm([row["p"] for row in ordered]), strict=True):
        row["p_corrected"] = corrected
        row["verdict"] = _word(corrected <= rule.alpha, row["value"])
    return ordered


def _described(values: Floats, means: Floats, rule: Rule) -> dict[str, Any]:
    low, high = rule.bootstrap.ends(means)
    shown = enough(len(values))
    counts = paired.moved(values)
    return {
        "value": percent(values),
        "low": percentage(low) if shown else None,
        "high": percentage(high) if shown else None,
        "p": _p(means, float(values.mean())),
        "better": counts.better,
        "worse": counts.worse,
        "equal": counts.equal,
    }


def _word(moved: bool, value: float) -> Word:
    if not moved or value == 0:
        return "unchanged"
    return "better" if value > 0 else "worse"


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


def _p(means: Floats, seen: float) -> float:
    """Two-sided p of a mean difference that was seen, from resampled means around it; never 0."""
    extreme = int((np.abs(means - seen) >= abs(seen) - _CLOSE).sum())
    return (1 + extreme) / (1 + len(means))


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
    differences = []
    for pool in answers:
        instances, kinds, metrics = pool.shape
        first, second = rng.integers(0, kinds, size=(2, instances))
        second = np.where(rng.random(instances) < share, second, first)
        rows = np.arange(instances)
        moved = pool[rows, second] - pool[rows, first]
        differences += [moved[:, metric] for metric in range(metrics)]
    night = str(rng.integers(2**62))
    return decide(differences, [(night,)] * len(differences), rule)


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
