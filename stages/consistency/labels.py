"""Pseudo-labels: what a reader that was trained without passages takes a text for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from nightjar.benchmarks.card import Card
from nightjar.benchmarks.reader_inputs import reading_of
from nightjar.core.errors import NightjarError
from nightjar.core.identity import safe_name
from nightjar.models.reader import (
    AGAIN,
    all_answers,
    answer_scores,
    encode,
    load,
    passes,
    read_record,
    restore,
)
from stages.consistency.build import Labels


def labeller(card: Card, folder: Path) -> Labels:
    """A function that gives the likeliest answer of a task for each of its texts, by the readers in `folder`.

    Raises NightjarError for readers that were trained with passages or demonstrations or on another base model, for a
    task without a reader, and for missing or damaged files.
    """
    record, recipe = read_record(folder)
    if recipe.passages or recipe.shots_per_label:
        fix = f"set consistency.benchmarks.{card.name}.reader to one that reads the question alone"
        raise NightjarError("these readers were trained with passages or demonstrations", folder, fix)
    form, trains, most = recipe.form, recipe.trains, recipe.text_maxlength
    reading = reading_of(card, form)
    base = load(Path(record["base"]), recipe.decoder_layers)
    if base.sha256 != record["base_sha256"]:
        raise NightjarError("the readers were trained on another base model", record["base"], AGAIN)

    @torch.inference_mode()
    def labels(task: str, texts: Sequence[str]) -> list[str]:
        if not texts:
            return []
        if task not in record["tasks"]:
            raise NightjarError(f"no reader of the task {task}", folder, AGAIN)
        restore(base.reader, trains, folder / safe_name(task))
        targets = base.tokens.targets(reading.targets(task), base.reader.start).to(base.device)
        read = [reading.text(task, text, form) for text in texts]
        ids = [base.tokens.input(text, text, most) for text in read]
        found = [""] * len(texts)
        for batch in passes([len(one) for one in ids]):
            states = [[one] for one in encode(base.reader, [ids[place] for place in batch])]
            scores = answer_scores(base.reader, states, None, targets, all_answers(targets, len(batch)))
            for place, best in zip(batch, scores.argmax(dim=1).tolist(), strict=True):
                found[place] = targets.names[best]
        return found

    return labels
