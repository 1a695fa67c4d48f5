"""The commands plan and clean: what a rebuild would do, and what removed items left."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from nightjar.core.display import counted_as, duration
from pipelines.commands.console import say, say_table
from pipelines.commands.options import CommandResult, printed
from pipelines.graph import leftovers
from pipelines.graph import repository as graphs
from pipelines.graph.graph import Graph, Stage, State
from pipelines.process.lock import rebuild_lock
from stages._runtime import history

if TYPE_CHECKING:
    from pipelines.fetch.needs import Need

# Stages in these states take time.
AHEAD: tuple[State, ...] = ("would run", "follows")
_WORDS: dict[State, str] = {
    "up to date": "are up to date",
    "would run": "would run",
    "follows": "follow (they may turn out to be unchanged)",
    "would be restored": "would be restored from the cache",
    "would be recorded": "would be recorded as they are",
    "would fail": "would fail",
    "would be skipped": "would be skipped",
}


@click.command()
@click.argument("stages", nargs=-1)
@click.option(
    "--profile", help="Plan a profile from an empty project, and list the data and weights that it needs."
)
@printed()
def plan(stages: tuple[str, ...], profile: str | None) -> CommandResult:
    """Show what `nightjar rebuild` would run and why, and how long that takes.

    STAGES are planned with the stages that they need; without STAGES, all are. The command changes nothing.
    Stages that are up to date are counted; --json lists them too. "follows" means that an earlier stage
    would run. The stage may then be unchanged, restored or run. The expected time of a stage is the median
    of its last good runs on this machine with a similar number of rows.

    \b
    Example:
      nightjar plan
      nightjar plan --json evaluate@supernatinst
      nightjar plan --profile paper
    """
    if profile is not None:
        from pipelines.commands import plan_profile  # here, not above: it takes long to load

        return CommandResult(plan_profile.plan_of_profile(profile, stages), plan_profile.show)
    full_graph = graphs.read()
    graph = full_graph.only(stages)
    leftover = leftovers.find(full_graph, graph)
    absent: list[Need] = []
    if graph.changed():
        from pipelines.run import preflight  # here, not above: it takes long to load

        preflight.check(graph)
        absent = lacking(full_graph, graph)
    seconds = history.expected(graph.root)

    def show(facts: dict[str, Any]) -> None:
        _print_table(graph, seconds)
        if absent:
            from pipelines.commands.plan_profile import show_missing

            show_missing(absent)
        for remnant in leftover:
            say(str(remnant))

    return CommandResult(_facts(graph, seconds, leftover, absent), show)


def lacking(full_graph: Graph, graph: Graph) -> list[Need]:
    """The sources that stages of `graph`, a part of `full_graph`, need, and that are missing or incomplete."""
    from nightjar.core.config import PARAMS_FILE, read_optional  # here, not above: they take long to load
    from pipelines.fetch.needs import of_graph

    values = read_optional(graph.root / PARAMS_FILE)
    return [one for one in of_graph(full_graph, graph, values) if one.absent]


def _ahead(graph: Graph, seconds: Mapping[str, float]) -> tuple[list[float], int]:
    """The expected seconds of the stages that take time, where they are known, and the number of the others."""
    names = [name for name, stage in graph.stages.items() if stage.state in AHEAD]
    estimates = [seconds[name] for name in names if name in seconds]
    return estimates, len(names) - len(estimates)


def _facts(
    graph: Graph, seconds: Mapping[str, float], leftover: Sequence[leftovers.Leftover], absent: Sequence[Need]
) -> dict[str, Any]:
    estimates, unknown = _ahead(graph, seconds)
    rows = [
        {
            "stage": name,
            "state": stage.state,
            "why": [reason.as_json() for reason in stage.reasons],
            "expected_seconds": round(seconds[name], 1) if name in seconds else None,
        }
        for name, stage in graph.stages.items()
    ]
    needs_by_state: dict[str, list[dict[str, str]]] = {"missing": [], "incomplete": []}
    for need in absent:
        needs_by_state[need.state].append({"source": need.source, "key": need.key, "fix": need.fix})
    totals = {"seconds": round(sum(estimates), 1), "without_estimate": unknown}
    return {"stages": rows, **totals, "leftovers": [asdict(it) for it in leftover], **needs_by_state}


def _print_table(graph: Graph, seconds: Mapping[str, float]) -> None:
    if not graph.changed():
        say(f"{counted_as(len(graph.stages), 'stage')} up to date.")
        say("Nothing to do.")
        return
    rows = [
        {"stage": name, "plan": stage.state, "why": stage.why, "expected": _cell(stage, seconds.get(name))}
        for name, stage in graph.stages.items()
        if stage.state != "up to date"
    ]
    say_table(rows, right=("expected",))
    states = [stage.state for stage in graph.stages.values()]
    counts = [f"{states.count(state)} {_WORDS[state]}" for state in _WORDS if state in states]
    say(f"Of {counted_as(len(states), 'stage')} {', '.join(counts)}.")
    estimates, unknown = _ahead(graph, seconds)
    if estimates:
        more = f", and {counted_as(unknown, 'stage')} of unknown time" if unknown else ""
        say(f"Expected: {duration(sum(estimates))} one after the other{more}.")
    elif unknown:
        say("Expected: unknown.")


def _cell(stage: Stage, seconds: float | None) -> str:
    if stage.state not in AHEAD:
        return ""
    return "unknown" if seconds is None else duration(seconds)


def _print_clean(remains: dict[str, Any]) -> None:
    done = "removed" if remains["removed"] else "would be removed"
    for path, size in remains["paths"].items():
        say(f"{path}: {size / 1e6:,.1f} MB, {done}")
    if entries := remains["entries"]:
        listed = ", ".join(entries)
        say(f"dvc.lock: {len(entries)} entr{'y' if len(entries) == 1 else 'ies'} {done}: {listed}")
    for path in remains["unknown"]:
        say(f"{path}: kept, dvc.lock does not say who made it; to remove it: rm -r {shlex.quote(path)}")
    if not remains["paths"] and not entries:
        say("Nothing to remove: every entry of dvc.lock belongs to a stage.")
    elif not remains["removed"]:
        say("Nothing was removed. To remove it: nightjar clean --remove")


@click.command()
@click.option("--remove", is_flag=True, help="Remove what is listed.")
@printed()
def clean(remove: bool) -> CommandResult:
    """List the outputs and the entries of dvc.lock that no stage has any more, with their size; remove them.

    Such outputs remain when an item, such as a recipe or a system, is removed from params.yaml, and when a
    profile replaces another. Files that Git tracks and inputs of stages are never listed. The versions in
    DVC's cache are kept: a stage that comes back is restored from there.

    \b
    Example:
      nightjar clean
      nightjar clean --remove
    """
    root = graphs.find_root()
    with rebuild_lock(root):
        graph = graphs.outline(root)
        remains = leftovers.remains(graph)
        if remove:
            leftovers.clean(graph, remains)
    return CommandResult({**asdict(remains), "removed": remove}, _print_clean)
