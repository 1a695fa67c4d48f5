"""python -m stages.train combined|tk_instruct: models/train/<recipe>, an adapter or a model, and how it was made."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

from stages import contracts, tables
from stages.harness import Stage, log, main

INGEST, SPLIT = Path("data/ingest/natural_instructions"), Path("data/split")
MERGED, RETRIEVE, MODEL = (
    Path("data/augment/merged"),
    Path("data/retrieve"),
    Path("models/base/language_model"),
)


def run(stage: Stage) -> None:
    from stages.lm.load import load, prepare
    from stages.train.examples import build
    from stages.train.loop import Step, save, train

    params, recipe = stage.params, getattr(stage.params.train, stage.item)
    tasks = {row["task_id"]: row for row in tables.read_rows(INGEST, contracts.TASKS)}
    instances = tables.read_rows(SPLIT, contracts.TRAIN)
    calls = {
        (row["task_id"], row["id"], row["target"]): row["text"]
        for row in (tables.read_rows(MERGED, contracts.CALLS_MERGED) if recipe.calls else [])
        if row["source"] == "train"
    }
    evidence = tables.evidence_by_instance(RETRIEVE, "train") if recipe.evidence else {}

    prepare(params.seed, params.threads)
    lm = load(MODEL, "float32" if recipe.method == "full" else recipe.precision)
    examples = build(
        instances, tasks, recipe, params.encoding, lm.tokenizer, lm.tokenizer.end, calls, evidence
    )
    history: list[Step] = []

    def report(step: Step, steps: int) -> None:
        history.append(step)
        if step.step % 5 == 0 or step.step in (1, steps):
            log.info("step %d of %d, loss %.3f", step.step, steps, step.loss)

    model = train(lm, examples, recipe, params.seed, report)
    output = Path("models/train") / stage.item
    temporary = tables.temporary_sibling(output)
    try:
        temporary.mkdir()
        digest = save(model, temporary)
        made = {"recipe": stage.item, **recipe.model_dump(), "base_sha256": lm.sha256, "seed": params.seed}
        (temporary / "recipe.json").write_text(
            json.dumps(made, indent=2, sort_keys=True) + "\n", encoding="utf-8"
        )
        lines = (json.dumps(asdict(step)) + "\n" for step in history)
        (temporary / "steps.jsonl").write_text("".join(lines), encoding="utf-8")
        tables.replace(temporary, output)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    stage.reads(INGEST, SPLIT, MERGED, RETRIEVE, MODEL)
    stage.writes(output)
    stage.count(rows_in=len(instances), rows_out=len(examples))
    stage.details |= {
        "steps": len(history),
        "tokens": sum(step.tokens for step in history),
        "target_tokens": sum(step.target_tokens for step in history),
        "targets_with_calls": len(calls),
        "first_loss": round(history[0].loss, 4),
        "last_loss": round(sum(step.loss for step in history[-5:]) / len(history[-5:]), 4),
        "sha256": digest,
    }


if __name__ == "__main__":
    packages = ("torch", "transformers", "accelerate", "peft")
    main("train", run, items=("combined", "tk_instruct"), packages=packages, threads=True)
