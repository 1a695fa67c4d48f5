"""`python -m stages.split`: the ingested tasks to data/split."""

from __future__ import annotations

from pathlib import Path

from stages.harness import Stage, main
from stages.split.build import build

INGESTED = Path("data/ingest/natural_instructions")
OUTPUT = Path("data/split")


def run(stage: Stage) -> None:
    stage.reads(INGESTED)
    outcome = build(INGESTED, OUTPUT, stage.params.split, stage.params.seed)
    stage.writes(OUTPUT)
    stage.count(outcome.rows_in, outcome.train + outcome.test, outcome.not_used.total())
    stage.details.update(outcome.details)
    stage.details.update(
        train=outcome.train, test=outcome.test, reasons=dict(sorted(outcome.not_used.items()))
    )


if __name__ == "__main__":
    main("split", run)
