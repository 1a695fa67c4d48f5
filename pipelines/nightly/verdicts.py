"""The verdicts on a night: its scores against those of the last good run, which an earlier version may have written."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from nightjar.core.driver_params import Nightly
from nightjar.core.params import Evaluate
from nightjar.statistics import verdict

Rows = list[dict[str, Any]]


class Good(NamedTuple):
    """The run that a night is compared with: its facts, and its rows of LEDGER_INSTANCES."""

    facts: dict[str, Any]
    instances: Rows


def verdicts(settings: Nightly, facts: Mapping[str, Any], instances: Rows, good: Good | None) -> Rows:
    """Rows of LEDGER_VERDICTS for a night with these facts and rows of LEDGER_INSTANCES.

    Raises NightjarError for a benchmark whose card cannot be loaded.
    """
    now = verdict.cells(instances, measures)
    if good is None:
        before, other = {}, dict.fromkeys(now, "there is no earlier good run")
    else:
        before = verdict.cells(good.instances, measures)
        reasons = {
            cell: other_evaluation(facts["stages"], good.facts["stages"], cell.benchmark, cell.system)
            for cell in now.keys() & before.keys()
        }
        other = {cell: reason for cell, reason in reasons.items() if reason}
    rule = verdict.Rule.of(
        settings.alpha, settings.minimum_instances, settings.bootstrap_samples, facts["seed"] or 0
    )
    return verdict.judge(now, before, other, rule)


def measures(benchmark: str, names: Collection[str]) -> list[verdict.Measure]:
    """The metrics of a benchmark by its card that are judged; of one that the registry does not know, the mean of each
    of `names`.

    Raises NightjarError for a card that cannot be loaded.
    """
    from nightjar.benchmarks import registry

    if benchmark not in registry.names():
        return [verdict.Measure(name) for name in sorted(names)]
    return [
        verdict.Measure(it.name, it.parts, it.statistic, it.scale, it.higher_is_better)
        for it in registry.card(benchmark).metrics
        if it.judged
    ]


def other_evaluation(now: Mapping[str, Any], before: Mapping[str, Any], benchmark: str, system: str) -> str:
    """How two runs' evaluations of a system differ, by their facts of stages; empty if in nothing that counts.

    The parameters and the version of the card count of the stage that scored the benchmark, and the parameters of the
    stage named after benchmark and system.
    """
    versions = [_card(stages, benchmark) for stages in (before, now)]
    if None not in versions and versions[0] != versions[1]:
        return f"another version of the benchmark: {versions[0]} → {versions[1]}"
    ours, theirs = (_parameters(stages, benchmark, system) for stages in (now, before))
    theirs = {key if key in ours else _present_name(key, benchmark): theirs[key] for key in theirs}
    differ = sorted(key for key in ours.keys() | theirs.keys() if ours.get(key, ()) != theirs.get(key, ()))
    shown = [f"{key} {_show(theirs, key)} → {_show(ours, key)}" for key in differ[:3]]
    more = [f"{len(differ) - 3} more"] if len(differ) > 3 else []
    return f"other parameters: {', '.join([*shown, *more])}" if differ else ""


def _card(stages: Mapping[str, Any], benchmark: str) -> Any:
    """The version of the benchmark's card; None where it was not recorded."""
    versions = [it.get("card") for it in stages.values() if benchmark in it.get("benchmarks", ())]
    return next((version for version in versions if version is not None), None)


def _parameters(stages: Mapping[str, Any], benchmark: str, system: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, facts in stages.items():
        if benchmark in facts.get("benchmarks", ()) or name.partition("@")[2] == f"{benchmark}-{system}":
            found |= facts.get("params", {})
    return {key: value for key, value in found.items() if not _is_neutral(key, benchmark)}


def _is_neutral(key: str, benchmark: str) -> bool:
    """Whether a parameter may differ between two nights that are compared.

    Threads decide the last bits alone. Paths of code, models, evidence and data do not tell what they hold: a night
    looks for effects of other models and code, and compares questions by their content.
    """
    paths = {f"benchmarks.{benchmark}.{name}" for name in ("code", "data", "split")}
    return key == "threads" or key in paths or key.startswith("predict.systems.")


def _present_name(key: str, benchmark: str) -> str:
    """The name that a parameter has now, if an entry of an earlier version has it under `evaluate.BENCHMARK`."""
    old = f"evaluate.{benchmark}."
    if not key.startswith(old):
        return key
    name = key.removeprefix(old)
    return f"evaluate.{name}" if name in Evaluate.model_fields else f"benchmarks.{benchmark}.{name}"


def _show(values: Mapping[str, Any], key: str) -> str:
    return json.dumps(values[key], ensure_ascii=False, default=str) if key in values else "(nothing)"
