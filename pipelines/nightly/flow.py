"""The Prefect flow `nightly`: evaluate every benchmark again, append to the ledger, give a verdict.

Model and data are checked out as dvc.lock has them, into a clone of the project in .nightjar/nightly. There the stages
that predict and evaluate run, whatever DVC knows of them. Only the ledger changes, no other file of the project and
nothing in its DVC cache. The verdicts come from nightly_verdicts.py. Import this module only where Prefect is installed
and its server is chosen (see server.use).
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.runtime import flow_run
from prefect.states import Cancelled, Completed, Failed, State
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from nightjar.core.config import PARAMS_FILE
from nightjar.core.driver_params import Nightly, load_nightly
from nightjar.core.errors import NightjarError
from pipelines.clone.baseline import baseline
from pipelines.execution.results import Listeners
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
from pipelines.prefect_view import artifacts, record, runs, watch
from pipelines.prefect_view import server as servers
from pipelines.process import lock
from pipelines.project.notify import notify

Rows = list[dict[str, Any]]


@dataclass
class Outcome:
    """The outcome of a night: the ledger's facts and verdicts, or an error in what it was given."""

    facts: dict[str, Any] | None = None
    verdicts: Rows = field(default_factory=list)
    error: NightjarError | None = None
    # Why the entry is not in the ledger, and where it is.
    aside: NightjarError | None = None
    # What was skipped on the way, such as an old entry that cannot be read.
    warnings: list[str] = field(default_factory=list)
    # In which the run and its tasks ended, whether or not Prefect's server knows.
    state: State[Any] | None = None
    ended: list[record.Ended] = field(default_factory=list)


_nights = Listeners(Outcome)
watching = _nights.listening

_runner: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=64)


@flow(name="nightly", persist_result=False, task_runner=_runner)
def nightly(pull: bool = False, jobs: runs.Jobs = 2, wait: bool = False, accept: bool = False) -> State[Any]:
    """Evaluate every benchmark again with the current model and data, append to the ledger, and give a verdict.

    With `pull`, what is missing comes from the DVC remote. At most `jobs` stages run at once. With `wait`, a nightly or
    a rebuild that is running is waited for. With `accept`, later nights are compared with this one even if it is worse.
    The run is Completed if no score is worse than in the last good run, else Failed.
    """
    outcome = Outcome()
    stop = threading.Event()
    due = runs.due()
    served = runs.served()
    try:
        root = graphs.find_root()
        fix = lock.WAIT_SERVED if served else lock.WAIT
        held = lock.locked(root, lock.NIGHTLY, "a nightly", wait and not served, stop, fix)
        with watch.stopping(stop), held:
            if due and (told := stamp.made_up_for(root, due)):
                return runs.skipped(told)
            record.settle(root, 0.0)
            kept = record.Record(root, str(flow_run.id), str(flow_run.name))
            with _attempt(root):
                # One that nobody watches waits for a rebuild to end.
                outcome.state = _whole(root, outcome, stop, pull, jobs, wait or served, accept)
            _tell(outcome)
            return kept.end(
                outcome.state,
                outcome.ended,
                record.STOPPED_SECONDS if stop.is_set() else servers.AWAY_SECONDS,
            )
    except lock.Stopped:
        state: State[Any] = Cancelled(message="stopped while it waited")
    except lock.Held as error:
        outcome.error = error
        state = Cancelled(name="Skipped", message=str(error))
    except NightjarError as error:
        outcome.error = error
        state = Failed(message=str(error))
        runs.tell("nightly failed", str(error))
    except Exception as error:
        runs.tell("nightly failed", f"{type(error).__name__}: {error}")
        raise
    outcome.state = state
    _tell(outcome)
    return state


def _tell(outcome: Outcome) -> None:
    for watched in _nights.outcomes():
        watched.facts, watched.verdicts, watched.error = outcome.facts, outcome.verdicts, outcome.error
        watched.state, watched.aside, watched.warnings = outcome.state, outcome.aside, outcome.warnings


