"""What a recipe trains on: instances, texts or questions, and the artifacts that they come from."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks import registry
from nightjar.core import paths
from nightjar.models.tokenizer import load_tokenizer
from nightjar.params import Params
from stages.encode.build import Build, Sources
from stages.encode.questions import QuestionBuild
from stages.encode.texts import TextBuild

TEXTS, QUESTIONS = "corpus", "questions"


def work_of(params: Params, name: str) -> tuple[Build | TextBuild | QuestionBuild, list[Path]]:
    """The work of a recipe, and the artifacts that it reads whole. Raises NightjarError as they do."""
    recipe, inputs = params.train.recipe(name), params.train.recipes[name]
    texts, tokenizer = Path(inputs.texts), load_tokenizer(paths.LANGUAGE_MODEL)
    if recipe.data == TEXTS:
        return TextBuild(texts, recipe, tokenizer), [texts]
    if recipe.data == QUESTIONS:
        return QuestionBuild(texts, registry.card(texts.name), params.encoding, tokenizer), [texts]
    tasks, calls, evidence = paths.NATURAL_INSTRUCTIONS, inputs.calls, inputs.evidence
    work = Build(Sources(texts, tasks, calls, evidence), recipe, params.encoding, tokenizer)
    return work, [tasks, *(path for path in (calls, evidence) if path)]
