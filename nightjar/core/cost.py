"""What the time of a stage grows with: rows that it works on, and the parameters that change the time of each row.

The local history records both with the seconds of a run, and `nightjar plan` scales by them. A stage that is not in
COSTS takes about as long every time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.core.files import metrics_file
from nightjar.core.json_text import parse

# Seconds in which a stage that loads a model, and any other, starts; they do not grow with the rows.
MODEL_START, START = 10.0, 1.0


@dataclass(frozen=True)
class Cost:
    """`rows` are tables as (the stage that makes it, its name); `times` is a parameter that multiplies their rows.

    If a parameter of `settings` has another value, nothing is known of the time. In all of them {item} is the part of
    the stage's name after the @, and {benchmark} that part before its first hyphen.
    """

    rows: tuple[tuple[str, str], ...] = ()
    settings: tuple[str, ...] = ()
    times: str = ""
    start: float = START


_TASKS = "ingest.natural_instructions.path"
_CORPUS = "ingest.corpus.path"
_INSTANCES = ("ingest@natural_instructions", "instances")
_DOCUMENTS = ("ingest@corpus", "documents")
_TRAIN, _DEV, _TEST, _SUPERVISED = (("split", name) for name in ("train", "dev", "test", "supervised"))
_MODEL = ("models.language_model.source", "threads")
_ENCODER = ("models.sentence_encoder.source", "threads")

_ENCODE = (_TASKS, _MODEL[0], "encoding", "train.{item}.data", "train.{item}.calls", "train.{item}.evidence")
_RECIPE = ("method", "lora_rank", "precision", "max_steps", "batch_size", "batch_tokens")
_TRAINING = (
    *_ENCODE,
    "threads",
    "train.launcher",
    *(f"train.{{item}}.{key}" for key in (*_RECIPE, "gradient_checkpointing", "evaluate_every")),
)
_ANSWERS = (
    "encoding",
    "max_new_tokens",
    "batch_size",
    "batch_tokens",
    "precision",
    "call_top_k",
    "max_calls",
)
_EPOCHS = "train.{item}.epochs"

COSTS: Mapping[str, Cost] = {
    "base_model": Cost(settings=("models.language_model.source", "models.sentence_encoder.source")),
    "ingest": Cost(settings=("ingest.{item}.path",)),
    "split": Cost((_INSTANCES,), (_TASKS,)),
    "augment": Cost(
        settings=(
            *_MODEL,
            "augment.tools.{item}",
            *(f"augment.{key}" for key in ("precision", "max_call_tokens", "max_text_tokens")),
            *(f"augment.{key}" for key in ("max_documents", "max_targets")),
        ),
        start=MODEL_START,
    ),
    "augment_merge": Cost((_TRAIN, _DOCUMENTS), (_TASKS, _CORPUS)),
    "contamination": Cost((_TRAIN, _TEST, _DOCUMENTS), (_TASKS, _CORPUS)),
    "index": Cost((_DOCUMENTS,), (_CORPUS, *_ENCODER, "index"), start=MODEL_START),
    "retrieve": Cost(
        (_TRAIN, _DEV, _TEST), (_TASKS, _CORPUS, *_ENCODER, "index", "retrieve"), start=MODEL_START
    ),
    "encode": Cost((_TRAIN, _DEV), _ENCODE),
    "encode@supervised": Cost((_SUPERVISED, _DEV), _ENCODE),
    "train": Cost((_TRAIN,), _TRAINING, _EPOCHS, MODEL_START),
    "train@supervised": Cost((_SUPERVISED,), _TRAINING, _EPOCHS, MODEL_START),
    "predict": Cost(
        (_TEST,),
        (_TASKS, *_MODEL, "encoding", *(f"predict.{{benchmark}}.{key}" for key in _ANSWERS)),
        start=MODEL_START,
    ),
    "evaluate": Cost((_TEST,), ("evaluate.{benchmark}.bootstrap_samples",)),
}


def of(stage: str) -> Cost | None:
    """The cost of the stage of that name, the names in it filled in; None if it has none."""
    cost = COSTS.get(stage) or COSTS.get(stage.partition("@")[0])
    if cost is None:
        return None
    item = stage.partition("@")[2]
    names = {"item": item, "benchmark": item.partition("-")[0]}
    settings = tuple(key.format(**names) for key in cost.settings)
    return Cost(cost.rows, settings, cost.times.format(**names), cost.start)


def size(root: Path, cost: Cost, params: Mapping[str, Any]) -> float | None:
    """How many rows a stage of that cost works on now, by the facts of the stages that made them: 1 if it names none,
    None if it is not known.
    """
    whole = 0.0 if cost.rows else 1.0
    for stage, table in cost.rows:
        rows = _rows(root, stage, table)
        if rows is None:
            return None
        whole += rows
    times = value(params, cost.times) if cost.times else 1
    return whole * times if isinstance(times, int | float) else None


def settings(cost: Cost, params: Mapping[str, Any]) -> dict[str, Any]:
    """The values of its settings in the parameters, as JSON has them; what is not there is None."""
    found = {key: value(params, key) for key in cost.settings}
    return dict(json.loads(json.dumps(found, default=str)))


def value(params: Mapping[str, Any], key: str) -> Any:
    """The parameter of that name, such as `train.combined.epochs`; None if there is none."""
    found: Any = params
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _rows(root: Path, stage: str, table: str) -> float | None:
    try:
        facts = parse((root / metrics_file(stage)).read_bytes())
        found = [tables[table]["rows"] for tables in facts["tables"].values() if table in tables]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return float(found[0]) if found and isinstance(found[0], int) else None
