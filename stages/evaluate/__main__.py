"""Stage evaluate: test instances and predictions in, one score an instance and their means out."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks import aggregate, agreement
from nightjar.benchmarks.supernatinst import baselines
from nightjar.benchmarks.supernatinst import scoring as supernatinst
from nightjar.core import contracts, harness
from nightjar.core.errors import NightjarError
from nightjar.core.tables import ArtifactWriter, read_rows
from nightjar.statistics.bootstrap import Bootstrap

SPLIT = Path("data/split")
INGESTED = Path("data/ingest/natural_instructions")


def run(stage: harness.Stage) -> None:
    settings = stage.params.evaluate.supernatinst
    out = Path("data/evaluate", stage.item)
    predicted = {system: Path("data/predict", f"{stage.item}-{system}") for system in supernatinst.MODELS}
    stage.reads(SPLIT, INGESTED, *predicted.values())
    test = read_rows(SPLIT, contracts.TEST)
    if not test:
        raise NightjarError(
            "no test instances", SPLIT, "the split left no test task: see data/split/rejected.parquet"
        )
    needed = ["task_id", "positive_examples"]
    tasks = {row["task_id"]: row for row in read_rows(INGESTED, contracts.TASKS, needed)}

    rows = []
    for system, copy in baselines.baselines(settings.copy_demo, stage.params.seed).items():
        given = supernatinst.baseline_answers(test, tasks, copy, INGESTED)
        rows += supernatinst.score_system(system, test, given)
    missing = {}
    for system, folder in predicted.items():
        predictions = read_rows(folder, contracts.PREDICTIONS, ["task_id", "id", "prediction", "calls"])
        given, missing[system] = supernatinst.answers(test, predictions, folder)
        rows += supernatinst.score_system(system, test, given)

    bootstrap = Bootstrap(stage.params.seed, settings.bootstrap_samples, settings.confidence)
    scores = aggregate.aggregate(rows, bootstrap)
    compared = aggregate.compare(
        rows,
        (*supernatinst.COMPARISONS, *supernatinst.BOUND_COMPARISONS),
        bootstrap,
        ("overall", "category"),
    )
    stage.details["comparisons"] = [row for row in compared if row["level"] == "overall"]
    stage.details["correlation"] = agreement.correlation(rows, bootstrap)
    stage.details["confidence"] = settings.confidence
    stage.details["missing_predictions"] = missing
    with ArtifactWriter(out) as writer:
        writer.write(contracts.INSTANCE_SCORES, rows)
        writer.write(contracts.SCORES, scores)
        writer.write(contracts.COMPARISONS, [{"benchmark": stage.item, **row} for row in compared])
        writer.write(contracts.IMPROVEMENTS, agreement.improvements(rows, baselines.NAMES, bootstrap))
        stage.count(len(test) * (len(predicted) + len(baselines.NAMES)), len(rows))
    stage.details["scores"] = {
        f"{row['track']}/{row['system']}": {"rougeL": row["value"], "n": row["n"]}
        for row in scores
        if row["level"] == "overall" and row["metric"] == "rougeL"
    }
    stage.writes(out)


if __name__ == "__main__":
    harness.main(
        "evaluate",
        run,
        items=(supernatinst.BENCHMARK,),
        packages=("numpy", "rapidfuzz", "tokenizers"),
    )
