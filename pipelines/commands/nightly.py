"""The commands of the nightly evaluation: nightly, ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

import click

from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE
from nightjar.core.display import counted_as
from nightjar.core.errors import NightjarError
from nightjar.params.drivers import Nightly
from pipelines.commands import show
from pipelines.commands.console import say, say_table, say_text
from pipelines.commands.flow_run import flow_run
from pipelines.commands.options import FILE, TEXT, CommandResult, as_json_option, printed
from pipelines.graph import repository as graphs
from pipelines.history import ledger as ledgers
from pipelines.nightly import nightly_text
from pipelines.nightly.night import Outcome
from pipelines.nightly.stages import selected
from pipelines.process import lock
from pipelines.process.signals import stopped_by_signals
from pipelines.project.notify import notify, warning
from pipelines.run.results import End

# Of the verdict in the list of runs, in characters.
LONGEST = 160


@click.command()
@click.option("--pull", is_flag=True, help="Fetch missing model and data from the DVC remote.")
@click.option(
    "--jobs", "-j", type=click.IntRange(1, 64), default=2, show_default=True, help="Stages at once."
)
@click.option("--wait", is_flag=True, help="Wait for a nightly or a rebuild that is running already.")
@click.option("--accept", is_flag=True, help="Compare later nights with this one, even if it is worse.")
@click.option("--verbose", "-v", is_flag=True, help="Show every line that the stages write.")
@as_json_option
@stopped_by_signals()
def nightly(pull: bool, jobs: int, wait: bool, accept: bool, verbose: bool, as_json: bool) -> None:
    """Evaluate every benchmark again now, add the scores to the ledger, and say whether one changed.

    The run uses a clone of the project, with model and data as in dvc.lock. The exit status is 1 if a score
    is worse than in the last good run, if a score fell slowly over the last runs, or if a stage failed. The
    settings are `nightly` in params.yaml.

    \b
    Example:
      nightjar nightly
      nightjar nightly --pull --wait
    """
    root = graphs.find_root()
    settings = Nightly.load(root / PARAMS_FILE)
    if line := warning(root):
        say(f"nightjar: nightly: {line}", err=True)
    with lock.rebuild_lock(root, wait):
        pass  # an error now, and not once the night has begun
    with lock.locked(root, paths.NIGHTLY_LOCK, "a nightly", wait):
        try:
            ledgers.prepare(root / settings.ledger)
        except NightjarError as error:
            notify(root, {"kind": "nightly failed", "run": None, "message": str(error)})
            raise
        full_graph, outcome = graphs.read(root), Outcome()
        graph = selected(full_graph, settings.stages)
        with show.Progress(root, graph.stages, verbose, as_json, quiet=True) as progress:

            def ended(run_end: End) -> None:
                progress.close()
                _ended(run_end, outcome, as_json)

            prepared = (full_graph, settings, outcome)
            with flow_run(root, "nightly", progress.update, ended, prepared, as_json) as terminal:
                terminal.flow(pull, jobs, wait, accept, return_state=True)
        if outcome.aside is not None:
            raise outcome.aside
    raise SystemExit(terminal.status)


def _ended(run_end: End, outcome: Outcome, as_json: bool) -> None:
    for line in outcome.warnings:
        _warn(line)
    facts = outcome.facts

    def show(value: dict[str, Any]) -> None:
        _groups(nightly_text.groups(outcome.verdicts))
        where = "is in the ledger" if outcome.aside is None else "is not in the ledger"
        counts = nightly_text.counts(outcome.verdicts, compared=facts["against"] is not None)
        say(f"{facts['run']} {where}: {facts['state']}; {counts}")

    if facts:
        row = {name: facts[name] for name in ("run", "state", "message", "against")}
        benchmarks = nightly_text.benchmarks(outcome.verdicts)
        CommandResult(row | {"benchmarks": benchmarks, "verdicts": outcome.verdicts}, show).say(as_json)
    if outcome.aside is not None:
        say(f"nightjar: nightly: {facts['message']}", err=True)
    elif run_end.state != "completed":
        say(f"nightjar: nightly: {run_end.message}", err=True)


def _warn(line: str) -> None:
    say(f"nightjar: ledger: {line}", err=True)


def _groups(rows_by_title: Mapping[str, Sequence[Mapping[str, str]]]) -> None:
    for title, rows in rows_by_title.items():
        say_table(rows, title, right=nightly_text.NUMBERS)
        say()


def _about(row: Mapping[str, Any]) -> str:
    """Return a run in a few words: what failed, or the benchmarks that are not unchanged."""
    changed = [f"{name} {word}" for name, word in row["benchmarks"].items() if word != "unchanged"]
    words = ", ".join(changed) or "unchanged"
    if row["state"] == "failed":
        words = row["message"]
    elif row["against"] is None:
        words = "first run"
    return shorten(words, LONGEST, placeholder=" …")


def _print_runs(runs: list[dict[str, Any]]) -> None:
    if not runs:
        raise NightjarError("the ledger is empty", Nightly.load().ledger, "`nightjar nightly` adds a run")
    say_table(
        [
            {"run": row["run"], "state": row["state"], "commit": row["commit"][:10]}
            | {"verdict": _about(row)}
            for row in runs
        ]
    )


def _print_damage(result: dict[str, Any]) -> None:
    for line in result["problems"]:
        _warn(line)
    if not result["problems"]:
        say(f"{counted_as(result['runs'], 'run')}, all of them readable.")


def _print_run(facts: dict[str, Any]) -> None:
    say_text(nightly_text.markdown(facts, []).rstrip())
    say()
    if facts["against"]:
        say_table(nightly_text.contents(facts["verdicts"]))
        say()
    if facts["against"] or "benchmark" in facts:
        _groups(nightly_text.groups(facts["verdicts"], facts.get("benchmark")))


def _print_entry(entry: dict[str, Any]) -> None:
    _groups(nightly_text.groups(entry["verdicts"]))
    counts = nightly_text.counts(entry["verdicts"], compared=entry["against"] is not None)
    say(f"{entry['entry']} is in the ledger: {entry['state']}; {counts}")


def _add(source: Path | None, name: str | None, accept: bool) -> CommandResult:
    """Add a run of another harness; returns its name in the ledger, its state and its verdicts."""
    if source is None:
        raise click.UsageError("add needs a run: nightjar ledger add RUN")
    from pipelines.nightly import harness_entry

    facts = harness_entry.add(Path.cwd(), source, name, accept, Nightly.load())
    entry = {"entry": facts["run"]} | {it: facts[it] for it in ("state", "message", "against", "verdicts")}
    return CommandResult(entry, _print_entry, status=int(entry["state"] == "worse"))


@click.command()
@click.argument("run", required=False)
@click.argument("source", required=False, type=FILE)
@click.option("--name", type=TEXT, help="With add: the name of the system; else that of the model.")
@click.option(
    "--accept", is_flag=True, help="With add: compare later runs with this one, even if it is worse."
)
@click.option("--benchmark", metavar="NAME", help="With RUN: all verdicts on this benchmark.")
@click.option("--check", is_flag=True, help="Name every file that is missing or cannot be read.")
@printed()
def ledger(
    run: str | None,
    source: Path | None,
    name: str | None,
    accept: bool,
    benchmark: str | None,
    check: bool,
) -> CommandResult:
    """The nightly runs; with RUN (its name, the end of it, or `last`) how many of its scores changed, and which.

    The ledger is the folder `nightly.ledger` of params.yaml. Its entries are never rewritten. The exit
    status is 1 if --check finds damage.

    `ledger add RUN` adds a run of another harness (docs/harnesses.md), compares it with the last good one of
    the same tasks and system, and ends with 1 if a score is worse.

    \b
    Example:
      nightjar ledger
      nightjar ledger last
      nightjar ledger last --benchmark supernatinst
      nightjar ledger --check
      nightjar ledger add results/mine --name nightly_model
    """
    if run == "add" and not (benchmark or check):
        return _add(source, name, accept)
    if source is not None or name is not None or accept:
        raise click.UsageError("a path, --name and --accept go with add: nightjar ledger add RUN")
    if (run is not None and check) or (benchmark is not None and run is None):
        raise click.UsageError("RUN and --check exclude one another; --benchmark goes with RUN")
    folder = Path.cwd() / Nightly.load().ledger
    if check:
        runs, damage = ledgers.check(folder)
        return CommandResult({"runs": runs, "problems": damage}, _print_damage, status=int(bool(damage)))
    if run is None:
        return CommandResult(_list(folder), _print_runs)
    result = _entry(ledgers.find(folder, run, _warn))
    if benchmark is not None and benchmark not in result["benchmarks"]:
        names = ", ".join(result["benchmarks"]) or "none"
        raise NightjarError("the run has no such benchmark", benchmark, f"it has: {names}")
    return CommandResult(result | ({"benchmark": benchmark} if benchmark else {}), _print_run)


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    verdicts = ledgers.read(entry, "verdicts.parquet").to_pylist()
    scores = [row for row in ledgers.read(entry, "scores.parquet").to_pylist() if row["level"] == "overall"]
    facts = {name: value for name, value in entry.items() if name != "path"}
    return facts | {"benchmarks": nightly_text.benchmarks(verdicts), "verdicts": verdicts, "scores": scores}


def _list(folder: Path) -> list[dict[str, Any]]:
    rows = []
    for entry in ledgers.entries(folder, _warn):
        try:
            verdicts = ledgers.read(entry, "verdicts.parquet").to_pylist()
        except NightjarError as error:
            _warn(f"{entry['run']}: no verdicts: {error}")
            verdicts = []
        names = ("run", "started", "ended", "state", "accepted", "against", "commit", "message")
        rows.append({name: entry[name] for name in names} | {"benchmarks": nightly_text.benchmarks(verdicts)})
    return rows
