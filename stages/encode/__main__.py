"""python -m stages.encode combined|tk_instruct|supervised: data/encode/<recipe>, token ids to train on."""

from pathlib import Path

from stages.errors import NightjarError
from stages.harness import Stage, main

INGEST, SPLIT, MODEL = (
    Path("data/ingest/natural_instructions"),
    Path("data/split"),
    Path("models/base/language_model"),
)
MERGED, RETRIEVE = Path("data/augment/merged"), Path("data/retrieve")
# Which recipes dvc.yaml gives kept calls and evidence: the others do not wait for them, so they cannot read them.
READS = {"combined": {"calls", "evidence"}, "tk_instruct": set[str](), "supervised": set[str]()}


def run(stage: Stage) -> None:
    from stages.encode.build import Sources, build
    from stages.lm.load import load_tokenizer, prepare

    recipe = getattr(stage.params.train, stage.item)
    for key in ("calls", "evidence"):
        if getattr(recipe, key) and (key not in READS[stage.item] or recipe.data != "train"):
            where, fix = f"params.yaml: train.{stage.item}.{key}", "switch it off, or use the recipe combined"
            raise NightjarError("only combined, on the training tasks, can have this", where, fix)
    prepare(stage.params.seed, stage.params.threads)
    calls, evidence = MERGED if recipe.calls else None, RETRIEVE if recipe.evidence else None
    output = Path("data/encode") / stage.item
    sources = Sources(SPLIT, INGEST, calls, evidence)
    outcome = build(sources, output, recipe, stage.params.encoding, load_tokenizer(MODEL))
    stage.reads(*(path for path in (SPLIT, INGEST, calls, evidence, MODEL) if path))
    stage.writes(output)
    stage.count(outcome.rows_in, outcome.rows_out)
    stage.details |= {
        "sides": outcome.sides,
        "tokens": outcome.tokens,
        "targets_with_calls": outcome.targets_with_calls,
    }


if __name__ == "__main__":
    main("encode", run, items=tuple(READS), packages=("pyarrow", "transformers", "tokenizers"), threads=True)
