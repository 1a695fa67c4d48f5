"""Pseudo-labels of texts against scoring them one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from nightjar.benchmarks.capabilities import Reading
from nightjar.benchmarks.classification.card import CARD
from nightjar.core.errors import NightjarError
from nightjar.models import reader
from tests.tiny_models import sentence_encoder

TEXTS = ["a fine film", "a film that is as long as it is dull , and longer still", "so so"]


def trained(folder: Path, base: Path, **changes: Any) -> Path:
    """Readers of two tasks with random decoders, as the stage train_reader leaves them."""
    torch.manual_seed(3)
    for task in ("sst2", "trec"):
        made = reader.load(base, 1)
        weights = {
            name: torch.randn_like(value) * 0.3 for name, value in made.reader.learning("decoder").items()
        }
        reader.save(weights, folder / task)
    record = {
        "recipe": "reader",
        "form": "intended",
        "passages": 0,
        "shots_per_label": 0,
        "trains": "decoder",
    }
    record |= {"text_maxlength": 64, "decoder_layers": 1, "base": base.as_posix(), "base_sha256": made.sha256}
    record |= {
        "tasks": {"sst2": {}, "trec": {}},
        "fusion": "in_decoder",
        "learning_rate": 0.001,
        "batch_size": 2,
    }
    record |= {"max_steps": 1, "evaluate_every": None, "precision": "float32", "seed": 0}
    (folder / "reader.json").write_text(json.dumps(record | changes))
    return folder


def test_the_label_is_the_likeliest_answer(tmp_path: Path) -> None:
    from stages.consistency.build import labeller

    base = sentence_encoder(tmp_path / "base")
    folder = trained(tmp_path / "readers", base)
    labels = labeller(CARD, folder)
    for task in ("sst2", "trec", "sst2"):
        found = labels(task, TEXTS)
        made = reader.load(base, 1)
        reader.restore(made.reader, "decoder", folder / task)
        reading = CARD.capability(Reading)
        assert reading
        targets = made.tokens.targets(reading.targets(task), made.reader.start)
        for text, label in zip(TEXTS, found, strict=True):
            alone = reading.text(task, text, "intended")
            with torch.inference_mode():
                states = reader.encode(made.reader, [made.tokens.input(alone, alone, 64)])
                scores = reader.answer_scores(
                    made.reader, [states], None, targets, reader.all_answers(targets, 1)
                )
            assert label == targets.names[int(scores[0].argmax())]
    assert labels("sst2", []) == []
    with pytest.raises(NightjarError, match="no reader of the task cola"):
        labels("cola", TEXTS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"passages": 3},
            "trained with passages or demonstrations; set consistency.benchmarks.classification",
        ),
        ({"base_sha256": "0"}, "another base model"),
    ],
)
def test_other_readers_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    from stages.consistency.build import labeller

    folder = trained(tmp_path / "readers", sentence_encoder(tmp_path / "base"), **changes)
    with pytest.raises(NightjarError, match=message):
        labeller(CARD, folder)
