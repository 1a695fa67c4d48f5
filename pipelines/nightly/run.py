"""A nightly: evaluate every benchmark again, append to the ledger, give a verdict.

    python -P -m pipelines.nightly.run REQUEST     as a run of `nightjar serve` starts it; REQUEST is JSON

Model and data are checked out as dvc.lock has them, into a clone of the project in .nightjar/nightly. There the stages
that predict and evaluate run, whatever DVC knows of them. Only the ledger changes, no other file of the project and
nothing in its DVC cache. The verdicts come from verdicts.py.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from nightjar.core import display, json_text
from nightjar.core.config import PARAMS_FILE
from nightjar.core.driver_params import Nightly, load_nightly
from nightjar.core.errors import NightjarError
from pipelines.clone.baseline import baseline
from pipelines.execution.journal import Journal
from pipelines.execution.results import End, Listener, ending
from pipelines.execution.run_stage import LOGS
from pipelines.graph import graph as graphs
from pipelines.history import entry as ledger_entry
from pipelines.history import ledger as ledgers
from pipelines.nightly import facts as nightly_facts
from pipelines.nightly import stamp
from pipelines.nightly import text as nightly_text
from pipelines.nightly import verdicts as nightly_verdicts
from pipelines.nightly.stages import Broken, Night, Scratch, Stopped, conduct, selected, take
from pipelines.nightly.verdicts import Good
from pipelines.process import lock
from pipelines.process.signals import at_signals
from pipelines.project import places
from pipelines.project.notify import notify

KIND = "nightly"

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Asked:
    """What a night is asked for. With `pull`, what is missing comes from the DVC remote. At most `jobs` stages run at
    once. With `wait`, a rebuild that runs is waited for. With `accept`, later nights are compared with this one even
    if it is worse.
    """

    pull: bool
    jobs: int
    wait: bool
    accept: bool


@dataclass
class Outcome:
    """What a night found: the ledger's facts and verdicts; no facts if it was stopped."""

    facts: dict[str, Any] | None = None
    verdicts: Rows = field(default_factory=list)
    # Why the entry is not in the ledger, and where it is.
    aside: NightjarError | None = None
    # What was skipped on the way, such as an old entry that cannot be read.
    warnings: list[str] = field(default_factory=list)


def serve(request: dict[str, Any]) -> None:
    """Run what a run of a deployment asks for, until its end or SIGTERM."""
    root = Path.cwd()
    journal = Journal(root, KIND, request, request["name"])
    stop = threading.Event()
    # One that nobody watches waits for a rebuild, and for no other nightly.
    asked = Asked(request["pull"], request["jobs"], True, request["accept"])

    def failed(message: str) -> None:
        notify(root, {"kind": "nightly failed", "run": journal.name, "message": message})

    def run() -> End:
        with lock.locked(root, places.NIGHTLY_LOCK, "a nightly", False, stop, lock.WAIT_SERVED):
            due = request["due"] and datetime.fromisoformat(request["due"])
            if due and (made_up := stamp.made_up_for(root, due)):
                return End("skipped", made_up)
            return nightly(root, asked, journal, stop)[0]

    with at_signals(stop.set):
        journal.end(ending(run, failed))


def nightly(
    root: Path, asked: Asked, journal: Journal, stop: threading.Event, *shown: Listener
) -> tuple[End, Outcome]:
    """Evaluate every benchmark again with the current model and data, append to the ledger, and give a verdict.

    To be called under the nightly's lock. The end is completed if no score is worse than in the last good run. Raises
    NightjarError for an error in what it is given.
    """
    outcome = Outcome()
    with _attempt(root, journal.name):
        try:
            return _whole(root, outcome, asked, journal, stop, shown), outcome
        except lock.WaitStopped:
            return End("cancelled", "stopped while it waited"), outcome


@contextlib.contextmanager
def _attempt(root: Path, name: str) -> Iterator[None]:
    """Record that a nightly begins and ends; notify of one before it that never ended."""
    before = stamp.last(root)
    stamp.begin(root, name)
    if before is not None and before.ended is None:
        message = f"the nightly {before.run}, begun {before.began:%Y-%m-%d %H:%M} UTC, was killed"
        notify(root, {"kind": "nightly crashed", "run": before.run, "message": message})
    try:
        yield
    finally:
        stamp.end(root)


