"""The Prefect flow `nightly`: evaluate every benchmark afresh, append to the ledger, give a verdict.

Model and data are taken as dvc.lock has them, into a clone of the project in .nightjar/nightly; there the stages that
predict and evaluate run, whatever DVC knows of them. Nothing in the project's own files or its DVC cache changes but
the ledger. The statistics are those of stages/evaluate/verdict.py, to which this module hands the scores, as a command
does. Import it only where Prefect is installed and told which server to use (see server.use).
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.runtime import flow_run
from prefect.states import Cancelled, Completed, Failed, State
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from pipelines import artifacts, lock, nightly_facts, nightly_text, record, runs, stamp, watch
from pipelines import graph as graphs
from pipelines import ledger as ledgers
from pipelines.baseline import baseline
from pipelines.nightly_run import Broken, Night, Scratch, Stopped, conduct, selected, take
from pipelines.notify import notify
from pipelines.results import Listeners
from pipelines.run_stage import LOGS
from stages.config import PARAMS_FILE
from stages.driver_params import Nightly, load_nightly
from stages.errors import NightjarError, from_os_error


@dataclass
class Outcome:
    """What came of a night: the ledger's facts and verdicts, or an error in what it was given."""

    facts: dict[str, Any] | None = None
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    error: NightjarError | None = None
    # In which the run ended, and its tasks, whether or not Prefect's server could be told.
    state: State[Any] | None = None
    ended: list[record.Ended] = field(default_factory=list)


_nights = Listeners(Outcome)
watching = _nights.listening

_runner: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=64)


@flow(name="nightly", persist_result=False, task_runner=_runner)
def nightly(pull: bool = False, jobs: runs.Jobs = 2, wait: bool = False, accept: bool = False) -> State[Any]:
    """Evaluate every benchmark afresh with the current model and data, append to the ledger, and give a verdict.

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
                record.STOPPED_SECONDS if stop.is_set() else record.AWAY_SECONDS,
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
        watched.state = outcome.state


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
    graph = selected(graphs.read(root), settings.stages)
    started = datetime.now(UTC)
    run = f"{started:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}"
    with contextlib.ExitStack() as stack:
        with lock.rebuild_lock(root, wait, stop):  # dvc.lock as it stands between rebuilds
            scratch = stack.enter_context(Scratch(root, baseline(root)))
        if not (scratch.path / "dvc.yaml").is_file():
            raise NightjarError("not in Git", root / "dvc.yaml", "commit it: the nightly works in a clone")
        night = Night(graph, scratch.path, root / LOGS / str(flow_run.name), stop, _nights.tell)
        facts = nightly_facts.at_start(scratch.path, scratch.start)
        facts |= {"run": run, "started": started, "accepted": accept, "against": None, "stages": {}}
        try:
            take(night, pull)
            conduct(night, jobs)
            verdicts = _conclude(root, night, settings, facts, accept)
        except Stopped:
            return Cancelled(message="stopped; nothing was added to the ledger")
        except Broken as error:
            facts |= {"state": "failed", "message": str(error), "accepted": False}
            verdicts = _append(root, settings, facts, [], [], [])
        finally:
            outcome.ended = night.ended()
        outcome.facts, outcome.verdicts = facts, verdicts
    return _report(root, settings, facts, verdicts)


def _conclude(
    root: Path, night: Night, settings: Nightly, facts: dict[str, Any], accept: bool
) -> list[dict[str, Any]]:
    """Give the verdicts and append the entry; returns the verdicts. Raises Broken if there are no scores."""
    stages = list(night.graph.stages.values())
    means, instances, benchmarks = nightly_facts.scores(night.work, stages)
    if not instances:
        raise Broken("no stage made a table instance_scores")
    facts["versions"] |= nightly_facts.stage_versions(night.work, stages)
    facts["stages"] = nightly_facts.stage_facts(night.work, stages, benchmarks)
    good = ledgers.last_good(root / settings.ledger)
    verdicts = _judge(settings, facts, instances, good)
    worse = any(row["verdict"] == "worse" for row in verdicts)
    message = nightly_text.message(verdicts, good)
    facts |= {
        "state": "worse" if worse and not accept else "good",
        "message": f"accepted: {message}" if accept else message,
        "against": good["run"] if good else None,
    }
    return _append(root, settings, facts, means, instances, verdicts)


def _judge(
    settings: Nightly,
    facts: Mapping[str, Any],
    instances: list[dict[str, Any]],
    good: dict[str, Any] | None,
) -> list[dict[str, Any]]:
    from stages.evaluate import verdict

    now = verdict.cells(instances)
    if good is None:
        before, other = {}, dict.fromkeys(now, "there is no earlier good run")
    else:
        before = verdict.cells(ledgers.read(good, "instances.parquet").to_pylist())
        told = {
            cell: nightly_facts.other_parameters(facts["stages"], good["stages"], cell.benchmark, cell.system)
            for cell in now.keys() & before.keys()
        }
        other = {cell: reason for cell, reason in told.items() if reason}
    rule = verdict.Rule.of(
        settings.alpha, settings.minimum_instances, settings.bootstrap_samples, facts["seed"] or 0
    )
    return verdict.judge(now, before, other, rule)


def _append(
    root: Path,
    settings: Nightly,
    facts: dict[str, Any],
    means: list[dict[str, Any]],
    instances: list[dict[str, Any]],
    verdicts: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    facts["ended"] = datetime.now(UTC)
    try:
        ledgers.append(root / settings.ledger, facts, means, instances, verdicts)
    except OSError as error:
        told = from_os_error(error, root / settings.ledger)
        if told is None:
            raise
        raise told from error
    return verdicts


def _report(
    root: Path, settings: Nightly, facts: dict[str, Any], verdicts: list[dict[str, Any]]
) -> State[Any]:
    """Call the hook if something is wrong, write the artifact, and say with the state how it went."""
    if facts["state"] != "good":
        event = {
            "kind": f"nightly {facts['state']}",
            "run": facts["run"],
            "ended": facts["ended"].isoformat(),
        }
        cells = [row for row in verdicts if row["verdict"] == "worse"]
        notify(root, event | {"message": facts["message"], "worse": cells})
    if watch.away():
        get_run_logger().warning("no artifact: the server is away")
    else:
        _artifact(facts, verdicts)
        artifacts.score_history(root)
    if facts["state"] == "good":
        return Completed(message=facts["message"])
    return Failed(message=facts["message"])


def _artifact(facts: dict[str, Any], verdicts: list[dict[str, Any]]) -> None:
    try:
        create_markdown_artifact(
            key="nightly", markdown=nightly_text.markdown(facts, verdicts), description=facts["message"][:500]
        )
    except Exception as error:  # the ledger stands, whatever ails the server that shows it
        get_run_logger().warning("no artifact: %s", error)
