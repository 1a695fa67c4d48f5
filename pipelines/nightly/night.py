"""A nightly: evaluate every benchmark again, append to the ledger, give a verdict.

Model and data are checked out as dvc.lock has them, into a clone of the project in .nightjar/nightly. There the stages
that predict and evaluate run, whether or not DVC finds them unchanged. Only the ledger changes, no other file of the
project and nothing in its DVC cache.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightjar.benchmarks.score_table import ScoreTable
from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE
from nightjar.core.display import counted_as
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import recorded
from nightjar.params.drivers import Nightly
from pipelines.graph import repository as graphs
from pipelines.history import ledger as ledgers
from pipelines.nightly import nightly_facts, nightly_text, sample
from pipelines.nightly import verdicts as nightly_verdicts
from pipelines.nightly.stages import Cancelled, Night, Scratch, run_stages, selected, take
from pipelines.nightly.verdicts import Reference
from pipelines.process import lock
from pipelines.project.git import baseline
from pipelines.project.names import new_name
from pipelines.project.notify import notify
from pipelines.run.context import RunContext
from pipelines.run.report import scores_page
from pipelines.run.results import End

Rows = list[dict[str, Any]]


@dataclass
class Outcome:
    """A night for the ledger: its facts, none if it was stopped, and the rows of LEDGER_SCORES, LEDGER_INSTANCES and
    LEDGER_VERDICTS. `earlier` are the scores of the last good run. `aside` is the error if they could not be added to
    the ledger; `warnings` name old entries that were skipped.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    scores: Rows = field(default_factory=list)
    instances: Rows = field(default_factory=list)
    verdicts: Rows = field(default_factory=list)
    earlier: Rows = field(default_factory=list)
    aside: NightjarError | None = None
    warnings: list[str] = field(default_factory=list)


def night(context: RunContext, pull: bool, jobs: int, wait: bool, accept: bool, due: datetime | None) -> End:
    """Evaluate every benchmark again: see flows.nightly. A command that holds the nightly's lock, and has prepared the
    ledger, gives the graph that it read, the settings and an Outcome to fill, as `prepared`. `due` is when the schedule
    wanted the night.

    The end is `completed` if no score is worse than in earlier runs. Raises NightjarError for wrong input.
    """
    root, stop = context.root, context.stop
    # Before the lock is taken, which records this start.
    if due and (later := superseded(root, due)):
        return End("skipped", later)
    with contextlib.ExitStack() as held:
        if context.prepared is not None:
            graph_before, settings, outcome = context.prepared
        else:
            held.enter_context(
                lock.locked(root, paths.NIGHTLY_LOCK, "a nightly", False, stop, lock.WAIT_SERVED)
            )
            settings = Nightly.load(root / PARAMS_FILE)
            ledgers.prepare(root / settings.ledger)
            graph_before, outcome = graphs.read(root), Outcome()
        graph, started, name = selected(graph_before, settings.stages), datetime.now(UTC), new_name()
        context.name(f"{counted_as(len(graph.stages), 'stage')} of {name}")
        try:
            with lock.rebuild_lock(root, wait, stop):  # dvc.lock as it is between rebuilds
                reference = _ready(root / settings.ledger, outcome)
                scratch = held.enter_context(Scratch(root, baseline(root)))
            night = Night(graph, graph_before, scratch.path, root / paths.LOGS / name, context)
            facts = nightly_facts.at_start(scratch.path, scratch.start)
            facts |= {"run": name, "started": started, "accepted": accept}
            facts |= {"against": None, "stages": {}}
            try:
                _evaluate(night, settings, facts, reference, pull, jobs, outcome)
            except NightjarError as error:
                facts |= {"state": "failed", "message": str(error), "accepted": False}
            facts["ended"] = datetime.now(UTC)
            outcome.facts = facts
            rows = outcome.scores, outcome.instances, outcome.verdicts
            outcome.aside = ledgers.append_or_aside(root, root / settings.ledger, facts, *rows)
            # Before the clone is removed, which may fail.
            return _report(outcome, context)
        except (Cancelled, lock.WaitStopped):
            return End("cancelled", "stopped; nothing was added to the ledger")


