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
from stages._runtime.stage import Stage, main

log = logging.getLogger("nightjar")
# The fact that counts the questions whose answer was an error.
ERRORS = "errors"
PACKAGES = ("torch", "transformers", "peft")


def run(stage: Stage, base: Path = paths.LANGUAGE_MODEL, tokens: Path | None = None) -> None:
    """Answer with the predictor of the system's kind; `base` is the language model, `tokens` as of a `Job`."""
    source = stage.folder / paths.QUESTIONS / stage.params.predict.systems[stage.item].benchmark
    job = Job.of(stage.params, stage.item, source, base, tokens)
    with predictor(job) as made:
        if (how := prompting(made.facts())) != PLAIN:
            log.info("%s: %s", stage.name, how)
        if made.cache_key is None and stage.shard:
            return  # the run that publishes takes seconds
        if made.cache_key is None:
            publish(stage, job, made, dict(made.answer(range(len(made.questions)))))
        else:
            cache_key = {**made.cache_key, "code": [code_of("predict"), *map(version, PACKAGES)]}
            with stage.run_resumable(
                cache_key, made.keys, made.answer, "questions", lasts=lambda row: not is_error(row)
            ) as given:
                if given is None:
                    return
                publish(stage, job, made, dict(enumerate(given)))
    stage.reads(*job.inputs)


def publish(stage: Stage, job: Job, made: Predictor, given: Mapping[int, Mapping[str, Any]]) -> None:
    """Write the predictions of a system, one for each question in their order, and their seconds.

    The seconds are kept in a local file. A question without a prediction is rejected, with the reason if it is known.
    """
    rows, timings = [], []
    failures = {number: row[FAILURE] for number, row in given.items() if FAILURE in row}
    if errors := sum(map(is_error, given.values())):
        stage.details[ERRORS] = errors
    given = {number: row for number, row in given.items() if number not in failures}
    named = {"benchmark": job.system.benchmark, "system": job.system.system}
    for number, answer in sorted(given.items()):
        one = made.questions[number]
        key = {"task_id": one.task_id, "id": one.id}
        place = {"track": one.track, "category": one.category}
        row = {**made.about(number), **answer}
        timings.append({"system": job.system.system, **key, "seconds": row.pop("seconds")})
        rows.append({**named, **place, **key, **row})
    missing = [(number, one) for number, one in enumerate(made.questions) if number not in given]
    tables.write_file(
        stage.folder / paths.TIMINGS / f"predict-{stage.item}.parquet", contracts.TIMINGS, timings
    )
    output = stage.folder / paths.PREDICTIONS / job.system.benchmark / job.system.system
    with tables.ArtifactWriter(output) as writer:
        writer.write(contracts.PREDICTIONS, rows)
        for number, one in missing:
            reason = failures.get(number, "no prediction")
            writer.reject(one.dataset, one.file, reason, one.row()["parts"], one.id)
    stage.writes(output)
    stage.count(len(made.questions), len(rows), len(missing))
    stage.details["calls"] = sum(len(row["calls"]) for row in rows)
    stage.details["new_tokens"] = sum(row["new_tokens"] for row in rows)
    stage.details.update(made.facts())


if __name__ == "__main__":
    main(
        "predict",
        run,
        packages=PACKAGES,
        threads=True,
        shards=True,
        benchmarks=True,
    )
