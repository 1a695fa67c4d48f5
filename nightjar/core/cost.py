"""What the time of a stage grows with: rows that it works on, and the parameters that change the time of each row.

The local history records both with the seconds of a run, and `nightjar plan` scales by them. A stage that is not in
COSTS takes about as long every time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
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

    If a parameter of `settings` has another value, nothing is known of the time.
    """

    rows: tuple[tuple[str, str], ...] = ()
    settings: tuple[str, ...] = ()
    times: str = ""
    start: float = START


Params = Mapping[str, Any]

_TASKS, _CORPUS = "ingest.natural_instructions.path", "ingest.corpus.path"
_DOCUMENTS = ("ingest@corpus", "documents")
_TRAIN, _DEV, _TEST = (("split", name) for name in ("train", "dev", "test"))
_MODEL = ("models.language_model.source", "threads")
_ENCODER = ("models.sentence_encoder.source", "threads")
_SPLIT, _INGESTED, _ASKED = "data/split", "data/ingest/", "data/questions/"
_TRAINING_SIDES = ("train_questions", "dev_questions")
_TRAINING = [
    "precision",
    "method",
    "lora_rank",
    "max_steps",
    "batch_size",
    "batch_tokens",
    "gradient_checkpointing",
    "evaluate_every",
]
_ANSWERS = [
    "encoding",
    "max_new_tokens",
    "task_limits",
    "batch_size",
    "batch_tokens",
    "precision",
    "call_top_k",
    "max_calls",
]


def _base_model(item: str, params: Params) -> Cost:
    return Cost(settings=(_MODEL[0], _ENCODER[0]))


def _ingest(item: str, params: Params) -> Cost:
    return Cost(settings=(f"ingest.{item}.path",))


def _split(item: str, params: Params) -> Cost:
    return Cost((("ingest@natural_instructions", "instances"),), (_TASKS,))


def _augment(item: str, params: Params) -> Cost:
    drawn = ("max_documents", "max_document_words", "max_targets")
    limits = (
        f"augment.{key}" for key in ("precision", "chain_calls", "max_call_tokens", "max_text_tokens", *drawn)
    )
    return Cost(settings=(*_MODEL, f"augment.tools.{item}", *limits), start=MODEL_START)


def _augment_merge(item: str, params: Params) -> Cost:
    return Cost((_TRAIN, _DOCUMENTS), (_TASKS, _CORPUS))


def _contamination(item: str, params: Params) -> Cost:
    benchmarks = value(params, "benchmarks")
    asked = [_asked(name) for name in benchmarks] if isinstance(benchmarks, Mapping) else []
    return Cost((_TRAIN, *asked, _DOCUMENTS), (_TASKS, _CORPUS, "retrieve"))


def _index(item: str, params: Params) -> Cost:
    return Cost((_DOCUMENTS,), (_CORPUS, *_ENCODER, "index"), start=MODEL_START)


def _questions(item: str, params: Params) -> Cost:
    source = str(value(params, f"benchmarks.{item}.split"))
    rows = _TEST if source == _SPLIT else (source.replace(_INGESTED, "ingest@"), "records")
    return Cost((rows,), (*_datasets(item, params), f"benchmarks.{item}"))


def _retrieve(item: str, params: Params) -> Cost:
    whole = value(params, f"retrieve.benchmarks.{item}.training") == _SPLIT
    rows = (_TRAIN, _DEV, _asked(item)) if whole else _sides(item)
    settings = (*_datasets(item, params), *_ENCODER, _CORPUS, "index", f"retrieve.benchmarks.{item}")
    return Cost(rows, settings, start=MODEL_START)


def _rerank(item: str, params: Params) -> Cost:
    found = _retrieve(item, params)
    return Cost(found.rows, (*found.settings, _MODEL[0], "rerank"), start=MODEL_START)


def _encode(item: str, params: Params) -> Cost:
    return Cost((_side(item, params), _dev(item, params)), _encoded(item))


