"""The command `plan`: what a rebuild would do, why, and how long it would take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from nightjar.core.numbers import counted_as
from pipelines.commands.console import say, say_json, say_table
from pipelines.commands.options import as_json_option, jobs_option
from pipelines.execution.estimate import AHEAD, Estimate, Expected, estimates, whole
from pipelines.graph import graph as graphs
from pipelines.graph import leftovers

COLOURS = {"would run": "green", "would be restored": "cyan", "would fail": "bold red", "follows": "yellow"}


@click.command()
@click.argument("stages", nargs=-1)
@jobs_option
@click.option(
    "--profile", help="A profile's stages from nothing, what to supply for them, and what they cost."
)
@click.option("--device", type=click.Choice(["a100", "h100", "h200"]), default="a100", show_default=True)
@as_json_option
def plan(stages: tuple[str, ...], jobs: int | None, profile: str | None, device: str, as_json: bool) -> None:
    """What a rebuild would do with STAGES and what they need, or with all: why, and how long it takes.

    It only reads. Stages that are up to date are counted; --json lists them too. "follows": a stage before it would
    run, and it may then turn out to be unchanged, or be restored. Times are those of the last good runs here with the
    same parameters, scaled by the number of rows, with a range.

    \b
    Example:
      nightjar plan
      nightjar plan --jobs 4 --json
      nightjar plan --profile paper --device h100
    """
    if profile is not None:
        from pipelines.commands import plan_profile  # here, not above: it takes long to load

        found = plan_profile.found(profile, stages, device)
        (say_json if as_json else plan_profile.show)(found)
        return
    whole_graph = graphs.read()
    graph = whole_graph.only(stages)
    left = leftovers.find(whole_graph, graph)
    expected = estimates(graph) if graph.changed() or as_json else {}
    estimate = whole(graph, expected, jobs)
    if as_json:
        _print_json(graph, expected, estimate, left)
        return
    _print_table(graph, expected, estimate)
    for it in left:
        say(str(it))


def _print_json(
    graph: graphs.Graph,
    expected: Mapping[str, Expected],
    estimate: Estimate,
    left: Sequence[leftovers.Leftover],
) -> None:
    rows = [
        {
            "stage": name,
            "state": stage.state,
            "why": [reason.as_json() for reason in stage.reasons],
            **_facts(expected[name]),
        }
        for name, stage in graph.stages.items()
    ]
    told = {
        "stages": rows,
        **{end: round(at, 1) for end, at in vars(estimate.whole).items()},
        **{f"clock_{end}": round(at, 1) for end, at in vars(estimate.clock).items()},
        "jobs": estimate.jobs,
        "without_estimate": len(estimate.unknown),
        "leftovers": [asdict(it) for it in left],
    }
    say_json(told)


def _facts(it: Expected) -> dict[str, Any]:
    if it.unknown:
        ends: dict[str, Any] = dict.fromkeys(("expected_seconds", "expected_low", "expected_high"))
    else:
        ends = {f"expected_{end}": round(getattr(it, end), 1) for end in ("seconds", "low", "high")}
    return {**ends, "expected_rows": it.rows, "expected_unknown": it.unknown or None}


def _print_table(graph: graphs.Graph, expected: Mapping[str, Expected], estimate: Estimate) -> None:
    if not graph.changed():
        say(f"{counted_as(len(graph.stages), 'stage')} up to date.")
        say("Nothing to do.")
        return
    rows = [
        {"stage": name, "plan": stage.state, "why": stage.why, "expected": _cell(stage, expected[name])}
        for name, stage in graph.stages.items()
        if stage.state != "up to date"
    ]
    say_table(rows, right=("expected",), colours={"plan": COLOURS})
    states = [stage.state for stage in graph.stages.values()]
    counts = [f"{states.count(state)} {_WORDS[state]}" for state in _WORDS if state in states]
    say(f"Of {counted_as(len(states), 'stage')} {', '.join(counts)}.")
    if estimate.unknown and not estimate.known:
        say("Expected: unknown.")
    elif estimate.known:
        more = f", and {len(estimate.unknown)} of unknown time" if estimate.unknown else ""
        say(
            f"Expected: {estimate.whole} one after the other, {estimate.clock} with --jobs {estimate.jobs}{more}."
        )
    reasons: dict[str, list[str]] = {}
    for name in estimate.unknown:
        reasons.setdefault(expected[name].unknown, []).append(name)
    for reason, names in reasons.items():
        more = f" and {len(names) - graphs.SHOWN} more" if len(names) > graphs.SHOWN else ""
        say(f"Unknown time: {', '.join(names[: graphs.SHOWN])}{more}: {reason}.")


def _cell(stage: graphs.Stage, it: Expected) -> str:
    if it.unknown:
        return "unknown" if stage.state in AHEAD else ""
    return str(it)


_WORDS: dict[graphs.State, str] = {
    "up to date": "are up to date",
    "would run": "would run",
    "follows": "follow (they may turn out to be unchanged)",
    "would be restored": "would be restored from the cache",
    "would be recorded": "would be recorded as they are",
    "would fail": "would fail",
}
