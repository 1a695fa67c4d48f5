"""The kinds of study and their points: what each sets, and the point that it is compared with.

Published values are those of Wang et al. 2022 (tasks, instances: figures on scale), Schick et al. 2023 (calls: table
9), Guo et al. 2023 (readers: tables 3 to 6) and Shaham et al. 2023 (length of input: table 4).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nightjar.core.config import LARGEST, MOST_SHOWN
from nightjar.core.config import value as value_of
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import shown

SPLIT, INGEST = Path("data/split"), Path("data/ingest")
# Weights that no stage of the graph trained.
BASE = Path("models/base")
# Tk-Instruct's mixed training is an encoding to train with only.
MIXED = "tk_instruct"

Params = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """A point of a study: its value, or (trained with, evaluated with); what it sets; the label of the point that it is
    compared with; the name of its experiment, once `study.plan` has made one.
    """

    axes: tuple[str, ...]
    settings: Mapping[str, Any]
    against: str | None
    name: str = ""

    @property
    def label(self) -> str:
        """Its value as it is shown."""
        return " on ".join(self.axes)


@dataclass(frozen=True)
class Kind:
    """A kind of study that sets one key, in which {benchmark} and {reader} (the recipe of the system's reader) are
    filled in.

    `published`: its values if none are given; numbers, or names. `title`: the axis of its plot. `system`: which system
    it varies by default, the first that was trained, that reads passages, or of all. `cleared`: a key that takes
    precedence over this one, and is null in all points.
    """

    key: str
    title: str = ""
    published: tuple[int | str, ...] = ()
    system: Literal["trained", "reader", "first"] = "trained"
    cleared: str = ""

    @property
    def numbers(self) -> bool:
        """Whether its values are numbers."""
        return any(isinstance(value, int) for value in self.published)


_TASKS, _INSTANCES = "training tasks", "instances of a training task"
_CALLS = "likeliest tokens among which a call's marker starts it"  # 0: nowhere
_RETRIEVER = "retrieve.benchmarks.{benchmark}.retriever"
KINDS: Mapping[str, Kind] = {
    "tasks": Kind("split.train_tasks", _TASKS, (8, 32, 128, 256, 512, 757)),
    "instances": Kind("split.train_instances_per_task", _INSTANCES, (8, 32, 64, 128, 256, 512)),
    "models": Kind("models.language_model.source", "parameters of the model"),
    "encodings": Kind(
        "encoding", "", ("def", "pos2", "def_pos2", "def_pos2_neg2", "def_pos2_neg2_expl", MIXED)
    ),
    "calls": Kind("predict.{benchmark}.call_top_k", _CALLS, (0, 1, 3, 10)),
    "candidates": Kind(
        "rerank.candidates", "passages that the reranker compares", (16, 50, 100, 150), "reader"
    ),
    "passages": Kind("readers.{reader}.passages", "passages that the reader reads", (4, 8, 16, 24), "reader"),
    "reranker": Kind("rerank.benchmarks.{benchmark}.model", "model that reranks", system="reader"),
    "granularity": Kind("index.granularity", "what the index is made of", ("words", "sentences"), "reader"),
    "input_length": Kind(
        "encoding.max_source_length",
        "most tokens of a prompt",
        (512, 1024, 2048, 4096, 8192),
        "first",
        cleared="benchmarks.{benchmark}.total_tokens",
    ),
    "retriever": Kind(_RETRIEVER, "first stage", ("dense", "bm25", "hybrid"), "reader"),
}


def default_system(kind: str, systems: Sequence[Mapping[str, Any]], benchmark: str) -> str | None:
    """The system of a benchmark that a study varies if none is named; None if there is none.

    A kind for readers takes the first that reads reranked passages, else retrieved ones, else one that was trained.
    """
    own = [one for one in systems if one["benchmark"] == benchmark]
    suited = [one for one in own if Path(one["weights"]).parent != BASE]
    if KINDS[kind].system == "first":
        suited = own
    elif KINDS[kind].system == "reader":
        folders = [f"data/{stage}/{benchmark}" for stage in ("rerank", "retrieve")]
        suited = [*(one for folder in folders for one in own if one["evidence"] == folder), *suited]
    return next((str(one["system"]) for one in suited), None)


def points(
    root: Path,
    kind: str,
    params: Params,
    benchmark: str,
    system: str,
    values: Sequence[str] = (),
    evaluated: Sequence[str] = (),
) -> list[Point]:
    """The points of a study; without `values` those of the published grid, as far as the data allow.

    Each is compared with the first; of encodings, with the evaluation by the training's own encoding. Raises
    NightjarError for a value that is not available, and if there are none.
    """
    if evaluated and kind != "encodings":
        raise NightjarError("only a study of encodings has it", "--evaluated", "leave it out")
    known = _values(root, kind, values, params)
    if kind == "encodings":
        return _encodings(known, list(dict.fromkeys(evaluated)), benchmark)
    weights = params["predict"]["systems"].get(f"{benchmark}-{system}", {}).get("weights", "")
    key = KINDS[kind].key.format(benchmark=benchmark, reader=Path(weights).name)
    precedes = KINDS[kind].cleared.format(benchmark=benchmark)
    null = {precedes: None} if precedes and value_of(params, precedes) is not None else {}
    found: list[Point] = []
    for value in known:
        settings: dict[str, Any] = {key: value, **null}
        if kind == "reranker":
            settings[key] = _directory(root, str(value))
        elif kind == "models":
            settings = _model(root, str(value))
        found.append(Point((str(value),), settings, str(known[0]) if found else None))
    return found


def _values(root: Path, kind: str, given: Sequence[str], params: Params) -> list[Any]:
    """The values of a study, numbers in ascending order."""
    one = KINDS[kind]
    values: list[Any] = sorted({*map(_number, given)}) if one.numbers else list(dict.fromkeys(given))
    if kind in ("tasks", "instances"):
        rows = _training_rows(root, params["split"]["track"])
        most = len(rows) if kind == "tasks" else max(rows.values(), default=0)
        # Without values, the grid of tasks ends with all of them, as the published one does.
        whole = {most} if kind == "tasks" and most else set()
        values = values or sorted({it for it in one.published if int(it) <= most} | whole)
        if not values or values[-1] > most:
            what = f"{values[-1] if values else one.published[0]} is more than there is"
            of = _TASKS if kind == "tasks" else "instances in the largest training task"
            raise NightjarError(what, "--values", f"there are {most} {of}")
    if not (values := values or list(one.published)):
        raise NightjarError(
            f"no values for {one.key}", "--values", "give some, such as directories of models"
        )
    return values


def _training_rows(root: Path, track: str) -> dict[str, int]:
    """The training tasks of a track without those of the development set, with their instances."""
    # Here, not above: Arrow takes long to load, and the command line needs the names of the kinds.
    from nightjar.core import contracts, tables

    found = sorted((root / INGEST).glob(f"*/{contracts.INSTANCES.name}"))
    if not found:
        raise NightjarError("no ingested instances", root / INGEST, "run nightjar rebuild split")
    rows = tables.part_rows(found[0].parent, contracts.INSTANCES)
    held = {task for task, count in tables.part_rows(root / SPLIT, contracts.DEV).items() if count}
    split = tables.read_rows(root / SPLIT, contracts.SPLIT_TASKS)
    tasks = {row["task_id"] for row in split if (row["track"], row["role"]) == (track, "train")}
    return {task: rows.get(task, 0) for task in tasks - held}


def _number(value: str) -> int:
    with contextlib.suppress(ValueError):  # no number, or one of thousands of digits
        if 0 <= (number := int(value)) <= LARGEST:
            return number
    fix = f"give numbers up to {LARGEST}, such as 4,8,16"
    raise NightjarError(f"{_short(value)!r} is not a number", "--values", fix)


def _short(value: str) -> str:
    return shown(value, MOST_SHOWN, quoted=False)


def _directory(root: Path, value: str) -> str:
    """A model directory, as a path that is valid in a clone too. Raises NightjarError if there is none."""
    if not os.path.isfile(root / value / "config.json"):  # noqa: PTH113 (false for a name that is too long)
        fix = "give directories of language models"
        raise NightjarError("no model there (no config.json)", _short(value), fix)
    return str((root / value).resolve())


def _model(root: Path, value: str) -> dict[str, Any]:
    """The settings of a language model: a directory, whose weights are pinned by their digest, hub:NAME or
    package:NAME.
    """
    from nightjar.lm.weights import digest

    kind, _, name = value.partition(":")
    named = kind in ("hub", "package")
    if named and not name:
        raise NightjarError(f"{value} names no model", "--values", "give hub:NAME or package:NAME")
    source = value if named else _directory(root, value)
    sha256 = None if named else digest(root / value)
    return {"models.language_model.source": source, "models.language_model.sha256": sha256}


def _encodings(trained: Sequence[str], evaluated: Sequence[str], benchmark: str) -> list[Point]:
    """Trained with × evaluated with. A training's own encoding (or the first) comes first, for comparison."""
    from nightjar.prompts.encodings import NAMED

    tested = evaluated or [name for name in trained if name != MIXED]
    if unknown := [name for name in (*trained, *tested) if name not in NAMED]:
        fix = f"encodings are {', '.join(NAMED)}"
        raise NightjarError("no such encoding", repr(_short(unknown[0])), fix)
    if not tested or MIXED in tested:
        what = f"{MIXED} draws its encodings: there is none to evaluate with"
        raise NightjarError(what, "--evaluated", "name others, such as --evaluated def,def_pos2")
    found = []
    for training in trained:
        own = training if training in tested else tested[0]
        train = {f"encoding.{key}": value for key, value in NAMED[training].items()}
        for testing in (own, *(name for name in tested if name != own)):
            settings = {**train, f"predict.{benchmark}.encoding": testing}
            against = None if testing == own else f"{training} on {own}"
            found.append(Point((training, testing), settings, against))
    return found
