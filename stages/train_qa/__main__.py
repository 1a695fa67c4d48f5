"""python -m stages.train_qa NAME: models/qa/NAME, an extractive reader for the tool QA and for systems of kind span."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nightjar.core import contracts, paths, tables
from nightjar.core.errors import NightjarError
from nightjar.core.files import replacing
from nightjar.core.identity import digest
from nightjar.models.directory.weights import is_extractive, write_checksums
from stages._runtime.checkpoint import code_of, folder_of
from stages._runtime.stage import StageRun, log, main

PACKAGES = ("torch", "transformers")
# The files of a tokenizer, of whatever kind.
TOKENIZERS = (
    "tokenizer*.json",
    "vocab*",
    "merges.txt",
    "*.model",
    "added_tokens.json",
    "special_tokens_map.json",
)


def run(stage: StageRun) -> None:
    """Train the reader epoch by epoch; a run that was killed resumes at the epoch that it was at.

    Raises NightjarError for a benchmark whose training questions have no passage, and for a missing or damaged input.
    """
    from nightjar.benchmarks.question import questions_of
    from nightjar.models import extractive_reader
    from nightjar.models.engine.loading import device_name, prepare
    from stages.train_qa.span_training import Fit, examples

    recipe = stage.params.qa_readers[stage.item]
    source, base = paths.QUESTIONS / recipe.benchmark, Path(recipe.base)
    if not (source / contracts.TRAIN_QUESTIONS.name).exists():
        fix = f"name its files in benchmarks.{recipe.benchmark}.train and dev"
        raise NightjarError(f"{recipe.benchmark} has no training questions", source, fix)
    prepare(stage.params.seed, stage.params.threads)
    reader = extractive_reader.load_extractive_reader(base, fresh=not is_extractive(base))
    sides = {
        side: examples(reader, questions_of(tables.read_rows(source, contract)), source)
        for side, contract in (("train", contracts.TRAIN_QUESTIONS), ("dev", contracts.DEV_QUESTIONS))
    }
    cache_key = {
        "base": reader.sha256,
        "recipe": recipe.model_dump(),
        "seed": stage.params.seed,
        "machine": [device_name(), stage.params.threads],
        "code": [code_of("train_qa"), *map(version, PACKAGES)],
        "questions": [digest({"all": [list(example) for example in side]}) for side in sides.values()],
    }
    work = folder_of(stage.name, cache_key, stage.folder / paths.CHECKPOINTS)
    fit = Fit(reader, recipe, stage.params.seed, sides["train"], sides["dev"], work)

    def train(todo: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        for epoch in todo:
            facts = fit.epoch(epoch)
            log.info("epoch %d of %d: %s", epoch + 1, recipe.epochs, facts)
            yield epoch, facts

    output = paths.QA_READERS / stage.item
    with stage.run_resumable(cache_key, recipe.epochs, train, "epochs") as values:
        assert values is not None  # this stage has no shards
        epochs = list(values)
        best = max(range(len(epochs)), key=lambda number: (epochs[number]["dev_exact_match"], -number))
        fit.restore(best)
        publish(
            reader, base, output, {"name": stage.item, **recipe.model_dump(), "base_sha256": reader.sha256}
        )
    stage.reads(source, base)
    stage.writes(output)
    questions = sum(map(len, sides.values()))
    stage.count(rows_in=questions, rows_out=questions)
    stage.details |= {
        "questions": {side: len(side_examples) for side, side_examples in sides.items()},
        "without_answer": {
            side: sum(not example.spans for example in side_examples) for side, side_examples in sides.items()
        },
        "epochs": epochs,
        "chosen_epoch": best + 1,
    }


def tokenizer_files(folder: Path) -> list[Path]:
    """The files of a model directory that are its tokenizer's."""
    return sorted({file for pattern in TOKENIZERS for file in folder.glob(pattern)})


def publish(reader: Any, base: Path, output: Path, record: dict[str, Any]) -> None:
    """Write the model with its tokenizer and how it was trained, all or nothing."""
    with replacing(output) as folder:
        reader.model.save_pretrained(folder)
        for file in tokenizer_files(base):
            shutil.copyfile(file, folder / file.name)
        (folder / "qa_reader.json").write_text(
            json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8"
        )
        write_checksums(folder)


if __name__ == "__main__":
    main("train_qa", run, packages=PACKAGES, threads=True)
