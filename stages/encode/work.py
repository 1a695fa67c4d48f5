"""What a recipe trains on: instances, texts or questions, and the artifacts that they come from."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks import registry
from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.models.tokenizer import load_tokenizer
from nightjar.params import Params
from stages.encode.build import Build, Sources
from stages.encode.questions import QuestionBuild
from stages.encode.texts import TextBuild

TEXTS, QUESTIONS = "corpus", "questions"


def work_of(params: Params, name: str) -> tuple[Build | TextBuild | QuestionBuild, list[Path]]:
    """The work of a recipe, and the artifacts that it reads beside the split. Raises NightjarError as they do."""
    recipe = params.train.recipe(name)
    calls, evidence = inputs(params, name)
    tokenizer = load_tokenizer(paths.LANGUAGE_MODEL)
    if recipe.data == TEXTS and calls:
        return TextBuild(calls, recipe, tokenizer), [calls]
    if recipe.data == QUESTIONS and calls:
        return QuestionBuild(calls, registry.card(calls.name), params.encoding, tokenizer), [calls]
    work = Build(
        Sources(paths.SPLIT, paths.NATURAL_INSTRUCTIONS, calls, evidence), recipe, params.encoding, tokenizer
    )
    return work, [paths.NATURAL_INSTRUCTIONS, *(path for path in (calls, evidence) if path)]


def inputs(params: Params, name: str) -> tuple[Path | None, Path | None]:
    """The artifacts with a recipe's calls and its evidence; None for none.

    A recipe that trains on the corpus reads its texts, with calls or without, from the artifact with the calls. For one
    that trains on the questions of a benchmark the first artifact is that of the questions.
    Raises NightjarError if train.recipes names none for what the recipe uses, or if it trains on instances of the test
    tasks, which have neither.
    """
    recipe, named = params.train.recipe(name), params.train.recipes[name]
    if recipe.data == QUESTIONS:
        path = Path(named.calls)
        if path.parent != paths.QUESTIONS or named.calls != named.evidence:
            fix = f"name {paths.QUESTIONS}/BENCHMARK in train.recipes.{name}.calls and .evidence"
            raise NightjarError("the recipe has no questions", f"params.yaml: train.{name}.data", fix)
        return path, None
    found: list[Path | None] = []
    for key in ("calls", "evidence"):
        path = Path(getattr(named, key))
        wanted = bool(getattr(recipe, key)) or (recipe.data == TEXTS and key == "calls")
        if wanted and (path == paths.SPLIT or recipe.data == "supervised"):
            fix = f"name an artifact in train.recipes.{name}.{key} and do not train on data: supervised"
            fix += "" if recipe.data == TEXTS else ", or switch it off"
            raise NightjarError(f"the recipe has no {key}", f"params.yaml: train.{name}.{key}", fix)
        found.append(path if wanted else None)
    return found[0], found[1]