def _ready(ledger: Path, outcome: Outcome) -> Reference | None:
    """Read the last good entry of the ledger now, because at the end of the night it may be unavailable."""
    reference = next(_references(ledger, outcome.warnings.append), None)
    if reference:
        outcome.earlier = ledgers.read(reference.facts, "scores.parquet").to_pylist()
    return reference


def _references(ledger: Path, warn: ledgers.Warn) -> Iterator[Reference]:
    """The good nights of the ledger, the latest first; none if it cannot be read."""
    try:
        for facts in ledgers.good(ledger, warn):
            if ledgers.is_harness(facts):
                continue
            yield Reference(facts, ledgers.read(facts, "instances.parquet").to_pylist())
    except (NightjarError, OSError) as error:
        warn(str(error))


def _evaluate(
    night: Night,
    settings: Nightly,
    facts: dict[str, Any],
    reference: Reference | None,
    pull: bool,
    jobs: int,
    outcome: Outcome,
) -> None:
    """Run the stages, complete the facts, and give the verdicts.

    Raises Cancelled, and NightjarError if a stage fails, or there are no scores, or they cannot be read.
    """
    take(night, pull)
    sampled = sample.draw(night, settings.limit)
    results = run_stages(night, jobs)
    stages = list(night.graph.stages.values())
    scores, instances, benchmarks = nightly_facts.scores(night.work, stages)
    ledgers.check_rows(scores, instances)
    if not instances:
        what = "no stage made a table instance_scores"
        raise NightjarError(what, "nightly.stages", "name stages that evaluate")
    facts["stages"] = nightly_facts.stage_facts(night.work, stages, benchmarks, results, sampled)
    # Entries that cannot be read were reported when the night began.
    earlier = _references(night.graph.root / settings.ledger, lambda line: None)
    verdicts = nightly_verdicts.verdicts(settings, facts, instances, reference, earlier)
    outcome.scores, outcome.instances, outcome.verdicts = scores, instances, verdicts
    versions, facts["hardware"]["gpus"] = nightly_facts.of_stages(night.work, stages)
    facts["versions"] |= versions
    worse = any(row["verdict"] == "worse" for row in verdicts)
    facts |= {
        "state": "worse" if worse and not facts["accepted"] else "good",
        "message": ("accepted: " if facts["accepted"] else "")
        + nightly_text.message(verdicts, reference and reference.facts),
        "against": reference.facts["run"] if reference else None,
    }


def _report(outcome: Outcome, context: RunContext) -> End:
    facts = outcome.facts
    for line in outcome.warnings:
        context.log(f"ledger: {line}", "warning")
    message = "; ".join(filter(None, [facts["message"], str(outcome.aside or "")]))
    well = facts["state"] == "good" and outcome.aside is None
    if not well:
        kind = "failed" if facts["state"] == "good" else facts["state"]
        event = {"kind": f"nightly {kind}", "run": facts["run"], "ended": facts["ended"].isoformat()}
        cells = [row for row in outcome.verdicts if row["verdict"] == "worse"]
        notify(context.root, event | {"message": message, "worse": cells})
    tables = (ScoreTable(rows).overall() for rows in (outcome.scores, outcome.earlier))
    lines = scores_page(context, *tables)
    page = "\n".join([*lines, nightly_text.markdown(facts, outcome.verdicts)])
    context.artifact("markdown", "nightly", page, facts["message"][:500])
    return End("completed" if well else "failed", message)


def superseded(root: Path, due: datetime, now: datetime | None = None) -> str:
    """Why a night that was due at `due` need not run: another began since then. Empty if it has to.

    After days without a server, all nights that it had planned are late: the first of them replaces the others. A
    night that began in the future, because the clock was put back, is ignored.
    """
    try:
        began = datetime.fromisoformat(recorded(root / paths.NIGHTLY_LOCK)["since"]).astimezone(UTC)
    except (KeyError, TypeError, ValueError, OverflowError):
        return ""
    if not due <= began <= (now or datetime.now(UTC)):
        return ""
    return f"due {due:%Y-%m-%d %H:%M} UTC, replaced by the nightly of {began:%Y-%m-%d %H:%M} UTC"
