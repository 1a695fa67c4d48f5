"""python -m stages.encode RECIPE: data/encode/RECIPE, the token ids that the recipe trains on."""

from importlib.metadata import version
from pathlib import Path

from nightjar.benchmarks.question_registry import load_question_set
from nightjar.core import paths
from nightjar.core.contracts import SPLIT_TASKS
from nightjar.core.identity import contents
from nightjar.models.tokenizer import load_tokenizer
from nightjar.params import Params
from stages._runtime.checkpoint import code_of
from stages._runtime.stage import StageRun, main
from stages.encode.encoded_documents import TextBuild
from stages.encode.encoded_tasks import Build, InputFolders
from stages.encode.question_pairs import QuestionBuild

TEXTS, QUESTIONS = "corpus", "questions"

# What a recipe's units are called in messages, where they are not tasks.
UNITS = {TEXTS: "parts", QUESTIONS: "parts"}
PACKAGES = ("pyarrow", "transformers", "tokenizers")


def work_of(params: Params, name: str) -> tuple[Build | TextBuild | QuestionBuild, list[Path]]:
    """The work of a recipe, and the artifacts that it reads whole. Raises NightjarError as they do."""
    recipe = params.train.recipes[name]
    texts, tokenizer = Path(recipe.texts), load_tokenizer(paths.LANGUAGE_MODEL)
    if recipe.data == TEXTS:
        return TextBuild(texts, recipe, tokenizer), [texts]
    if recipe.data == QUESTIONS:
        return QuestionBuild(texts, load_question_set(texts.name), params.encoding, tokenizer), [texts]
    tasks, calls, evidence = paths.NATURAL_INSTRUCTIONS, recipe.calls, recipe.evidence
    work = Build(InputFolders(texts, tasks, calls, evidence), recipe, params.encoding, tokenizer)
    return work, [tasks, *(path for path in (calls, evidence) if path)]


def run(stage: StageRun) -> None:
    recipe = stage.params.train.recipes[stage.item]
    output, texts = paths.ENCODED / stage.item, Path(recipe.texts)
    work, read = work_of(stage.params, stage.item)
    sides = [texts / unit.contract.name for unit in work.units] if recipe.data not in UNITS else []
    if recipe.track:
        sides.append(texts / SPLIT_TASKS.name)
    files = [path for path in sorted(paths.LANGUAGE_MODEL.iterdir()) if path.suffix in (".json", ".model")]
    cache_key = {
        "recipe": [
            recipe.data,
            recipe.calls is not None,
            recipe.passages,
            recipe.sequence_tokens,
            recipe.track,
        ],
        "encoding": stage.params.encoding.model_dump(),
        "code": [code_of("encode"), *map(version, PACKAGES)],
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
