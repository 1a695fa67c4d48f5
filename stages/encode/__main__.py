"""python -m stages.encode RECIPE: data/encode/RECIPE, the token ids that the recipe trains on."""

from importlib.metadata import version
from pathlib import Path

from nightjar.core.errors import NightjarError
from nightjar.core.harness import Stage, main
from nightjar.core.journal import code, contents
from nightjar.core.params import Params

TEXTS = "corpus"
INGEST, SPLIT, MODEL = (
    Path("data/ingest/natural_instructions"),
    Path("data/split"),
    Path("models/base/language_model"),
)
PACKAGES = ("pyarrow", "transformers", "tokenizers")


def run(stage: Stage) -> None:
    from nightjar.lm.tokenizer import load_tokenizer
    from stages.encode.build import Build, Sources
    from stages.encode.texts import TextBuild

    recipe = stage.params.train.recipe(stage.item)
    calls, evidence = inputs(stage.params, stage.item)
    output = Path("data/encode") / stage.item
    tokenizer = load_tokenizer(MODEL)
    work: Build | TextBuild
    if recipe.data == TEXTS:
        read = [path for path in (calls,) if path]
        work = TextBuild(read[0], recipe, tokenizer)
    else:
        work = Build(Sources(SPLIT, INGEST, calls, evidence), recipe, stage.params.encoding, tokenizer)
        read = [INGEST, *(path for path in (calls, evidence) if path)]
    sides = [SPLIT / unit.contract.name for unit in work.units] if recipe.data != TEXTS else []
    files = [path for path in sorted(MODEL.iterdir()) if path.suffix in (".json", ".model")]
    decides = {
        "recipe": [recipe.data, recipe.calls, recipe.evidence, recipe.sequence_tokens],
        "encoding": stage.params.encoding.model_dump(),
        "code": [
            code("stages/encode", "nightjar/lm/tokenizer.py", "nightjar/prompts", "nightjar/tools/syntax.py"),
            *map(version, PACKAGES),
        ],
        "reads": contents(*read, *dict.fromkeys(sides), *files),
    }
    with stage.resumed(
        decides, len(work.units), work.encode, "parts" if recipe.data == TEXTS else "tasks"
    ) as encoded:
        if encoded is None:
            return
        outcome = work.write(output, encoded)
    stage.reads(*([SPLIT] if sides else []), *read, MODEL)
    stage.writes(output)
    # Instances or texts; a long text is several rows of the artifact.
    stage.count(sum(unit.rows for unit in work.units), outcome.read)
    stage.details |= {
        "sides": outcome.sides,
        "tokens": outcome.tokens,
        "targets_with_calls": outcome.targets_with_calls,
    }


def inputs(params: Params, name: str) -> tuple[Path | None, Path | None]:
    """The artifacts with a recipe's calls and its evidence; None for none.

    A recipe that trains on the corpus reads its texts, with calls or without, from the artifact with the calls.
    Raises NightjarError if train.recipes names none for what the recipe uses, or if it trains on instances of the test
    tasks, which have neither.
    """
    recipe, named = params.train.recipe(name), params.train.recipes[name]
    found: list[Path | None] = []
    for key in ("calls", "evidence"):
        path = Path(getattr(named, key))
        wanted = bool(getattr(recipe, key)) or (recipe.data == TEXTS and key == "calls")
        if wanted and (path == SPLIT or recipe.data == "supervised"):
            fix = f"name an artifact in train.recipes.{name}.{key} and do not train on data: supervised"
            fix += "" if recipe.data == TEXTS else ", or switch it off"
            raise NightjarError(f"the recipe has no {key}", f"params.yaml: train.{name}.{key}", fix)
        found.append(path if wanted else None)
    return found[0], found[1]


if __name__ == "__main__":
    main(
        "encode", run, items=lambda params: params.train.recipes, packages=PACKAGES, threads=True, shards=True
    )
