"""The verdict on a run: is any score better or worse than in an earlier run, on the same instances, beyond chance?

A cell is one metric of one system on one track of one benchmark. Its instances are paired by id; p is that of the
paired permutation test (`paired`). Holm's correction is over all cells of the run, so that `alpha` bounds the chance
that an unchanged set of models gets any verdict but "unchanged".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from nightjar.core.display import counted_as
from nightjar.statistics.bootstrap import Bootstrap
from nightjar.statistics.metric import Metric, estimate
from nightjar.statistics.paired import Contrast
from nightjar.statistics.statistic import Floats, enough, too_few

Word = Literal["better", "worse", "unchanged", "not comparable"]


class Cell(NamedTuple):
    """The subject of one verdict: a metric of a system on a track of a benchmark."""

    benchmark: str
    system: str
    track: str
    metric: str


# The metrics of a benchmark, from its name and the names of the parts that it has.
Measures = Callable[[str, Collection[str]], Sequence[Metric]]


@dataclass(frozen=True)
class Scored:
    """A cell's scores in one run: `values[i]` are the parts of its metric for `ids[i]`; ids are unique and sorted.

    `values` has the shape (n, parts). `contents[i]` is a digest of what was asked; None where it is not known.
    """

    measure: Metric
    ids: tuple[tuple[str, str], ...]
    contents: tuple[str | None, ...]
    values: Floats

    @property
    def value(self) -> float:
        """The metric in its unit, rounded to its decimals."""
        return estimate(self.measure, self.values)


def cells(rows: Iterable[Mapping[str, Any]], measures: Measures) -> dict[Cell, Scored]:
    """Scores by cell from rows of contracts.LEDGER_INSTANCES in any order.

    A cell has the instances that have all parts of its metric; a metric without any has no cell.
    """
    groups: dict[tuple[str, str, str], dict[str, dict[tuple[str, str], tuple[str | None, float]]]] = {}
    for row in rows:
        parts = groups.setdefault((row["benchmark"], row["system"], row["track"]), {})
        content_value = row["content"], row["value"]
        parts.setdefault(row["metric"], {})[row["task_id"], row["id"]] = content_value
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
    incomparable: Mapping[Cell, str],
    alpha: float,
) -> list[dict[str, Any]]:
    """A verdict on every cell of either run, sorted by cell.

    `incomparable` has cells that are not comparable for a reason that the scores do not show: other parameters. Each
    row has the cell's four names, `verdict`, `reason` (why it is not comparable, else empty), n, `now` and `before`,
    their difference `value` with `low` and `high`, `p`, `p_corrected`, and how many instances are `better`,
    `worse` and `equal`. Numbers are in the unit of the metric, and differences are now - before. What is not known is
    None: an interval where the statistic is not defined on every resample, and counts for a metric of several parts.
    """
    rows: dict[Cell, dict[str, Any]] = {}
    pairs: dict[Cell, Contrast] = {}
    for cell in sorted(now.keys() | before.keys()):
        ours, theirs = now.get(cell), before.get(cell)
        compared = pair(ours, theirs) if cell not in incomparable else incomparable[cell]
        if isinstance(compared, Contrast) and not enough(len(compared.runs[0])):
            compared = few(len(compared.runs[0]))
        rows[cell] = {
            **cell._asdict(),
            **dict.fromkeys(("value", "low", "high", "p", "p_corrected", "better", "worse", "equal")),
            "verdict": "not comparable",
            "reason": compared if isinstance(compared, str) else "",
            "n": len(ours.ids if ours else ()),
            "now": ours.value if ours else None,
            "before": theirs.value if theirs else None,
        }
        if isinstance(compared, Contrast):
            pairs[cell] = compared
    for cell, verdict in zip(pairs, decide(list(pairs.values()), alpha), strict=True):
        rows[cell] |= verdict
    return list(rows.values())


def few(n: int) -> str:
    """Why cells of `n` instances, fewer than MINIMUM, are not comparable."""
    return f"{too_few(n)}: {counted_as(n, 'instance')}"


def pair(now: Scored | None, before: Scored | None) -> Contrast | str:
    """The difference between two runs, or why they cannot be compared."""
    if before is None:
        return "the run it is compared with has no such score"
    if now is None:
        return "missing now; the run it is compared with has it"
    if now.ids != before.ids:
        new, removed = len(set(now.ids) - set(before.ids)), len(set(before.ids) - set(now.ids))
        return f"other instances: {new} new, {removed} gone"
    changed = sum(
        a != b for a, b in zip(now.contents, before.contents, strict=True) if a is not None and b is not None
    )
    if changed:
        return f"{changed} instances have another input or other references"
    return Contrast.between(now.measure, now.values, before.values)


def decide(pairs: Sequence[Contrast], alpha: float) -> list[dict[str, Any]]:
    """The verdicts on a family of cells, each of MINIMUM instances or more: `Contrast.described` and `correct`."""
    rows = [pair.described(Bootstrap()) for pair in pairs]
    correct(rows, [pair.measure.higher_is_better for pair in pairs], alpha)
    return rows


def correct(rows: Sequence[dict[str, Any]], higher_is_better: Sequence[bool], alpha: float) -> None:
    """Set `p_corrected` and `verdict` of rows that have `p` and `value` and are one family."""
    corrected = holm([row["p"] for row in rows])
    for row, higher, p in zip(rows, higher_is_better, corrected, strict=True):
        row["p_corrected"] = p
        row["verdict"] = _word(p <= alpha, row["value"] if higher else -row["value"])


def _word(significant: bool, gain: float) -> Word:
    if not significant or gain == 0:
        return "unchanged"
    return "better" if gain > 0 else "worse"


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
