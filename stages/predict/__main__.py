"""python -m stages.predict <benchmark>-<system>: data/predict/<benchmark>-<system>, one row an instance."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.core.harness import Progress, Stage, log, main
from nightjar.core.journal import Journal, code, digest
from stages.predict.prompts import INGEST, MODEL, SPLIT, read_test, shown

RETRIEVE, TRAINED = Path("data/retrieve"), Path("models/train")
TIMINGS = Path(".nightjar/timings")
SYSTEMS = ("untuned", "combined", "tk_instruct", "supervised")
PACKAGES = ("torch", "transformers", "peft")


def run(stage: Stage) -> None:
    from nightjar.lm.load import device_name, load, prepare, read_recipe
    from nightjar.lm.tokenizer import is_encoder_decoder
    from stages.predict.answers import answering, ask, in_order, table_row
    from stages.predict.batches import plan

    benchmark, _, system = stage.item.partition("-")
    settings = getattr(stage.params.predict, benchmark)
    options = shown(stage.params, benchmark)
    adapter = None if system == "untuned" else TRAINED / system
    recipe: dict[str, Any] = read_recipe(adapter) if adapter else {"evidence": 0, "calls": False}
    calls = bool(recipe["calls"] and settings.call_top_k and settings.max_calls)
    if calls and is_encoder_decoder(MODEL):
        what = f"the recipe {system} calls tools, which an encoder-decoder cannot"
        raise NightjarError(what, MODEL, "use a causal model, or set call_top_k to 0")
    instances, tasks = read_test()
    evidence = tables.evidence_by_instance(RETRIEVE, "test") if recipe["evidence"] else {}

    prepare(stage.params.seed, stage.params.threads)
    lm = load(MODEL, settings.precision, adapter)
    questions = ask(lm.tokenizer, instances, tasks, evidence, recipe["evidence"], options)
    batches = plan(
        [question.ids for question in questions],
        [question.task_id for question in questions],
        settings,
        lm.encoder_decoder,
    )
    decides = {
        "model": [lm.sha256, lm.adapter_sha256],
        "settings": settings.model_dump(),
        "calls": calls,
        "seed": stage.params.seed,
        "machine": [device_name(), stage.params.threads],
        "code": [
            code("nightjar/lm", "stages/predict", "nightjar/prompts", "nightjar/tools"),
            *map(version, PACKAGES),
        ],
        "questions": digest(
            {"all": [[q.task_id, q.id, q.prompt, q.ids, str(q.day) if calls else None] for q in questions]}
        ),
    }
    with Journal(stage.name, decides, stage.shard) as journal:
        if told := sum(len(batches[number]) for number in journal):
            log.info("%d of %d instances were answered before", told, len(instances))
        answer = answering(lm, questions, batches, settings, calls, stage.params.seed)
        todo = journal.todo(len(batches))
        progress = Progress("instances", sum(len(batches[number]) for number in todo))
        for number in todo:
            journal.add(number, answer(number))
            progress.add(len(batches[number]))
        if stage.shard:
            return
        answers = in_order(batches, map(journal.__getitem__, range(len(batches))))
        names = {"benchmark": benchmark, "system": system}
        rows = [names | table_row(*one, lm) for one in zip(instances, questions, answers, strict=True)]
        timings = [
            {"system": system, "task_id": question.task_id, "id": question.id, "seconds": given["seconds"]}
            for question, given in zip(questions, answers, strict=True)
        ]
        tables.write_file(TIMINGS / f"predict-{stage.item}.parquet", contracts.TIMINGS, timings)
        output = Path("data/predict") / stage.item
        with tables.ArtifactWriter(output) as writer:
            writer.write(contracts.PREDICTIONS, rows)
        journal.remove()
    stage.reads(INGEST, SPLIT, *([RETRIEVE] if recipe["evidence"] else []), adapter or MODEL)
    stage.writes(output)
    stage.count(rows_in=len(instances), rows_out=len(rows))
    stage.details["batches"] = len(batches)
    stage.details["calls"] = sum(len(row["calls"]) for row in rows)
    stage.details["new_tokens"] = sum(row["new_tokens"] for row in rows)


if __name__ == "__main__":
    items = tuple(f"supernatinst-{system}" for system in SYSTEMS)
    main("predict", run, items=items, packages=PACKAGES, threads=True, shards=True)
