"""The commands of the nightly evaluation: nightly, ledger."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nightjar.core.config import PARAMS_FILE
from nightjar.core.driver_params import load_nightly
from nightjar.core.errors import NightjarError
from pipelines.commands.console import say, say_json, say_table, say_text
from pipelines.graph.graph import Graph
from pipelines.history import ledger as ledgers
from pipelines.process import lock
from pipelines.process.signals import at_signals, stopped_by_signals
from pipelines.project import places
from pipelines.project.notify import notify, warning

if TYPE_CHECKING:
    from pipelines.nightly.run import Outcome


@click.command()
@click.option("--pull", is_flag=True, help="Take model and data from the DVC remote where they are missing.")
@click.option(
    "--jobs", "-j", type=click.IntRange(1, 64), default=2, show_default=True, help="Stages at once."
)
@click.option("--wait", is_flag=True, help="Wait for a nightly or a rebuild that is running already.")
@click.option("--accept", is_flag=True, help="Compare later nights with this one, even if it is worse.")
@click.option("--verbose", "-v", is_flag=True, help="Show every line that the stages write.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON, the progress as errors.")
@stopped_by_signals()
def nightly(pull: bool, jobs: int, wait: bool, accept: bool, verbose: bool, as_json: bool) -> None:
    """Evaluate every benchmark afresh now, add the scores to the ledger, and say whether one moved.

    Works on a copy of the project as it stands: model and data as dvc.lock has them. Exit status 1 if a score is worse
    than in the last good run, or if a stage failed. Settings: the group `nightly` of params.yaml.

    \b
    Example:
      nightjar nightly
      nightjar nightly --pull --wait
    """
    from pipelines.graph import graph as graphs

    graph = graphs.read()
    load_nightly(graph.root / PARAMS_FILE)
    if told := warning(graph.root):
        say(f"nightjar: nightly: {told}", err=True)
    with lock.locked(graph.root, places.NIGHTLY_LOCK, "a nightly", wait):
        with lock.rebuild_lock(graph.root, wait):
            pass  # an error now, and not once the night has begun
        _prepare(graph.root)
        code = _run(graph, pull, jobs, wait, accept, verbose, as_json)
    raise SystemExit(code)


def _prepare(root: Path) -> None:
    """Raise NightjarError, and leave a line in the notifications, if the ledger cannot be written."""
    try:
        ledgers.prepare(root / load_nightly(root / PARAMS_FILE).ledger)
    except NightjarError as error:
        notify(root, {"kind": "nightly failed", "run": None, "message": str(error)})
        raise


def _run(graph: Graph, pull: bool, jobs: int, wait: bool, accept: bool, verbose: bool, as_json: bool) -> int:
    """Run the night and show it; returns the exit status."""
    from pipelines.commands import show
    from pipelines.commands.watched import STATUS, watched
    from pipelines.execution.journal import Journal
    from pipelines.nightly import run
    from pipelines.nightly.stages import selected

    graph = selected(graph, load_nightly(graph.root / PARAMS_FILE).stages)
    stop, asked = threading.Event(), run.Asked(pull, jobs, wait, accept)
    journal = Journal(graph.root, run.KIND, asdict(asked))
    with at_signals(stop.set), watched(journal, stop, as_json):
        with show.Progress(graph, verbose, stderr=as_json) as progress:
            end, outcome = run.nightly(graph.root, asked, journal, stop, progress.tell)
        journal.end(end)
        for line in outcome.warnings:
            _warn(line)
        if outcome.facts is not None:
            _show(outcome, as_json)
    if outcome.aside is not None:
        say(f"nightjar: nightly: {(outcome.facts or {})['message']}", err=True)
        raise outcome.aside
    if end.state != "completed":
        say(f"nightjar: nightly: {end.message}", err=True)
    return STATUS[end.state]


def _show(outcome: Outcome, as_json: bool) -> None:
    from pipelines.nightly import text

    assert outcome.facts is not None
    facts = {name: outcome.facts[name] for name in ("run", "state", "message", "against")}
    if as_json:
        say_json(facts | {"benchmarks": text.benchmarks(outcome.verdicts), "verdicts": outcome.verdicts})
        return
    _table(outcome.verdicts)
    where = "is in the ledger" if outcome.aside is None else "is not in the ledger"
    say(f"{facts['run']} {where}: {facts['state']}")
    if outcome.aside is None and facts["state"] == "good":
        say(facts["message"])


@click.command()
@click.argument("run", required=False)
@click.option("--check", is_flag=True, help="Name every file that is no longer as it was written.")
@click.option("--recover", is_flag=True, help="Add the entries that could not be added before.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def ledger(run: str | None, check: bool, recover: bool, as_json: bool) -> None:
    """The nightly runs and their verdicts; with RUN (its name, the end of it, or `last`) that run's scores.

    The ledger is the folder `nightly.ledger` of params.yaml, and is never rewritten. Exit status 1 if --check finds
    damage.

    \b
    Example:
      nightjar ledger
      nightjar ledger last
      nightjar ledger --check
    """
    if sum((run is not None, check, recover)) > 1:
        raise click.UsageError("RUN, --check and --recover exclude one another")
    folder = Path.cwd() / load_nightly().ledger
    if recover:
        _recover(folder, as_json)
    elif check:
        _check(folder, as_json)
    elif run is not None:
        _one(ledgers.find(folder, run, _warn), as_json)
    else:
        _list(folder, as_json)


def _warn(line: str) -> None:
    say(f"nightjar: ledger: {line}", err=True)


def _recover(folder: Path, as_json: bool) -> None:
    ledgers.prepare(folder)
    added = ledgers.recover(Path.cwd() / ledgers.ASIDE, folder, _warn)
    if as_json:
        say_json({"added": added})
    else:
        say(f"Added {', '.join(added)}." if added else f"No entries in {ledgers.ASIDE}.")


def _check(folder: Path, as_json: bool) -> None:
    found = ledgers.check(folder)
    if as_json:
        told = {"runs": found.runs, "problems": found.damage, "uncovered": found.uncovered}
        say_json(told)
    else:
        if not found.damage:
            say(f"{found.runs} runs, all as they were written.")
        if old := found.uncovered:
            some = old[0] if len(old) == 1 else f"{old[0]} to {old[-1]}"
            what = "run.parquet has no hash and cannot be checked"
            say(f"Not covered: of {len(old)} runs of an earlier version ({some}), {what}.")
        for line in found.damage:
            _warn(line)
    if found.damage:
        raise SystemExit(1)


def _one(entry: Mapping[str, Any], as_json: bool) -> None:
    from pipelines.nightly import text

    verdicts = ledgers.read(entry, "verdicts.parquet").to_pylist()
    scores = [row for row in ledgers.read(entry, "scores.parquet").to_pylist() if row["level"] == "overall"]
    if as_json:
        facts = {name: value for name, value in entry.items() if name != "path"}
        told = {"benchmarks": text.benchmarks(verdicts), "verdicts": verdicts, "scores": scores}
        say_json(facts | told)
        return
    say_text(text.markdown(entry, []).rstrip())
    _table(verdicts)


def _list(folder: Path, as_json: bool) -> None:
    from pipelines.nightly import text

    aside = Path.cwd() / ledgers.ASIDE
    if aside.resolve() != folder.resolve() and (waiting := ledgers.entries(aside, _warn)):
        _warn(
            f"{len(waiting)} runs are in {ledgers.ASIDE}, not in the ledger: `nightjar ledger --recover` adds them"
        )
    rows = []
    for entry in ledgers.entries(folder, _warn):
        try:
            verdicts = ledgers.read(entry, "verdicts.parquet").to_pylist()
        except NightjarError as error:
            _warn(f"{entry['run']}: no verdicts: {error}")
            verdicts = []
        names = ("run", "started", "ended", "state", "accepted", "against", "commit", "message")
        told = {name: entry[name] for name in names}
        rows.append(told | {"benchmarks": text.benchmarks(verdicts)})
    if as_json:
        say_json(rows)
    elif not rows:
        raise NightjarError("the ledger is empty", folder, "`nightjar nightly` adds a run")
    else:
        short = ("run", "state", "commit", "message")
        say_table(
            [{name: str(row[name])[: 10 if name == "commit" else None] for name in short} for row in rows],
            width=200,
        )


def _table(verdicts: Sequence[Mapping[str, Any]]) -> None:
    from pipelines.nightly import text

    say_table([{"benchmark": row["benchmark"], **text.cell_texts(row)} for row in verdicts], width=200)
