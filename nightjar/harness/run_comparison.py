"""Runs of other harnesses compared: each metric of each task and filter, paired by document.

Repeats of a document (epochs) are averaged first, so that a document counts once. p is that of the paired permutation
test, corrected by Holm's method for all numbers of all pairs of runs together.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nightjar.benchmarks import registry
from nightjar.core.display import counted_as
from nightjar.core.errors import NightjarError
from nightjar.harness.evaluation_folders import NAME as EVALUATION
from nightjar.harness.harness_metrics import LOSS, TOKENS, fractions, metrics_of
from nightjar.harness.samples import HarnessRun, Sample, Subject
from nightjar.statistics import Bootstrap, Contrast, Metric, enough, verdict
from nightjar.statistics.bootstrap import SAMPLES

# The chance, at most, that runs of equal models differ in any number.
ALPHA = 0.05
# Of a changed answer of a task.
EXAMPLES = 5

Key = tuple[str, int]
Rows = list[dict[str, Any]]
Cells = Mapping[verdict.Cell, verdict.Scored]


class Pairing(NamedTuple):
    """The samples of one task and filter that all runs have: in each run by the same keys, in the same order."""

    subject: Subject
    keys: Sequence[Key]
    samples: Sequence[Mapping[Key, Sample]]


def compare_runs(
    runs: Sequence[HarnessRun],
    common: bool = False,
    any_prompt: bool = False,
    texts: bool = False,
    samples: int = SAMPLES,
) -> dict[str, Any]:
    """Compare two runs or more: "runs", "alpha", "scores", "differences", "notes"; with `texts` "answers".

    `scores` has a row a task, filter and metric, with its unit, n, and the value of each run under "values".
    `differences` has a row for each pair of runs of these, a - b: `a` and `b` are names of runs, `a_value` and
    `b_value` their values; the other columns are those of `verdict.judge`. "better" is said of a.

    Raises NightjarError where the runs have other documents or prompts. With `common` the documents that all have are
    compared; with `any_prompt` documents are paired whatever their prompts are. `samples`: of intervals.
    """
    names, bootstrap = run_names(runs), Bootstrap(samples=samples)
    notes = [f"left out: {what}: {reason}" for run in runs for what, reason in run.left_out.items()]
    pairings = _pairings(runs, names, common, any_prompt, notes)
    scored: list[dict[verdict.Cell, verdict.Scored]] = [{} for _ in runs]
    for pairing in pairings:
        for measure in _metrics(runs, pairing):
            for cells, cell in zip(scored, _cells(pairing, measure, names, common), strict=True):
                if cell:
                    cells[verdict.Cell(pairing.subject.task, "", pairing.subject.filter, measure.name)] = cell
    if not scored[0]:
        raise NightjarError("the runs have no number of a document in common", names[0], "check the runs")
    scores = [
        {
            **_names_of(cell),
            "unit": "%" if first.measure.scale == 100 else "",
            "n": len(first.ids),
            "values": {name: cells[cell].value for name, cells in zip(names, scored, strict=True)},
        }
        for cell, first in scored[0].items()
    ]
    result = {
        "runs": [
            {"name": name, "source": str(run.source), "harness": run.harness, "model": run.model}
            for name, run in zip(names, runs, strict=True)
        ],
        "alpha": ALPHA,
        "confidence": bootstrap.confidence,
        "scores": scores,
        "differences": _differences(scored, names, bootstrap),
        "notes": list(dict.fromkeys(notes)),
    }
    return result | ({"answers": _answers(pairings)} if texts else {})


def run_names(runs: Sequence[HarnessRun]) -> list[str]:
    """Return the name of each run: its model, or its source where several runs have one model."""
    models = [run.model for run in runs]
    names = models if len(set(models)) == len(models) else [str(run.source) for run in runs]
    if len(set(names)) < len(names):
        raise NightjarError("the same run is named twice", names[0], "name each run once")
    return names


def _pairings(
    runs: Sequence[HarnessRun], names: Sequence[str], common: bool, any_prompt: bool, notes: list[str]
) -> list[Pairing]:
    """Pair the samples of every task that all runs have; the others are noted."""
    subjects = [subject for subject in runs[0].samples if all(subject in run.samples for run in runs)]
    for run, name in zip(runs, names, strict=True):
        notes += [
            f"left out: {_title(it)}: only some of the runs have it, among them {name}"
            for it in run.samples
            if it not in subjects
        ]
    if not subjects:
        tasks = "; ".join(
            f"{name}: {', '.join(sorted({it.task for it in run.samples})[:5])}"
            for name, run in zip(names, runs, strict=True)
        )
        raise NightjarError(f"no task in common ({tasks})", names[0], "compare runs of the same tasks")
    pairings: list[Pairing] = []
    faults: list[str] = []
    for subject in subjects:
        by_key = [{(it.id, it.repeat): it for it in run.samples[subject]} for run in runs]
        shared = [key for key in by_key[0] if all(key in samples for samples in by_key)]
        same = [key for key in shared if any_prompt or _same_content([samples[key] for samples in by_key])]
        # A document that is repeated (epochs) counts once.
        documents = {id for samples in by_key for id, _ in samples}
        alone = len({id for samples in by_key for id, _ in samples.keys() - set(shared)})
        if alone + (other_prompts := len({id for id, _ in set(shared) - set(same)})):
            counts = []
            if alone:
                counts.append(f"{counted_as(alone, 'document')} of {len(documents):,} not in all runs")
            if other_prompts:
                counts.append(f"{counted_as(other_prompts, 'document')} with another prompt or target")
            fault = f"{_title(subject)}: {', '.join(counts)}"
            (notes if common else faults).append(fault)
        if same:
            pairings.append(Pairing(subject, same, by_key))
    if faults or not pairings:
        what = "; ".join(faults[:3] or notes[-3:]) + (
            f"; and {len(faults) - 3} more tasks" if len(faults) > 3 else ""
        )
        fix = "--common compares what is the same in all; --any-prompt pairs documents whatever their prompts"
        raise NightjarError(what, " and ".join(names[:2]), fix)
    return pairings


def _same_content(samples: Sequence[Sample]) -> bool:
    """Return true if what was asked and expected is the same, or not known."""
    return len({it.content for it in samples if it.content}) < 2


def _title(subject: Subject) -> str:
    return subject.task if subject.filter == "none" else f"{subject.task}, {subject.filter}"


def _metrics(runs: Sequence[HarnessRun], pairing: Pairing) -> list[Metric]:
    """Return the metrics that any of the paired samples has in every run."""
    chosen = [[samples[key] for key in pairing.keys] for samples in pairing.samples]
    parts = set.intersection(*({name for it in samples for name in it.values} for samples in chosen))
    if all(run.harness == EVALUATION for run in runs) and pairing.subject.task in registry.names():
        metrics = registry.load_benchmark(pairing.subject.task).metrics
        return [it for it in metrics if it.judged and set(it.parts) <= parts]
    values = (pair for samples in chosen for it in samples for pair in it.values.items())
    directions: dict[str, bool] = {}
    for run in runs:
        directions |= run.higher_is_better
    return metrics_of(parts, fractions(values), directions)


def _cells(
    pairing: Pairing, measure: Metric, names: Sequence[str], common: bool
) -> list[verdict.Scored | None]:
    """Return the scores of each run by a metric, of the documents that have all its parts in every run.

    Raises NightjarError where some runs lack the score of a document, unless `common`.
    """
    scored_keys = [
        [key for key in pairing.keys if set(measure.parts) <= samples[key].values.keys()]
        for samples in pairing.samples
    ]
    shared = set.intersection(*map(set, scored_keys))
    keys = [key for key in scored_keys[0] if key in shared]
    if (lacking := len(set().union(*scored_keys)) - len(keys)) and not common:
        what = (
            f"{_title(pairing.subject)}: {counted_as(lacking, 'document')} without {measure.name} in some run"
        )
        raise NightjarError(what, " and ".join(names[:2]), "--common compares what all runs have")
    if not keys:
        return [None for _ in pairing.samples]
    grouped: dict[str, list[Key]] = {}
    for key in keys:
        grouped.setdefault(key[0], []).append(key)
    ids = sorted(grouped)
    return [
        verdict.Scored(
            measure,
            tuple((pairing.subject.filter, id) for id in ids),
            tuple(None for _ in ids),
            np.array(
                [
                    [
                        float(np.mean([samples[key].values[part] for key in grouped[id]]))
                        for part in measure.parts
                    ]
                    for id in ids
                ]
            ),
        )
        for samples in pairing.samples
    ]


def _differences(scored: Sequence[Cells], names: Sequence[str], bootstrap: Bootstrap) -> Rows:
    """Return the rows of every pair of runs; p is corrected for all rows together."""
    rows: Rows = []
    directions: list[bool] = []
    for first, second in itertools.combinations(range(len(scored)), 2):
        for cell, ours in scored[first].items():
            theirs, n = scored[second][cell], len(ours.ids)
            tested = Contrast.between(ours.measure, ours.values, theirs.values).described(bootstrap)
            directions.append(ours.measure.higher_is_better)
            rows.append(
                {
                    "a": names[first],
                    "b": names[second],
                    **_names_of(cell),
                    "n": n,
                    "a_value": ours.value,
                    "b_value": theirs.value,
                    **tested,
                    "p_corrected": None,
                    "verdict": "not comparable",
                    "reason": "" if enough(n) else verdict.few(n),
                }
            )
    places = [place for place, row in enumerate(rows) if row["p"] is not None]
    verdict.correct([rows[place] for place in places], [directions[place] for place in places], ALPHA)
    return rows


def _names_of(cell: verdict.Cell) -> dict[str, str]:
    return {"task": cell.benchmark, "filter": cell.track, "metric": cell.metric}


def _answers(pairings: Sequence[Pairing]) -> Rows:
    """Return for each task how many answers of the first two runs differ, and those whose scores differ most.

    An answer without a score in one of the two is counted, and is no example.
    """
    rows: Rows = []
    for pairing in pairings:
        first, second = pairing.samples[:2]
        changed = [key for key in pairing.keys if first[key].answer != second[key].answer]
        parts = sorted(name for name in first[pairing.keys[0]].values if not name.endswith((LOSS, TOKENS)))
        part = parts[0] if parts else ""
        moves = {
            key: (first[key].values[part], second[key].values[part])
            for key in changed
            if part in first[key].values and part in second[key].values
        }
        examples = sorted(moves, key=lambda key: (-abs(moves[key][0] - moves[key][1]), key))
        if not any(it[key].answer for it in (first, second) for key in pairing.keys):
            continue
        rows.append(
            {
                "benchmark": pairing.subject.task,
                "system": pairing.subject.filter,
                "n": len(pairing.keys),
                "changed": len(changed),
                "examples": [
                    {
                        "task": pairing.subject.task,
                        "id": first[key].id,
                        "input": first[key].input,
                        "references": [first[key].target],
                        "metric": part,
                        "now": {"answer": first[key].answer, "score": moves[key][0]},
                        "before": {"answer": second[key].answer, "score": moves[key][1]},
                    }
                    for key in examples[:EXAMPLES]
                ],
            }
        )
    return rows
