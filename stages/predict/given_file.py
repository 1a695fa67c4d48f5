"""Answers from a file of predictions that something else made: people, a published system, another program."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nightjar.benchmarks.card import Card
from nightjar.benchmarks.files import read_answers, read_questions
from nightjar.benchmarks.subset import WHOLE
from nightjar.core.files import sha256_of
from nightjar.core.harness import Stage
from nightjar.core.predict_params import System
from stages.predict.output import NOTHING_WRITTEN, publish


def is_predictions(weights: Path) -> bool:
    """Whether a system's weights are a file of predictions."""
    return weights.suffix in (".json", ".jsonl")


def predict(stage: Stage, card: Card, system: System, source: Path) -> None:
    """Publish the answers of the file `system.weights`, which has the form that `nightjar score` reads.

    The file takes the place of a model: its sha256 is the model's. Questions without a prediction are rejected. Where
    `source` is a sample of questions, the file may answer all of them. Raises NightjarError for what
    `files.read_answers` refuses: another form, unknown and doubled ids.
    """
    if stage.shard:
        return  # the run that publishes takes no time
    file, questions = Path(system.weights), read_questions(source)
    row: Mapping[str, Any] = {
        **NOTHING_WRITTEN,
        "seconds": 0.0,
        "prompt": "",
        "prompt_sha256": hashlib.sha256(b"").hexdigest(),
        "prompt_tokens": 0,
        "model_sha256": sha256_of(file),
        "adapter_sha256": None,
    }
    whole = read_questions(source / WHOLE) if (source / WHOLE).is_dir() else questions
    given = zip((one.key for one in whole), read_answers(card, file, whole), strict=True)
    answers = {key: {"answers": it, **row} for key, it in given if it is not None}
    publish(stage, system, questions, [answers.get(one.key) for one in questions])
    stage.reads(source, file)
