"""One recipe from questions to a folder of readers; a run that was killed resumes at the task that it was at."""

from __future__ import annotations

import json
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from nightjar.benchmarks.question_registry import load_question_set
from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.files import remove, replacing
from nightjar.core.identity import digest, safe_name
from nightjar.models.directory.weights import verify_checksum
from nightjar.models.engine.loading import device_name, prepare
from nightjar.models.reader import RECORD, load, save
from stages._runtime.checkpoint import code_of
from stages._runtime.stage import StageRun, log
from stages.train_reader.reader_questions import ReaderTask, read_tasks
from stages.train_reader.reader_training import TrainedReader, fit

# Trained tasks of a run that is not finished, and its large file of states.


def train(stage: StageRun) -> None:
    """Train the readers of the recipe stage.item, one for each task, and publish them all or none.

    Raises NightjarError for a missing or damaged input, as `read_tasks` and `load`, and if the same training is already
    running.
    """
    recipe = stage.params.readers.recipe(stage.item)
    inputs = stage.params.readers.recipes[stage.item]
    card, seed = load_question_set(inputs.benchmark), stage.params.seed + recipe.seed
    prepare(seed, stage.params.threads)
    base = load(Path(inputs.base), recipe.decoder_layers)
    tasks, questions = read_tasks(card, inputs, recipe, seed, base.tokens)
    cache_key = {
        "base": base.sha256,
        "recipe": recipe.model_dump(),
        "seed": seed,
        "machine": [device_name(), stage.params.threads],
        "code": [
            code_of("train_reader"),
            *map(version, ("torch", "transformers")),
        ],
        "tasks": [
            digest({"targets": dict(task.targets), "train": vars(task.train), "dev": vars(task.dev)})
            for task in tasks
        ],
    }
    work = paths.READERS_WORK / stage.item / digest(cache_key)
    for folder in work.parent.glob("*"):
        if folder != work:
            remove(folder)
    # Every task begins with the same weights.
    begun = {name: p.detach().clone() for name, p in base.reader.learning(recipe.trains).items()}

    def train(number: int) -> dict[str, Any]:
        task = tasks[number]
        with torch.no_grad():
            for name, parameter in base.reader.learning(recipe.trains).items():
                parameter.copy_(begun[name])
        trained = fit(base, recipe.of(task.name), task, seed, work)
        folder = work / safe_name(task.name)
        sha256 = save(trained.weights, folder)
        (folder / "steps.jsonl").write_text(_curve(trained), encoding="utf-8")
        facts = _facts(task, trained) | {"sha256": sha256}
        log.info("%s: step %d, dev accuracy %s", task.name, trained.chosen_step, facts["dev_accuracy"])
        return facts

    record = {
        "recipe": stage.item,
        **recipe.model_dump(),
        **inputs.model_dump(),
        "base_sha256": base.sha256,
        "seed": seed,
    }
    output = paths.READERS / stage.item
    with stage.run_resumable(
        cache_key, len(tasks), lambda todo: ((number, train(number)) for number in todo), "tasks"
    ) as values:
        assert values is not None  # this stage has no shards
        facts = {task.name: value for task, value in zip(tasks, values, strict=True)}
        publish(work, output, record | {"tasks": facts})
    remove(work)
    stage.reads(paths.QUESTIONS / card.name, Path(inputs.base))
    if recipe.passages and inputs.evidence and inputs.index:
        stage.reads(inputs.evidence, inputs.index)
    stage.writes(output)
    stage.count(rows_in=questions, rows_out=questions)
    stage.details |= {"tasks": facts, "base_sha256": base.sha256}


def publish(work: Path, output: Path, record: dict[str, Any]) -> None:
    """Put the trained tasks of the folder `work` and the record into `output`, all or nothing.

    Raises NightjarError for a task whose weights are missing or not those that were trained.
    """
    with replacing(output) as directory:
        directory.mkdir()
        for task, facts in record["tasks"].items():
            folder = work / safe_name(task)
            if not folder.is_dir() or verify_checksum(folder) != facts["sha256"]:
                what = f"the weights of the task {task}, which an earlier run trained, are missing or damaged"
                raise NightjarError(what, folder, f"remove {paths.CHECKPOINTS} and run it again")
            shutil.copytree(folder, directory / folder.name)
        text = json.dumps(record, indent=2, sort_keys=True) + "\n"
        (directory / RECORD).write_text(text, encoding="utf-8")


def _curve(trained: TrainedReader) -> str:
    """One JSON line a step: its loss, and the accuracy on dev where it was measured."""
    rows = [
        {"step": step, "loss": loss} | ({"dev_accuracy": trained.dev[step]} if step in trained.dev else {})
        for step, loss in enumerate(trained.losses, start=1)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def _facts(task: ReaderTask, trained: TrainedReader) -> dict[str, Any]:
    return {
        "train_questions": len(task.train),
        "dev_questions": len(task.dev),
        "chosen_step": trained.chosen_step,
        "dev_accuracy": round(trained.dev[trained.chosen_step], 4) if trained.dev else None,
        "first_loss": round(trained.losses[0], 4),
        "last_loss": round(sum(trained.losses[-5:]) / len(trained.losses[-5:]), 4),
    }
