"""Predictions of readers: one for each task, which scores the words of every answer."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from nightjar.benchmarks.card import Card
from nightjar.benchmarks.files import read_questions
from nightjar.benchmarks.question import Question, questions_of
from nightjar.benchmarks.reader_inputs import (
    Read,
    pool_of,
    reading_of,
    with_demonstrations,
    with_passages,
)
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.core.files import safe_name
from nightjar.core.harness import Stage
from nightjar.core.journal import code, digest
from nightjar.core.predict_params import System
from nightjar.core.reader_params import ReaderRecipe
from nightjar.lm.load import device_name, prepare
from nightjar.lm.reader import (
    AGAIN,
    RECORD,
    Base,
    Tokens,
    all_answers,
    answer_scores,
    encode,
    load,
    passes,
    read_record,
    restore,
)
from stages.predict.output import publish
from stages.predict.prompts import QUESTIONS


def is_reader(weights: Path) -> bool:
    """Whether these are the weights of a recipe of readers."""
    return (weights / RECORD).is_file()


def predict(stage: Stage, card: Card, system: System) -> None:
    """Answer with the readers of system.weights: a row of contracts.PREDICTIONS for each question.

    Raises NightjarError for a task without a reader, other evidence than the readers were trained with, another base
    model, and missing or damaged files.
    """
    weights, source = Path(system.weights), QUESTIONS / card.name
    record, recipe = read_record(weights)
    _check_evidence(stage, system, record, recipe)
    questions = read_questions(source)
    if missing := sorted({one.task_id for one in questions} - record["tasks"].keys()):
        what = f"the recipe {record['recipe']} has no reader of the task {missing[0]}"
        raise NightjarError(what, weights, AGAIN)
    prepare(stage.params.seed, stage.params.threads)
    base = load(Path(record["base"]), recipe.decoder_layers)
    if base.sha256 != record["base_sha256"]:
        raise NightjarError("the readers were trained on another base model", record["base"], AGAIN)
    read = _inputs(card, recipe, system, source, questions, base.tokens, recipe.seed)
    ids = [one.ids(base.tokens, recipe.text_maxlength) for one in read]
    decides = {
        "base": base.sha256,
        "readers": record,
        "machine": [device_name(), stage.params.threads],
        "card": [card.name, card.version],
        "code": [code("nightjar/lm/reader", "stages/predict"), *map(version, ("torch", "transformers"))],
        "questions": digest(
            {
                "all": [
                    [*one.key, own, list(made.prior)]
                    for one, own, made in zip(questions, ids, read, strict=True)
                ]
            }
        ),
    }

    def answer(numbers: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        for task in dict.fromkeys(questions[number].task_id for number in numbers):
            # Whole tasks, because an answer may depend on its batch in the last bits of its score.
            own = [number for number, one in enumerate(questions) if one.task_id == task]
            wanted = set(numbers)
            sha256 = restore(base.reader, recipe.trains, weights / safe_name(task))
            texts = reading_of(card, recipe.form).targets(task)
            for number, name, seconds in _answers(base, recipe, own, ids, read, texts):
                if number in wanted:
                    yield number, {"answer": name, "seconds": seconds, "sha256": sha256}

    with stage.resumed_in_any_order(decides, len(questions), answer, "questions") as given:
        if given is None:
            return
        rows = [
            {
                "answers": [found["answer"]],
                "text": found["answer"],
                "calls": [],
                "new_tokens": 0,
                "seconds": found["seconds"],
                "prompt": (text := "\n".join(one.texts)),
                "prompt_sha256": hashlib.sha256(text.encode()).hexdigest(),
                "prompt_tokens": sum(map(len, own)),
                "model_sha256": base.sha256,
                "adapter_sha256": found["sha256"],
            }
            for one, own, found in zip(read, ids, given, strict=True)
        ]
        publish(stage, system, questions, rows)
    stage.reads(source, weights, *([Path(system.evidence)] if recipe.passages else []))


def _answers(
    base: Base,
    recipe: ReaderRecipe,
    numbers: Sequence[int],
    ids: Sequence[list[list[int]]],
    read: Sequence[Read],
    texts: Mapping[str, str],
) -> Iterator[tuple[int, str, float]]:
    """Number, answer and seconds of the questions of one task, in batches of like length."""
    targets = base.tokens.targets(texts, base.reader.start).to(base.device)
    half = recipe.precision == "bfloat16"
    for batch in passes([sum(map(len, ids[number])) for number in numbers]):
        own, started = [numbers[place] for place in batch], time.monotonic()
        with torch.inference_mode(), torch.autocast(base.device.type, torch.bfloat16, enabled=half):
            states = iter(encode(base.reader, [one for number in own for one in ids[number]]))
            taken = [[next(states) for _ in ids[number]] for number in own]
            priors = [read[number].prior for number in own] if recipe.fusion == "rag_sequence" else None
            scores = answer_scores(base.reader, taken, priors, targets, all_answers(targets, len(own)))
        seconds = round((time.monotonic() - started) / len(own), 6)
        for number, place in zip(own, scores.argmax(dim=1).tolist(), strict=True):
            yield number, targets.names[place], seconds


def _inputs(
    card: Card,
    recipe: ReaderRecipe,
    system: System,
    source: Path,
    questions: Sequence[Question],
    tokens: Tokens,
    seed: int,
) -> list[Read]:
    reading = reading_of(card, recipe.form)
    if not recipe.shots_per_label:
        evidence = Path(system.evidence) if recipe.passages else None
        return with_passages(
            reading,
            recipe.form,
            questions,
            evidence,
            Path(system.resource),
            "test",
            recipe.passages,
            recipe.temperature,
        )
    train = questions_of(tables.read_rows(source, contracts.TRAIN_QUESTIONS))
    pools = {
        task: pool_of(
            [one for one in train if one.task_id == task],
            list(reading.targets(task)),
            recipe.shots_per_label,
            seed,
        )
        for task in dict.fromkeys(one.task_id for one in questions)
    }
    most = recipe.text_maxlength
    return with_demonstrations(reading, recipe.form, questions, pools, seed, tokens, most)


def _check_evidence(stage: Stage, system: System, record: dict[str, Any], recipe: ReaderRecipe) -> None:
    """Raise NightjarError if a system reads other evidence than its readers were trained with."""
    for key in ("benchmark", "evidence", "resource"):
        if getattr(system, key) != record.get(key):
            what = f"the readers of {record['recipe']} were trained with {record.get(key)}"
            fix = f"set predict.systems.{stage.item}.{key} to it"
            raise NightjarError(what, f"predict.systems.{stage.item}.{key}", fix)
