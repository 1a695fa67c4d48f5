"""python -m stages.split: data/split, the instances that train, choose a checkpoint, and test."""

from __future__ import annotations

from nightjar.core import paths
from nightjar.core.contracts import DEV, SUPERVISED, TEST, TRAIN
from stages._runtime.stage import StageRun, log, main
from stages.split.split_artifact import build


def run(stage: StageRun) -> None:
    stage.reads(paths.NATURAL_INSTRUCTIONS)
    outcome = build(paths.NATURAL_INSTRUCTIONS, paths.SPLIT, stage.params.split, stage.params.seed)
    stage.writes(paths.SPLIT)
    stage.count(outcome.rows_in, outcome.rows.total(), outcome.not_used.total())
    stage.details.update(outcome.details)
    stage.details["rows"] = {table.name: outcome.rows[table.name] for table in (TRAIN, DEV, TEST, SUPERVISED)}
    stage.details["reasons"] = {reason: n for reason, n in sorted(outcome.not_used.items()) if n}
    if apart := len(outcome.details["disagreements"]):
        log.warning("warning: the published lists and the rule differ on %d tasks; the facts say why", apart)


if __name__ == "__main__":
    main("split", run)
