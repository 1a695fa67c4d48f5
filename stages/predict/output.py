"""The artifact of the stage predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question import Question
from nightjar.core import contracts, tables
from nightjar.core.harness import Stage
from nightjar.core.predict_params import System

PREDICTED = Path("data/predict")
TIMINGS = Path(".nightjar/timings")
# Columns of a row where nothing is written.
NOTHING_WRITTEN: Mapping[str, Any] = {"text": "", "calls": [], "new_tokens": 0}


def publish(
    stage: Stage, system: System, questions: Sequence[Question], given: Sequence[Mapping[str, Any] | None]
) -> None:
    """Write the predictions of a system, one for each question in their order, and their seconds.

    `given` has the columns of contracts.PREDICTIONS that do not come from the question, and `seconds`, which are kept
    in a local file. None is a question without a prediction, which is rejected.
    """
    rows, timings = [], []
    missing = []
    for question, one in zip(questions, given, strict=True):
        if one is None:
            missing.append(question)
            continue
        key = {"task_id": question.task_id, "id": question.id}
        names = {"benchmark": system.benchmark, "system": system.system}
        place = {"track": question.track, "category": question.category}
        rows.append(names | place | key | {name: one[name] for name in one if name != "seconds"})
        timings.append({"system": system.system, **key, "seconds": one["seconds"]})
    tables.write_file(TIMINGS / f"predict-{stage.item}.parquet", contracts.TIMINGS, timings)
    output = PREDICTED / system.benchmark / system.system
    with tables.ArtifactWriter(output) as writer:
        writer.write(contracts.PREDICTIONS, rows)
        for question in missing:
            writer.reject(
                question.dataset, question.file, "no prediction", question.row()["parts"], question.id
            )
    stage.writes(output)
    stage.count(len(questions), len(rows), len(missing))
    stage.details["calls"] = sum(len(row["calls"]) for row in rows)
    stage.details["new_tokens"] = sum(row["new_tokens"] for row in rows)
