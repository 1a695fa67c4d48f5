"""The verdicts on a night: its scores against those of earlier runs, which an earlier version may have written."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from nightjar.benchmarks import registry
from nightjar.benchmarks.mean_verdicts import judge_all, means_over_runs
from nightjar.core.display import first_few, number, p
from nightjar.params.drivers import Nightly
from nightjar.statistics import Metric, enough, verdict
from pipelines.nightly import declines
from pipelines.nightly.nightly_facts import question
from pipelines.project.names import StageName

Rows = list[dict[str, Any]]


class Reference(NamedTuple):
    """A good run: its facts, and its rows of LEDGER_INSTANCES."""

    facts: dict[str, Any]
    instances: Rows


def verdicts(
    settings: Nightly,
    facts: Mapping[str, Any],
    instances: Rows,
    reference: Reference | None,
    earlier: Iterable[Reference] = (),
    measures_of: verdict.Measures | None = None,
) -> Rows:
    """Rows of LEDGER_VERDICTS for a night with these facts and rows of LEDGER_INSTANCES.

    `reference` is the last good run; a sample of another size is compared on the questions of both. `earlier` are
    the good runs, the latest first: a score that fell slowly over them is worse as well. Raises NightjarError for a
    benchmark whose card cannot be loaded. `measures_of` gives the metrics of a benchmark, in place of `measures`.
    """
    measures_of = measures_of or measures
    now = verdict.cells(instances, measures_of)
    if reference is None:
        return judge_all(now, {}, dict.fromkeys(now, "there is no earlier good run"), settings.alpha)
    ours, theirs = _same_questions(facts, instances, reference)
    present, before = verdict.cells(ours, measures_of), verdict.cells(theirs, measures_of)
    differences = {cell: _differs(facts, reference, cell) for cell in present.keys() & before.keys()}
    other_evaluations = {cell: reason for cell, reason in differences.items() if reason}
    rows = judge_all(present, before, other_evaluations, settings.alpha)
    declines = _declines(now, facts, earlier, settings.alpha, measures_of)
    for row in rows:
        cell = verdict.Cell(*(row[name] for name in verdict.Cell._fields))
        if row["verdict"] == "unchanged" and cell in declines:
            row |= {"verdict": "worse", "reason": declines[cell]}
    return rows


def _same_questions(facts: Mapping[str, Any], instances: Rows, reference: Reference) -> tuple[Rows, Rows]:
    """The rows of both runs. Where a benchmark's sample has another size, only the questions that both have."""
    stages = facts["stages"], reference.facts["stages"]
    names = {row["benchmark"] for row in instances}
    resized = {name for name in names if len({_recorded(one, name, "limit") for one in stages}) > 1}
    questions = [{question(row) for row in rows} for rows in (instances, reference.instances)]
    shared = questions[0] & questions[1]
    ours, theirs = (
        [row for row in rows if row["benchmark"] not in resized or question(row) in shared]
        for rows in (instances, reference.instances)
    )
    return ours, theirs


def _declines(
    now: Mapping[verdict.Cell, verdict.Scored],
    facts: Mapping[str, Any],
    earlier: Iterable[Reference],
    alpha: float,
    measures_of: verdict.Measures,
) -> dict[verdict.Cell, str]:
    """The cells that have declined over the last nights, and since when and by how much: single scores, and the means
    of tasks.

    The nights of a cell have the same questions by the same parameters. The first is the run that was accepted last.
    """
    # Of each night, the oldest first, its name and the parts of the cells that may be compared.
    names, nights = ["now"], [{cell: scored.values for cell, scored in now.items()}]
    for run in itertools.islice(earlier, declines.MOST - 1):
        comparable = {
            cell: before.values
            for cell, before in verdict.cells(run.instances, measures_of).items()
            if not isinstance(verdict.pair(now.get(cell), before), str) and not _differs(facts, run, cell)
        }
        names.insert(0, run.facts["run"])
        nights.insert(0, comparable)
        if run.facts["accepted"]:
            break
    cells = {}
    for cell, scored in now.items():
        if enough(len(scored.ids)):
            places = [place for place, night in enumerate(nights) if cell in night]
            cells[cell] = scored.measure, places, [nights[place][cell] for place in places]
    cells |= means_over_runs(now, nights)
    declined = declines.declined({cell: (metric, runs) for cell, (metric, _, runs) in cells.items()}, alpha)
    return {
        cell: f"slow decline since {names[cells[cell][1][0]]}, {number(row['value'], 2, signed=True)} over "
        f"{len(cells[cell][1])} nights, p {p(row['p_corrected'])}"
        for cell, row in declined.items()
    }


def measures(benchmark: str, names: Collection[str]) -> Sequence[Metric]:
    """The metrics of a benchmark by its card that are judged; of one that the registry does not know, the mean of each
    of `names`.

    Raises NightjarError for a card that cannot be loaded.
    """
    if benchmark not in registry.names():
        return [Metric(name) for name in sorted(names)]
    return [it for it in registry.load_benchmark(benchmark).metrics if it.judged]


def _differs(facts: Mapping[str, Any], run: Reference, cell: verdict.Cell) -> str:
    return other_evaluation(facts["stages"], run.facts["stages"], cell.benchmark, cell.system)


def other_evaluation(now: Mapping[str, Any], before: Mapping[str, Any], benchmark: str, system: str) -> str:
    """Say how two runs' evaluations of a system differ, by their facts of stages; empty if in nothing that counts.

    The parameters and the version of the card count of the stage that scored the benchmark, and the parameters of the
    stage named after benchmark and system.
    """
    versions = [_recorded(stages, benchmark, "card") for stages in (before, now)]
    if None not in versions and versions[0] != versions[1]:
        return f"another version of the benchmark: {versions[0]} → {versions[1]}"
    ours, theirs = (_parameters(stages, benchmark, system) for stages in (now, before))
    differ = sorted(key for key in ours.keys() | theirs.keys() if ours.get(key, ()) != theirs.get(key, ()))
    changes = [f"{key} {_show(theirs, key)} → {_show(ours, key)}" for key in differ]
    return f"other parameters: {first_few(changes)}" if differ else ""


def _recorded(stages: Mapping[str, Any], benchmark: str, name: str) -> Any:
    values = (it.get(name) for it in stages.values() if benchmark in it.get("benchmarks", ()))
    return next((value for value in values if value is not None), None)


def _parameters(stages: Mapping[str, Any], benchmark: str, system: str) -> dict[str, Any]:
    """The parameters that decide an evaluation. Those that two nights that are compared may differ in are left out.

    Threads decide the last bits alone. Paths of code, models, evidence and data do not say what they hold: a night
    looks for effects of other models and code, and compares questions by their content. Earlier versions had parameters
    of intervals, evaluate.*.
    """
    parameters: dict[str, Any] = {}
    item = StageName.predict(benchmark, system).item
    for name, facts in stages.items():
        if benchmark in facts.get("benchmarks", ()) or StageName.of(name).item == item:
            parameters |= facts.get("params", {})
    neutral = {"threads", *(f"benchmarks.{benchmark}.{name}" for name in ("code", "data", "split"))}
    return {key: parameters[key] for key in parameters if key not in neutral and not _NEUTRAL.match(key)}


# How a system is asked counts of its line.
_NEUTRAL = re.compile(r"evaluate\.|predict\.systems\.[^.]+\.(?!chat|calls)")


def _show(values: Mapping[str, Any], key: str) -> str:
    return json.dumps(values[key], ensure_ascii=False, default=str) if key in values else "(nothing)"
