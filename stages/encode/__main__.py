"""python -m stages.encode combined|tk_instruct|supervised: data/encode/<recipe>, token ids to train on."""

from importlib.metadata import version
from pathlib import Path

from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.core.harness import Progress, Stage, log, main
from nightjar.core.journal import Journal, code, contents

INGEST, SPLIT, MODEL = (
    Path("data/ingest/natural_instructions"),
    Path("data/split"),
    Path("models/base/language_model"),
)
MERGED, RETRIEVE = Path("data/augment/merged"), Path("data/retrieve")
# Which recipes dvc.yaml gives kept calls and evidence: the others do not wait for them, so they cannot read them.
READS = {"combined": {"calls", "evidence"}, "tk_instruct": set[str](), "supervised": set[str]()}
PACKAGES = ("pyarrow", "transformers", "tokenizers")


def run(stage: Stage) -> None:
    from nightjar.lm.tokenizer import load_tokenizer
    from stages.encode.build import TABLES, Build, Sources

    recipe = getattr(stage.params.train, stage.item)
    for key in ("calls", "evidence"):
        if getattr(recipe, key) and (key not in READS[stage.item] or recipe.data != "train"):
            where, fix = f"params.yaml: train.{stage.item}.{key}", "switch it off, or use the recipe combined"
            raise NightjarError("only combined, on the training tasks, can have this", where, fix)
    calls, evidence = MERGED if recipe.calls else None, RETRIEVE if recipe.evidence else None
    output = Path("data/encode") / stage.item
    work = Build(
        Sources(SPLIT, INGEST, calls, evidence), recipe, stage.params.encoding, load_tokenizer(MODEL)
    )
    read = [INGEST, SPLIT / TABLES[recipe.data].name, SPLIT / contracts.DEV.name, calls, evidence]
    tokenizer = [path for path in sorted(MODEL.iterdir()) if path.suffix in (".json", ".model")]
    decides = {
        "recipe": [recipe.data, recipe.calls, recipe.evidence],
        "encoding": stage.params.encoding.model_dump(),
        "code": [
            code("stages/encode", "nightjar/lm/tokenizer.py", "nightjar/prompts"),
            *map(version, PACKAGES),
        ],
        "reads": contents(*(path for path in [*read, *tokenizer] if path)),
    }
    with Journal(stage.name, decides, stage.shard) as journal:
        if journal:
            log.info("%d of %d tasks were encoded before", len(journal), len(work.units))
        todo = journal.todo(len(work.units))
        progress = Progress("tasks", len(todo))
        for number in todo:
            journal.add(number, work.encode(number))
            progress.add()
        if stage.shard:
            return
        outcome = work.write(output, map(journal.__getitem__, range(len(work.units))))
        journal.remove()
    stage.reads(*(path for path in (SPLIT, INGEST, calls, evidence, MODEL) if path))
    stage.writes(output)
    rows = sum(
        sum(tables.part_rows(SPLIT, contract).values()) for contract in (TABLES[recipe.data], contracts.DEV)
    )
    stage.count(rows, sum(outcome.sides.values()))
    stage.details |= {
        "sides": outcome.sides,
        "tokens": outcome.tokens,
        "targets_with_calls": outcome.targets_with_calls,
    }


if __name__ == "__main__":
    main("encode", run, items=tuple(READS), packages=PACKAGES, threads=True, shards=True)
