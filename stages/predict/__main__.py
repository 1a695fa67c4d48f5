"""python -m stages.predict BENCHMARK-SYSTEM: data/predict/BENCHMARK/SYSTEM, one row a question."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nightjar.core import contracts, paths, tables
from nightjar.params.predict import PLAIN, prompting
from nightjar.predict import Job, Predictor, predictor
from nightjar.predict.predictor import FAILURE, is_error
from stages._runtime.checkpoint import code_of
from stages._runtime.stage import StageRun, main

log = logging.getLogger("nightjar")
# The fact that counts the questions whose answer was an error.
ERRORS = "errors"
PACKAGES = ("torch", "transformers", "peft")


def run(stage: StageRun, base: Path = paths.LANGUAGE_MODEL, tokens: Path | None = None) -> None:
    """Answer with the predictor of the system's kind; `base` is the language model, `tokens` as of a `Job`."""
    source = stage.folder / paths.QUESTIONS / stage.params.predict.systems[stage.item].benchmark
    job = Job.of(stage.params, stage.item, source, base, tokens)
    with predictor(job) as system_predictor:
        if (how := prompting(system_predictor.facts())) != PLAIN:
            log.info("%s: %s", stage.name, how)
        if system_predictor.cache_key is None and stage.shard:
            return  # the run that publishes takes seconds
        if system_predictor.cache_key is None:
            publish(
                stage,
                job,
                system_predictor,
                dict(system_predictor.answer(range(len(system_predictor.questions)))),
            )
        else:
            cache_key = {**system_predictor.cache_key, "code": [code_of("predict"), *map(version, PACKAGES)]}
            with stage.run_resumable(
                cache_key,
                system_predictor.keys,
                system_predictor.answer,
                "questions",
                lasts=lambda row: not is_error(row),
            ) as answer_rows:
                if answer_rows is None:
                    return
                publish(stage, job, system_predictor, dict(enumerate(answer_rows)))
    stage.reads(*job.inputs)


def publish(
    stage: StageRun, job: Job, system_predictor: Predictor, answer_rows: Mapping[int, Mapping[str, Any]]
) -> None:
    """Write the predictions of a system, one for each question in their order, and their seconds.

    The seconds are kept in a local file. A question without a prediction is rejected, with the reason if it is known.
    """
    rows, timings = [], []
    failures = {number: row[FAILURE] for number, row in answer_rows.items() if FAILURE in row}
    if errors := sum(map(is_error, answer_rows.values())):
        stage.details[ERRORS] = errors
    answer_rows = {number: row for number, row in answer_rows.items() if number not in failures}
    named = {"benchmark": job.system.benchmark, "system": job.system.system}
    for number, answer in sorted(answer_rows.items()):
        question = system_predictor.questions[number]
        key = {"task_id": question.task_id, "id": question.id}
        place = {"track": question.track, "category": question.category}
        row = {**system_predictor.about(number), **answer}
        timings.append({"system": job.system.system, **key, "seconds": row.pop("seconds")})
        rows.append({**named, **place, **key, **row})
    missing = [
        (number, question)
        for number, question in enumerate(system_predictor.questions)
        if number not in answer_rows
    ]
    tables.write_file(
        stage.folder / paths.TIMINGS / f"predict-{stage.item}.parquet", contracts.TIMINGS, timings
    )
    output = stage.folder / paths.PREDICTIONS / job.system.benchmark / job.system.system
    with tables.ArtifactWriter(output) as writer:
        writer.write(contracts.PREDICTIONS, rows)
        for number, question in missing:
            reason = failures.get(number, "no prediction")
            writer.reject(question.dataset, question.file, reason, question.row()["parts"], question.id)
    stage.writes(output)
    stage.count(len(system_predictor.questions), len(rows), len(missing))
    stage.details["calls"] = sum(len(row["calls"]) for row in rows)
    stage.details["new_tokens"] = sum(row["new_tokens"] for row in rows)
    stage.details.update(system_predictor.facts())


if __name__ == "__main__":
    main(
        "predict",
        run,
        packages=PACKAGES,
        threads=True,
        shards=True,
        benchmarks=True,
    )
