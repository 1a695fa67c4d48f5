"""python -m stages.encode RECIPE: data/encode/RECIPE, the token ids that the recipe trains on."""

from importlib.metadata import version
from pathlib import Path

from nightjar.core import paths
from nightjar.core.identity import code, contents
from stages._runtime.stage import Stage, main
from stages.encode.work import work_of

# What a recipe's units are called in messages, where they are not tasks.
UNITS = {"corpus": "parts", "questions": "parts"}
PACKAGES = ("pyarrow", "transformers", "tokenizers")
CODE = (
    "stages/encode",
    "nightjar/models/tokenizer.py",
    "nightjar/prompts",
    "nightjar/tools/syntax.py",
    "nightjar/benchmarks/card.py",
    "nightjar/benchmarks/question.py",
)


def run(stage: Stage) -> None:
    recipe = stage.params.train.recipe(stage.item)
    output = paths.ENCODED / stage.item
    texts = Path(stage.params.train.recipes[stage.item].texts)
    work, read = work_of(stage.params, stage.item)
    sides = [texts / unit.contract.name for unit in work.units] if recipe.data not in UNITS else []
    files = [path for path in sorted(paths.LANGUAGE_MODEL.iterdir()) if path.suffix in (".json", ".model")]
    cache_key = {
        "recipe": [recipe.data, recipe.calls, recipe.evidence, recipe.sequence_tokens],
        "encoding": stage.params.encoding.model_dump(),
        "code": [code(*CODE), *map(version, PACKAGES)],
        "reads": contents(*read, *dict.fromkeys(sides), *files),
    }
    with stage.run_resumable(
        cache_key,
        len(work.units),
        lambda todo: ((number, work.encode(number)) for number in todo),
        UNITS.get(recipe.data, "tasks"),
    ) as encoded:
        if encoded is None:
            return
        outcome = work.write(output, encoded)
    stage.reads(*([texts] if sides else []), *read, paths.LANGUAGE_MODEL)
    stage.writes(output)
    # Instances, texts or questions; a long text is several rows of the artifact.
    stage.count(sum(unit.rows for unit in work.units), outcome.read, outcome.refused)
    stage.details |= {
        "sides": outcome.sides,
        "tokens": outcome.tokens,
        "targets_with_calls": outcome.targets_with_calls,
    }


if __name__ == "__main__":
    main("encode", run, packages=PACKAGES, threads=True, shards=True)