def _whole(
    root: Path,
    outcome: Outcome,
    asked: Asked,
    journal: Journal,
    stop: threading.Event,
    shown: tuple[Listener, ...],
) -> End:
    settings = load_nightly(root / PARAMS_FILE)
    whole = graphs.read(root)
    graph = selected(whole, settings.stages)
    started = datetime.now(UTC)
    run = f"{started:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}"
    with contextlib.ExitStack() as stack:
        with lock.rebuild_lock(root, asked.wait, stop):  # dvc.lock as it is between rebuilds
            good = _ready(root, settings, outcome, journal)
            scratch = stack.enter_context(Scratch(root, baseline(root)))
        if not (scratch.path / "dvc.yaml").is_file():
            raise NightjarError("not in Git", root / "dvc.yaml", "commit it: the nightly works in a clone")
        night = Night(graph, whole, scratch.path, root / LOGS / journal.name, stop, journal, shown)
        journal.graph(graph)
        facts = nightly_facts.at_start(scratch.path, scratch.start)
        facts |= {"run": run, "started": started, "accepted": asked.accept, "against": None, "stages": {}}
        scored = Scored([], [], [])
        try:
            take(night, asked.pull)
            conduct(night, asked.jobs)
            scored = _conclude(night, settings, facts, good, asked.accept)
        except Stopped:
            return End("cancelled", "stopped; nothing was added to the ledger")
        except Broken as error:
            facts |= {"state": "failed", "message": str(error), "accepted": False}
        facts["ended"] = datetime.now(UTC)
        outcome.aside = ledgers.append_or_aside(root, root / settings.ledger, facts, *scored)
        outcome.facts, outcome.verdicts = facts, scored.verdicts
        # Before the clone is removed, which may fail.
        return _report(root, outcome, facts, journal)


def _ready(root: Path, settings: Nightly, outcome: Outcome, journal: Journal) -> Good | None:
    """Make sure that the ledger can be written, add entries that could not be added before, and read the last good one.

    It is read now, for at the end of the night the ledger may be away. Raises NightjarError.
    """
    ledger = root / settings.ledger
    ledgers.prepare(ledger)
    try:
        for run in ledgers.recover(root / ledgers.ASIDE, ledger, outcome.warnings.append):
            journal.log(f"added {run} to the ledger, from {ledgers.ASIDE}")
    except (NightjarError, OSError) as error:  # what is aside stays there
        outcome.warnings.append(f"{ledgers.ASIDE} was not added to the ledger: {error}")
    facts = ledgers.last_good(ledger, outcome.warnings.append)
    return Good(facts, ledgers.read(facts, "instances.parquet").to_pylist()) if facts else None


class Scored(NamedTuple):
    """The rows of a night: of LEDGER_SCORES, LEDGER_INSTANCES and LEDGER_VERDICTS."""

    means: Rows
    instances: Rows
    verdicts: Rows


def _conclude(
    night: Night, settings: Nightly, facts: dict[str, Any], good: Good | None, accept: bool
) -> Scored:
    """Complete the facts, and give the verdicts. Raises Broken if there are no scores, or they cannot be read."""
    stages = list(night.graph.stages.values())
    try:
        means, instances, benchmarks = nightly_facts.scores(night.work, stages)
        ledger_entry.check_rows(means, instances)
        facts["stages"] = nightly_facts.stage_facts(night.work, stages, benchmarks)
    except NightjarError as error:
        raise Broken(str(error)) from error
    if not instances:
        raise Broken("no stage made a table instance_scores")
    facts["versions"] |= nightly_facts.stage_versions(night.work, stages)
    try:
        verdicts = nightly_verdicts.verdicts(settings, facts, instances, good)
    except NightjarError as error:
        raise Broken(str(error)) from error
    worse = any(row["verdict"] == "worse" for row in verdicts)
    message = nightly_text.message(verdicts, good and good.facts)
    facts |= {
        "state": "worse" if worse and not accept else "good",
        "message": f"accepted: {message}" if accept else message,
        "against": good.facts["run"] if good else None,
    }
    return Scored(means, instances, verdicts)


def _report(root: Path, outcome: Outcome, facts: dict[str, Any], journal: Journal) -> End:
    """Notify if something is wrong, add the artifacts, and return how the night ended."""
    for line in outcome.warnings:
        journal.log(f"ledger: {line}", "warning")
    message = "; ".join(filter(None, [facts["message"], str(outcome.aside or "")]))
    well = facts["state"] == "good" and outcome.aside is None
    if not well:
        kind = "failed" if facts["state"] == "good" else facts["state"]
        event = {"kind": f"nightly {kind}", "run": facts["run"], "ended": facts["ended"].isoformat()}
        cells = [row for row in outcome.verdicts if row["verdict"] == "worse"]
        notify(root, event | {"message": message, "worse": cells})
    markdown = nightly_text.markdown(facts, outcome.verdicts)
    journal.artifact("markdown", KIND, markdown, facts["message"][:500])
    journal.artifact("scores")
    return End("completed" if well else "failed", message)


if __name__ == "__main__":
    display.protect()
    serve(json_text.parse(sys.argv[1]))
