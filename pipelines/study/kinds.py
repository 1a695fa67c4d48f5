"""The kinds of study: the settings of each point, and the point that it is compared with.

Published values are those of Wang et al. 2022 (tasks, instances: facts 1.8 and 1.11), Schick et al. 2023 (calls: table
9), Guo et al. 2023 (readers: tables 3 to 6) and Shaham et al. 2023 (length of input: table 4).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from nightjar.core.config import LARGEST, MOST_SHOWN, PARAMS_FILE
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import shown

SPLIT, INGEST = Path("data/split"), Path("data/ingest")
# Weights that no stage of the graph trained.
BASE = Path("models/base")
# Tk-Instruct's mixed training is an encoding to train with only.
MIXED = "tk_instruct"
ENCODINGS = ("def", "pos2", "def_pos2", "def_pos2_neg2", "def_pos2_neg2_expl", MIXED)

Params = Mapping[str, Any]
Flags = Mapping[str, Mapping[str, Any]]


class Choice(NamedTuple):
    """A point that has no name yet: its value, or (trained with, evaluated with); what it sets; the label of the point
    that it is compared with.
    """

    axes: tuple[str, ...]
    settings: dict[str, Any]
    against: str | None

    @property
    def label(self) -> str:
        """Its value as it is shown."""
        return " on ".join(self.axes)


@dataclass(frozen=True)
class Kind:
    """A kind of study that sets one key, in which {benchmark} and {reader} (the recipe of the system's reader) are
    filled in.

    `published`: its values if none are given. `title`: the axis of its plot. `least`: its values are numbers from this
    one; None: they are names. `system`: which system it varies by default, the first that was trained, that reads
    passages, or of all. `cleared`: a key that takes precedence over this one, and is null in all points. `parse`: the
    value that is set.
    """

    key: str
    published: tuple[str, ...] = ()
    title: str = ""
    least: int | None = None
    system: Literal["trained", "reader", "first"] = "trained"
    cleared: str = ""
    parse: Callable[[Path, str], Any] = lambda root, value: value


def _directory(root: Path, value: str) -> str:
    """A model directory, as a path that is valid in a clone too. Raises NightjarError if there is none."""
    folder = root / value
    try:
        known = (folder / "config.json").is_file()
    except (OSError, ValueError):  # a name that is too long, or with a zero byte
        known = False
    if not known:
        fix = "give directories of language models"
        raise NightjarError("no model there (no config.json)", _short(value), fix)
    return str(folder.resolve())


KINDS: Mapping[str, Kind] = {
    "tasks": Kind("split.train_tasks", ("8", "32", "128", "256", "512", "757"), "training tasks", 1),
    "instances": Kind(
        "split.train_instances_per_task",
        ("8", "32", "64", "128", "256", "512"),
        "instances of a training task",
        1,
    ),
    # `models` sets the weights as well, `encodings` two keys: see the functions below.
    "models": Kind("models.language_model.source", title="parameters of the model"),
    "encodings": Kind("encoding"),
    # A call starts where its marker is among so many of the likeliest tokens; 0: nowhere.
    "calls": Kind(
        "predict.{benchmark}.call_top_k",
        ("0", "1", "3", "10"),
        "likeliest tokens among which a call's marker starts it",
        0,
    ),
    # How many passages of the first stage are compared: k.
    "candidates": Kind(
        "rerank.candidates", ("16", "50", "100", "150"), "passages that the reranker compares", 1, "reader"
    ),
    # How many passages a reader reads: d.
    "passages": Kind(
        "readers.{reader}.passages", ("4", "8", "16", "24"), "passages that the reader reads", 1, "reader"
    ),
    "reranker": Kind(
        "rerank.benchmarks.{benchmark}.model", title="model that reranks", system="reader", parse=_directory
    ),
    "granularity": Kind(
        "index.granularity", ("words", "sentences"), "what the index is made of", system="reader"
    ),
    "input_length": Kind(
        "encoding.max_source_length",
        ("512", "1024", "2048", "4096", "8192"),
        "most tokens of a prompt",
        1,
        "first",
        cleared="benchmarks.{benchmark}.total_tokens",
    ),
    "retriever": Kind(
        "retrieve.benchmarks.{benchmark}.retriever",
        ("dense", "bm25", "hybrid"),
        "first stage",
        system="reader",
    ),
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


def choices(
    root: Path, kind: str, params: Params, benchmark: str, system: str, values: Sequence[str]
) -> list[Choice]:
    """The points of a kind that sets one key."""
    key = key_of(params, kind, benchmark, system)
    null = cleared(params, kind, benchmark)
    found = values_of(root, kind, values, params["split"]["track"])
    return _against_first({label: {key: value, **null} for label, value in found.items()})


def _against_first(settings: Mapping[str, dict[str, Any]]) -> list[Choice]:
    first = next(iter(settings))
    return [Choice((label,), of, None if label == first else first) for label, of in settings.items()]


def key_of(params: Params, kind: str, benchmark: str, system: str) -> str:
    """The key that a study sets for a system. Raises NightjarError if the parameters have no such key."""
    reader = Path(params["predict"]["systems"].get(f"{benchmark}-{system}", {}).get("weights", "")).name
    key = KINDS[kind].key.format(benchmark=benchmark, reader=reader)
    try:
        _value(params, key)
    except KeyError:
        fix = "name a benchmark, and a recipe, that the setting is for"
        raise NightjarError(f"no setting {key}: nothing to study", PARAMS_FILE, fix) from None
    return key


def cleared(params: Params, kind: str, benchmark: str) -> dict[str, None]:
    """The key that takes precedence, which is null in all points; empty where it has no value."""
    key = KINDS[kind].cleared.format(benchmark=benchmark)
    try:
        return {key: None} if key and _value(params, key) is not None else {}
    except KeyError:
        return {}


def _value(params: Params, key: str) -> Any:
    """The value of a dotted key. Raises KeyError if there is none."""
    group: Any = params
    for name in key.split("."):
        if not isinstance(group, Mapping):
            raise KeyError(key)
        group = group[name]
    return group


def overlaid(params: Params, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with the settings of a point."""
    whole: dict[str, Any] = json.loads(json.dumps(params))
    for key, value in settings.items():
        group, _, last = key.rpartition(".")
        _value(whole, group)[last] = value
    return whole


def values_of(root: Path, kind: str, given: Sequence[str], track: str = "default") -> dict[str, Any]:
    """The values of a study as {as shown: as set}; numbers in ascending order.

    Raises NightjarError for one that is not available, and if there are none.
    """
    one = KINDS[kind]
    need_once(given, "--values")
    if one.least is None:
        if not (names := list(given) or list(one.published)):
            raise NightjarError(f"no values for {one.key}", "--values", "give some")
        return {name: one.parse(root, name) for name in names}
    numbers = sorted(_number(value, one.least) for value in given)
    need_once([str(number) for number in numbers], "--values")
    published = [int(value) for value in one.published]
    if kind in ("tasks", "instances"):
        there = _training_tasks(root, track)
        most = len(there) if kind == "tasks" else max(there.values(), default=0)
        last = {most} if kind == "tasks" and most else set()  # the published grid ends with all of them, too
        numbers = numbers or sorted({value for value in published if value <= most} | last)
        if not numbers or numbers[-1] > most:
            what = f"{numbers[-1] if numbers else published[0]} is more than there is"
            of = "training tasks" if kind == "tasks" else "instances in the largest training task"
            raise NightjarError(what, "--values", f"there are {most} {of}")
    return {str(number): number for number in numbers or published}


def _training_tasks(root: Path, track: str) -> dict[str, int]:
    """The training tasks of a track without those of the development set, with their instances."""
    # Here, not above: Arrow takes long to load, and the command line needs the names of the kinds.
    from nightjar.core import contracts, tables

    found = sorted((root / INGEST).glob(f"*/{contracts.INSTANCES.name}"))
    if not found:
        raise NightjarError("no ingested instances", root / INGEST, "run nightjar rebuild split")
    rows = tables.part_rows(found[0].parent, contracts.INSTANCES)
    held = {task for task, count in tables.part_rows(root / SPLIT, contracts.DEV).items() if count}
    return {
        row["task_id"]: rows.get(row["task_id"], 0)
        for row in tables.read_rows(root / SPLIT, contracts.SPLIT_TASKS)
        if row["track"] == track and row["role"] == "train" and row["task_id"] not in held
    }


def _number(value: str, least: int) -> int:
    digits = value.lstrip("0")
    if not (value.isascii() and value.isdigit()) or (least and not digits):
        what = f"{_short(value)!r} is not a number"
        raise NightjarError(what, "--values", f"give numbers from {least}, such as 4,8,16")
    if len(digits) > len(str(LARGEST)):  # Python refuses to read thousands of digits
        raise NightjarError(f"{_short(value)} is more than there is", "--values", f"the most is {LARGEST}")
    return int(value)


def need_once(values: Sequence[str], option: str) -> None:
    """Raise NightjarError for a value that an option has twice."""
    if doubled := sorted({value for value in values if list(values).count(value) > 1}):
        raise NightjarError(f"{_short(doubled[0])} is given twice", option, "give every value once")


def _short(value: str) -> str:
    return shown(value, MOST_SHOWN, quoted=False)


def models(root: Path, values: Sequence[str], digest: Callable[[Path], str] | None) -> list[Choice]:
    """Language models in the order given. The weights of a directory are pinned by their `digest`."""
    fix = "give directories, hub:NAME or package:NAME"
    if not values:
        raise NightjarError("no models", "--values", fix)
    need_once(values, "--values")
    found = {}
    for value in values:
        kind, _, name = value.partition(":")
        named = kind in ("hub", "package")
        if named and not name:
            raise NightjarError(f"{value} names no model", "--values", fix)
        found[value] = {
            "models.language_model.source": value if named else _directory(root, value),
            "models.language_model.sha256": None if named or digest is None else digest(root / value),
        }
    return _against_first(found)


def encodings(values: Sequence[str], evaluated: Sequence[str], flags: Flags, benchmark: str) -> list[Choice]:
    """Trained with × evaluated with. A training's own encoding (or the first) comes first, for comparison."""
    need_once(values, "--values")
    need_once(evaluated, "--evaluated")
    trained = tuple(values) or ENCODINGS
    tested = tuple(evaluated) or tuple(name for name in trained if name != MIXED)
    for name in (*trained, *tested):
        if name not in flags:
            raise NightjarError("no such encoding", repr(_short(name)), f"encodings are {', '.join(flags)}")
    if not tested or MIXED in tested:
        what = f"{MIXED} draws its encodings: there is none to evaluate with"
        raise NightjarError(what, "--evaluated", "name others, such as --evaluated def,def_pos2")
    found = []
    for training in trained:
        own = training if training in tested else tested[0]
        for testing in (own, *(name for name in tested if name != own)):
            settings = {f"encoding.{key}": value for key, value in flags[training].items()}
            settings[f"predict.{benchmark}.encoding"] = testing
            found.append(
                Choice((training, testing), settings, None if testing == own else f"{training} on {own}")
            )
    return found
