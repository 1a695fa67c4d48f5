"""python -m stages.predict <benchmark>-<system>: data/predict/<benchmark>-<system>, one row an instance."""

from pathlib import Path
from typing import Any

from stages import contracts, tables
from stages.harness import Stage, log, main

INGEST, SPLIT = Path("data/ingest/natural_instructions"), Path("data/split")
RETRIEVE, MODEL, TRAINED = Path("data/retrieve"), Path("models/base/language_model"), Path("models/train")
SYSTEMS = ("untuned", "combined", "tk_instruct")


def run(stage: Stage) -> None:
    from stages.lm.load import load, prepare, read_recipe
    from stages.predict.answers import predict

    benchmark, _, system = stage.item.partition("-")
    settings = getattr(stage.params.predict, benchmark)
    tasks = {row["task_id"]: row for row in tables.read_rows(INGEST, contracts.TASKS)}
    instances = tables.read_rows(SPLIT, contracts.TEST)
    adapter = None if system == "untuned" else TRAINED / system
    recipe: dict[str, Any] = read_recipe(adapter) if adapter else {"evidence": 0, "calls": False}
    evidence = tables.evidence_by_instance(RETRIEVE, "test") if recipe["evidence"] else {}

    prepare(stage.params.seed, stage.params.threads)
    lm = load(MODEL, settings.precision, adapter)

    def report(done: int) -> None:
        if done == len(instances) or done * 10 // len(instances) > (done - settings.batch_size) * 10 // len(
            instances
        ):
            log.info("%d of %d instances", done, len(instances))

    rows = predict(
        lm,
        instances,
        tasks,
        evidence,
        recipe["evidence"],
        recipe["calls"],
        stage.params.encoding,
        settings,
        report,
    )
    output = Path("data/predict") / stage.item
    with tables.ArtifactWriter(output) as writer:
        writer.write(
            contracts.PREDICTIONS, [{"benchmark": benchmark, "system": system, **row} for row in rows]
        )
    stage.reads(INGEST, SPLIT, *([RETRIEVE] if recipe["evidence"] else []), adapter or MODEL)
    stage.writes(output)
    stage.count(rows_in=len(instances), rows_out=len(rows))
    stage.details["calls"] = sum(len(row["calls"]) for row in rows)
    stage.details["new_tokens"] = sum(row["new_tokens"] for row in rows)


if __name__ == "__main__":
    items = tuple(f"supernatinst-{system}" for system in SYSTEMS)
    main("predict", run, items=items, packages=("torch", "transformers", "peft"), threads=True)
