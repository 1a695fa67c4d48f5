"""The commands plan and clean: what a rebuild would do, and what removed items left."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from nightjar.core.display import counted_as, duration
from pipelines.commands.console import say, say_json, say_table
from pipelines.commands.options import as_json_option, printed
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
@as_json_option
def plan(stages: tuple[str, ...], profile: str | None, as_json: bool) -> None:
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

        found = plan_profile.found(profile, stages)
        (say_json if as_json else plan_profile.show)(found)
        return
    whole = graphs.read()
    graph = whole.only(stages)
    left = leftovers.find(whole, graph)
    wanted: list[Need] = []
    if graph.changed():
        from pipelines.run import preflight  # here, not above: it takes long to load

        preflight.check(graph)
        wanted = lacking(whole, graph)
    if as_json:
        _print_json(graph, left, wanted)
        return
    _print_table(graph)
    if wanted:
        from pipelines.commands.plan_profile import show_missing

        show_missing(wanted)
    for it in left:
        say(str(it))


def lacking(whole: Graph, graph: Graph) -> list[Need]:
    """The sources that stages of `graph`, a part of `whole`, need, and that are missing or incomplete."""
    from nightjar.core.config import PARAMS_FILE, read_optional  # here, not above: they take long to load
    from pipelines.fetch.needs import of_graph

    values = read_optional(graph.root / PARAMS_FILE)
    return [one for one in of_graph(whole, graph, values) if one.absent]


def _ahead(graph: Graph, seconds: Mapping[str, float]) -> tuple[list[float], int]:
    """The expected seconds of the stages that take time, where they are known, and the number of the others."""
    names = [name for name, stage in graph.stages.items() if stage.state in AHEAD]
    known = [seconds[name] for name in names if name in seconds]
    return known, len(names) - len(known)


def _print_json(graph: Graph, left: Sequence[leftovers.Leftover], wanted: Sequence[Need]) -> None:
    seconds = history.expected(graph.root)
    known, unknown = _ahead(graph, seconds)
    rows = [
        {
            "stage": name,
            "state": stage.state,
            "why": [reason.as_json() for reason in stage.reasons],
            "expected_seconds": round(seconds[name], 1) if name in seconds else None,
        }
        for name, stage in graph.stages.items()
    ]
    leftover = [asdict(it) for it in left]
    found: dict[str, list[dict[str, str]]] = {"missing": [], "incomplete": []}
    for one in wanted:
        found[one.state].append({"source": one.source, "key": one.key, "fix": one.fix})
    totals = {"seconds": round(sum(known), 1), "without_estimate": unknown}
    say_json({"stages": rows, **totals, "leftovers": leftover, **found})


def _print_table(graph: Graph) -> None:
    if not graph.changed():
        say(f"{counted_as(len(graph.stages), 'stage')} up to date.")
        say("Nothing to do.")
        return
    seconds = history.expected(graph.root)
    rows = [
        {"stage": name, "plan": stage.state, "why": stage.why, "expected": _cell(stage, seconds.get(name))}
        for name, stage in graph.stages.items()
        if stage.state != "up to date"
    ]
    say_table(rows, right=("expected",))
    states = [stage.state for stage in graph.stages.values()]
    counts = [f"{states.count(state)} {_WORDS[state]}" for state in _WORDS if state in states]
    say(f"Of {counted_as(len(states), 'stage')} {', '.join(counts)}.")
    known, unknown = _ahead(graph, seconds)
    if known:
        more = f", and {counted_as(unknown, 'stage')} of unknown time" if unknown else ""
        say(f"Expected: {duration(sum(known))} one after the other{more}.")
    elif unknown:
        say("Expected: unknown.")


def _cell(stage: Stage, seconds: float | None) -> str:
    if stage.state not in AHEAD:
        return ""
    return "unknown" if seconds is None else duration(seconds)


def _print_clean(found: dict[str, Any]) -> None:
    done = "removed" if found["removed"] else "would be removed"
    for path, size in found["paths"].items():
        say(f"{path}: {size / 1e6:,.1f} MB, {done}")
    if entries := found["entries"]:
        listed = ", ".join(entries)
        say(f"dvc.lock: {len(entries)} entr{'y' if len(entries) == 1 else 'ies'} {done}: {listed}")
    for path in found["unknown"]:
        say(f"{path}: kept, dvc.lock does not say who made it; to remove it: rm -r {shlex.quote(path)}")
    if not found["paths"] and not entries:
        say("Nothing to remove: every entry of dvc.lock belongs to a stage.")
    elif not found["removed"]:
        say("Nothing was removed. To remove it: nightjar clean --remove")


@click.command()
@click.option("--remove", is_flag=True, help="Remove what is listed.")
@printed(_print_clean)
def clean(remove: bool) -> dict[str, Any]:
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
        found = leftovers.remains(graph)
        if remove:
            leftovers.clean(graph, found)
    return {**asdict(found), "removed": remove}