@contextlib.contextmanager
def _attempt(root: Path) -> Iterator[None]:
    """Write down that a nightly begins and ends; tell of one before it that never ended."""
    before = stamp.last(root)
    stamp.begin(root, str(flow_run.name))
    if before is not None and before.ended is None:
        told = f"the nightly {before.run}, begun {before.began:%Y-%m-%d %H:%M} UTC, was killed"
        event = {"kind": "nightly crashed", "run": before.run, "message": told}
        notify(root, event)
    artifacts.tag_run(root)
    try:
        yield
    finally:
        stamp.end(root)


def _whole(
    root: Path, outcome: Outcome, stop: threading.Event, pull: bool, jobs: int, wait: bool, accept: bool
) -> State[Any]:
    settings = load_nightly(root / PARAMS_FILE)
    whole = graphs.read(root)
    graph = selected(whole, settings.stages)
    started = datetime.now(UTC)
    run = f"{started:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}"
    with contextlib.ExitStack() as stack:
        with lock.rebuild_lock(root, wait, stop):  # dvc.lock as it is between rebuilds
            good = _ready(root, settings, outcome)
            scratch = stack.enter_context(Scratch(root, baseline(root)))
        if not (scratch.path / "dvc.yaml").is_file():
            raise NightjarError("not in Git", root / "dvc.yaml", "commit it: the nightly works in a clone")
        night = Night(graph, whole, scratch.path, root / LOGS / str(flow_run.name), stop, _nights.tell)
        facts = nightly_facts.at_start(scratch.path, scratch.start)
        facts |= {"run": run, "started": started, "accepted": accept, "against": None, "stages": {}}
        scored = Scored([], [], [])
        try:
            take(night, pull)
            conduct(night, jobs)
            scored = _conclude(night, settings, facts, good, accept)
        except Stopped:
            return Cancelled(message="stopped; nothing was added to the ledger")
        except Broken as error:
            facts |= {"state": "failed", "message": str(error), "accepted": False}
        finally:
            outcome.ended = night.ended()
        facts["ended"] = datetime.now(UTC)
        outcome.aside = ledgers.append_or_aside(root, root / settings.ledger, facts, *scored)
        outcome.facts, outcome.verdicts = facts, scored.verdicts
        # Before the clone is removed, which may fail.
        return _report(root, outcome, facts)


def _ready(root: Path, settings: Nightly, outcome: Outcome) -> Good | None:
    """Make sure that the ledger can be written, add entries that could not be added before, and read the last good one.

    It is read now, for at the end of the night the ledger may be away. Raises NightjarError.
    """
    ledger = root / settings.ledger
    ledgers.prepare(ledger)
    try:
        for run in ledgers.recover(root / ledgers.ASIDE, ledger, outcome.warnings.append):
            get_run_logger().info("added %s to the ledger, from %s", run, ledgers.ASIDE)
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


def _report(root: Path, outcome: Outcome, facts: dict[str, Any]) -> State[Any]:
    """Call the hook if something is wrong, write the artifact, and say with the state how it went."""
    for line in outcome.warnings:
        get_run_logger().warning("ledger: %s", line)
    message = "; ".join(filter(None, [facts["message"], str(outcome.aside or "")]))
    well = facts["state"] == "good" and outcome.aside is None
    if not well:
        kind = "failed" if facts["state"] == "good" else facts["state"]
        event = {"kind": f"nightly {kind}", "run": facts["run"], "ended": facts["ended"].isoformat()}
        cells = [row for row in outcome.verdicts if row["verdict"] == "worse"]
        notify(root, event | {"message": message, "worse": cells})
    if watch.away():
        get_run_logger().warning("no artifact: the server is away")
    else:
        _artifact(facts, outcome.verdicts)
        artifacts.score_history(root)
    return Completed(message=message) if well else Failed(message=message)


def _artifact(facts: dict[str, Any], verdicts: list[dict[str, Any]]) -> None:
    try:
        create_markdown_artifact(
            key="nightly", markdown=nightly_text.markdown(facts, verdicts), description=facts["message"][:500]
        )
    except Exception as error:  # the ledger is complete, whatever the server that shows it lacks
        get_run_logger().warning("no artifact: %s", error)