def _train(item: str, params: Params) -> Cost:
    keys = (f"train.{item}.{key}" for key in _TRAINING)
    settings = (*_encoded(item), "threads", "train.launcher", *keys)
    return Cost((_side(item, params),), settings, f"train.{item}.epochs", MODEL_START)


def _predict(item: str, params: Params) -> Cost:
    benchmark = item.partition("-")[0]
    keys = (f"predict.{benchmark}.{key}" for key in _ANSWERS)
    settings = (*_datasets(benchmark, params), *_MODEL, "encoding", f"predict.systems.{item}", *keys)
    samples = f"predict.{benchmark}.samples"
    times = samples if value(params, samples) else ""
    return Cost((_asked(benchmark),), settings, times, MODEL_START)


def _evaluate(item: str, params: Params) -> Cost:
    return Cost((_asked(item),), _datasets(item, params))


def _asked(benchmark: str) -> tuple[str, str]:
    return f"questions@{benchmark}", "questions"


def _sides(benchmark: str) -> tuple[tuple[str, str], ...]:
    """The tables with questions of a benchmark; only one whose systems train on its own data has all of them."""
    return tuple((f"questions@{benchmark}", table) for table in (*_TRAINING_SIDES, "questions"))


def _datasets(benchmark: str, params: Params) -> tuple[str, ...]:
    """The paths of the files that a benchmark's questions are made of."""
    paths = (str(value(params, f"benchmarks.{benchmark}.{key}")) for key in ("data", "split"))
    names = [path.removeprefix(_INGESTED) for path in paths if path.startswith(_INGESTED)]
    return tuple(f"ingest.{name}.path" for name in dict.fromkeys(names))


def _side(recipe: str, params: Params) -> tuple[str, str]:
    """The table that a recipe trains on."""
    data = str(value(params, f"train.{recipe}.data"))
    if data == "questions":
        return _asking(recipe, params), _TRAINING_SIDES[0]
    return ("augment_merge", "calls") if data == "corpus" else ("split", data)


def _dev(recipe: str, params: Params) -> tuple[str, str]:
    """The table that a recipe is evaluated on while it trains."""
    data = value(params, f"train.{recipe}.data")
    if data == "questions":
        return _asking(recipe, params), _TRAINING_SIDES[1]
    return ("augment_merge", "held_out") if data == "corpus" else _DEV


def _asking(recipe: str, params: Params) -> str:
    """The stage that makes the questions that a recipe trains on."""
    return str(value(params, f"train.recipes.{recipe}.calls")).replace(_ASKED, "questions@")


def _encoded(recipe: str) -> tuple[str, ...]:
    keys = (f"train.{recipe}.{key}" for key in ("data", "calls", "evidence"))
    return (_TASKS, _MODEL[0], "encoding", f"train.recipes.{recipe}", *keys)


# By what a stage's name has before the @: from what follows it, and the parameters.
COSTS: Mapping[str, Callable[[str, Params], Cost]] = {
    "base_model": _base_model,
    "ingest": _ingest,
    "split": _split,
    "augment": _augment,
    "augment_merge": _augment_merge,
    "contamination": _contamination,
    "index": _index,
    "questions": _questions,
    "retrieve": _retrieve,
    "rerank": _rerank,
    "encode": _encode,
    "train": _train,
    "predict": _predict,
    "evaluate": _evaluate,
}


def of(stage: str, params: Params) -> Cost | None:
    """The cost of the stage of that name under the parameters; None if it has none."""
    name, _, item = stage.partition("@")
    return COSTS[name](item, params) if name in COSTS else None


def size(root: Path, cost: Cost, params: Params) -> float | None:
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


def settings(cost: Cost, params: Params) -> dict[str, Any]:
    """The values of its settings in the parameters, as JSON has them; what is not there is None."""
    found = {key: value(params, key) for key in cost.settings}
    return dict(json.loads(json.dumps(found, default=str)))


def value(params: Params, key: str) -> Any:
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
    if not found and table in _TRAINING_SIDES:
        return 0.0
    return float(found[0]) if found and isinstance(found[0], int) else None
