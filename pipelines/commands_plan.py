"""The command `plan`: what a rebuild would do, why, and how long it would take."""

from __future__ import annotations

from dataclasses import dataclass

import click

from pipelines import graph as graphs
from pipelines.printing import say, say_json, say_table
from stages import history

COLOURS = {"would run": "green", "would be restored": "cyan", "would fail": "bold red", "follows": "yellow"}


@dataclass(frozen=True)
class Estimate:
    """Expected seconds, of the stages that would run or may have to: one after the other, and by the clock with `jobs`
    at once. `known` counts those of which a time is known, `unknown` the others, which are in neither.
    """

    seconds: float
    clock: float
    jobs: int
    known: int
    unknown: int


@click.command()
@click.argument("stages", nargs=-1)
@click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1, 64),
    show_default="rebuild.jobs of params.yaml, else 2",
    help="Stages at once, for the expected time.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(stages: tuple[str, ...], jobs: int | None, as_json: bool) -> None:
    """What would become of STAGES and what they need, or of all: why, and how long it takes.

    Looks only; runs nothing. "follows": a stage before it would run, and it may then turn out to be unchanged, or be
    restored. Times are medians of the last good runs here.

    \b
    Example:
      nightjar plan
      nightjar plan --jobs 4 --json
    """
    graph = graphs.read().only(stages)
    expected = history.expected(graph.root)
    estimate = _estimate(graph, expected, jobs)
    if as_json:
        _print_json(graph, expected, estimate)
    else:
        _print_table(graph, expected, estimate)


def _estimate(graph: graphs.Graph, expected: dict[str, float], jobs: int | None) -> Estimate | None:
    """None if no stage would run. Raises NightjarError for settings that a rebuild would refuse."""
    if not graph.changed():
        return None
    # Here, not above: with nothing to do the settings are not needed, and take long to load.
    from pipelines import preflight, resources, shards
    from pipelines.schedule import simulate
    from stages.config import PARAMS_FILE
    from stages.driver_params import load_rebuild

    settings = load_rebuild(graph.root / PARAMS_FILE)
    needs = resources.needs(graph, settings)
    shards.check(graph)
    preflight.check(graph)
    ahead = [name for name, stage in graph.stages.items() if stage.state in ("would run", "follows")]
    if not ahead:
        return None
    seconds = {name: expected.get(name, 0.0) for name in graph.stages}
    limits = resources.limits(settings, jobs)
    upstream = {name: stage.upstream for name, stage in graph.stages.items()}
    clock = simulate(upstream, seconds, limits, needs, ahead)
    known = sum(name in expected for name in ahead)
    return Estimate(sum(seconds[name] for name in ahead), clock, limits.jobs, known, len(ahead) - known)


def _print_json(graph: graphs.Graph, expected: dict[str, float], estimate: Estimate | None) -> None:
    rows = [
        {
            "stage": name,
            "state": stage.state,
            "why": [reason.as_json() for reason in stage.reasons],
            "expected_seconds": expected.get(name),
        }
        for name, stage in graph.stages.items()
    ]
    whole = {
        "stages": rows,
        "seconds": round(estimate.seconds, 1) if estimate else 0.0,
        "clock_seconds": round(estimate.clock, 1) if estimate else 0.0,
        "jobs": estimate.jobs if estimate else None,
        "without_estimate": estimate.unknown if estimate else 0,
    }
    say_json(whole)


def _print_table(graph: graphs.Graph, expected: dict[str, float], estimate: Estimate | None) -> None:
    if graph.changed():
        rows = [
            {
                "stage": name,
                "plan": stage.state,
                "why": stage.why,
                "expected": f"{expected[name]:.1f} s" if name in expected else "",
            }
            for name, stage in graph.stages.items()
        ]
        say_table(rows, right=("expected",), colours={"plan": COLOURS})
    else:
        say(f"{len(graph.stages)} stages are up to date.")
        say("Nothing to do.")
        return
    states = [stage.state for stage in graph.stages.values()]
    counts = [f"{states.count(state)} {_WORDS[state]}" for state in _WORDS if state in states]
    say(f"Of {len(states)} stages {', '.join(counts)}.")
    if estimate is not None and not estimate.known:
        say("Expected: no time is known yet.")
    elif estimate is not None:
        unknown = f", beside {estimate.unknown} of which no time is known" if estimate.unknown else ""
        say(
            f"Expected: {estimate.seconds:.0f} s one after the other, "
            f"{estimate.clock:.0f} s with --jobs {estimate.jobs}{unknown}."
        )


_WORDS: dict[graphs.State, str] = {
    "up to date": "are up to date",
    "would run": "would run",
    "follows": "follow (they may turn out to be unchanged)",
    "would be restored": "would be restored from the cache",
    "would be recorded": "would be recorded as they are",
    "would fail": "would fail",
}
