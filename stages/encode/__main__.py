"""python -m stages.encode RECIPE: data/encode/RECIPE, the token ids that the recipe trains on."""

from importlib.metadata import version
from pathlib import Path

from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.core.harness import Stage, main
from nightjar.core.journal import code, contents
from nightjar.core.params import Params

INGEST, SPLIT, MODEL = (
    Path("data/ingest/natural_instructions"),
    Path("data/split"),
    Path("models/base/language_model"),
)
PACKAGES = ("pyarrow", "transformers", "tokenizers")


def run(stage: Stage) -> None:
    from nightjar.lm.tokenizer import load_tokenizer
    from stages.encode.build import TABLES, Build, Sources

    recipe = stage.params.train.recipe(stage.item)
    calls, evidence = inputs(stage.params, stage.item)
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
    with stage.resumed(decides, len(work.units), work.encode, "tasks") as encoded:
        if encoded is None:
            return
        outcome = work.write(output, encoded)
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


def inputs(params: Params, name: str) -> tuple[Path | None, Path | None]:
    """The artifacts with a recipe's calls and its evidence; None for none.

    Raises NightjarError if train.recipes names none for what the recipe uses, or the recipe does not train on the
    training tasks, which alone have both.
    """
    recipe, named = params.train.recipe(name), params.train.recipes[name]
    found: list[Path | None] = []
    for key in ("calls", "evidence"):
        path = Path(getattr(named, key))
        if getattr(recipe, key) and (path == SPLIT or recipe.data != "train"):
            fix = f"name an artifact in train.recipes.{name}.{key} and train on data: train, or switch it off"
            raise NightjarError(f"the recipe has no {key}", f"params.yaml: train.{name}.{key}", fix)
        found.append(path if getattr(recipe, key) else None)
    return found[0], found[1]


if __name__ == "__main__":
    main(
        "encode", run, items=lambda params: params.train.recipes, packages=PACKAGES, threads=True, shards=True
    )
