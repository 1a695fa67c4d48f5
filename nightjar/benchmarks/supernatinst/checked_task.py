"""A task file as the contributors' checks see it: its keys, its texts as Arrow columns, and the flaws of its reading.

An ordinary file comes as columns. Of any other, the exact reader gives the instances one by one. Their types are
checked, and inputs and outputs that are texts become columns too.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nightjar.benchmarks.task_file import blank_texts, ordinary, task_object
from nightjar.core.contracts import STRINGS
from nightjar.core.json_text import DuplicateKey, duplicate_key, has_constant, is_text

LISTS = ("Definition", "Source", "URL", "Contributors", "Categories", "Reasoning", "Domains")
LANGUAGES = ("Input_language", "Output_language", "Instruction_language")
EXAMPLES = ("Positive Examples", "Negative Examples")
HEAD_KEYS = (*LISTS, *LANGUAGES, *EXAMPLES)

# error: the published check fails. warning: it warns. allowed: it lets pass what its message, or good sense,
# would not; the message says by which laxity.
ERROR, WARNING, ALLOWED = LEVELS = ("error", "warning", "allowed")

REFUSED_FILE, REFUSED_ROWS = " (ingest refuses the file)", " (ingest refuses them)"
_NEW_ID = " (ingest makes one in its place)"
_REPEATED_ID = "an id that an earlier instance has"
_EMPTY_INPUT = f"input is empty{REFUSED_ROWS}"

K = TypeVar("K")
# Instances with their names.
Named = Sequence[tuple[str, Any]]


class Flaw(NamedTuple):
    """A result of a check. `ids` are the instances, keys, values or lines with the flaw.

    No ids at all (an empty list) mean no flaw; None means a flaw of the task as such.
    """

    level: str
    message: str
    ids: Sequence[str] | None = None


@dataclass(frozen=True)
class Hierarchy:
    """doc/task-hierarchy.md: its text, and what it has between backticks."""

    text: str
    names: frozenset[str]


@dataclass
class TaskTexts:
    """The inputs that are strings, with the names of their instances, and likewise the outputs.

    Outputs are lists of strings; one string counts as a list of it.
    """

    names: pa.Array
    inputs: pa.Array
    output_names: pa.Array
    outputs: pa.Array

    @cached_property
    def output_counts(self) -> pa.Array:
        """Each distinct output with its count."""
        return pc.value_counts(self.outputs.flatten())


@dataclass
class CheckedTask:
    """A task to check. `count` is None for a file without a list of instances."""

    task_id: str
    hierarchy: Hierarchy | None
    head: Mapping[str, Any]
    texts: TaskTexts
    count: int | None
    json_flaws: list[Flaw]
    instance_flaws: list[Flaw]


def read_checked_task(data: bytes, task_id: str, hierarchy: Hierarchy | None) -> CheckedTask:
    """Read the bytes of a task file. Raises UnreadableFile if they are no JSON object."""
    columns = ordinary(data)
    # A blank id names nothing, and ingest makes another: the exact reader reports those.
    if (
        columns is not None
        and not columns.ids.null_count
        and not blank_texts(columns.ids).any()
        and _is_complete([columns.head[key] for key in HEAD_KEYS])
    ):
        head = {key: value for key, value in columns.head.items() if value is not None}
        texts = TaskTexts(columns.ids, columns.inputs, columns.ids, columns.outputs)
        empty = pc.binary_length(texts.inputs).to_numpy() == 0
        flaws = [
            Flaw(ERROR, _EMPTY_INPUT, names_of(texts.names, empty)),
            Flaw(ERROR, _REPEATED_ID + REFUSED_ROWS, names_of(texts.names, repeats(texts.names))),
        ]
        head["Instances"] = []
        return CheckedTask(task_id, hierarchy, head, texts, len(columns.ids), [], flaws)
    value = task_object(data)
    instances = value.get("Instances")
    listed = isinstance(instances, list)
    named = [(name_of(item, index), item) for index, item in enumerate(value["Instances"] if listed else ())]
    flaws = list(_instance_flaws(named))
    if "Instances" in value and not listed:
        flaws = [Flaw(ERROR, f"Instances is not a list{REFUSED_FILE}", ["Instances"])]
    json_flaws = list(_json_flaws(value, named, data))
    count = len(named) if listed else None
    return CheckedTask(task_id, hierarchy, value, _texts(named), count, json_flaws, flaws)


def _is_complete(value: Any) -> bool:
    """Tell whether there is no None in Arrow's reading of keys: where it has None, a key may be missing or null."""
    if isinstance(value, dict | list):
        return all(map(_is_complete, value.values() if isinstance(value, dict) else value))
    return value is not None


def _json_flaws(value: dict[str, Any], named: Named, data: bytes) -> Iterator[Flaw]:
    """Yield what is no valid JSON though Python's first parse takes it, and a byte order mark, which it refuses."""
    if data.startswith(codecs.BOM_UTF8):
        stops = "at which Python's parser stops (ingest takes the file)"
        yield Flaw(ERROR, f"a byte order mark comes first, {stops}")
    pairs = value.pairs if isinstance(value, DuplicateKey) else list(value.items())
    # Instances are reported one by one, but not such a list as another of the same name hides.
    outside = [(key, item) for key, item in pairs if item is not value.get("Instances") or not named]
    later = "found only when a first parse fails"
    key = value.key if isinstance(value, DuplicateKey) else duplicate_key([item for _, item in outside])
    yield Flaw(ALLOWED, f"a duplicate key, {later}{REFUSED_FILE}", [] if key is None else [printable(key)])
    repeated = [name for name, item in named if duplicate_key(item) is not None]
    yield Flaw(ALLOWED, f"a duplicate key in an instance, {later}{REFUSED_ROWS}", repeated)
    if b"NaN" in data or b"Infinity" in data:
        passes = "NaN passes: a bare NaN or infinity, which JSON does not have"
        keys = dict.fromkeys(printable(key) for key, item in outside if has_constant(item))
        yield Flaw(ALLOWED, f"{passes}, under a key", list(keys))
        yield Flaw(ALLOWED, f"{passes}, in an instance", [name for name, item in named if has_constant(item)])


def _instance_flaws(named: Named) -> Iterator[Flaw]:
    """Yield the flaws of the types of the instances, errors first."""
    known_ids: set[Any] = set()
    places = grouped((problem, name) for name, item in named for problem in _type_problems(item, known_ids))
    for level, message in sorted(places, key=lambda problem: problem[0] != ERROR):
        yield Flaw(level, message, places[level, message])


def _type_problems(item: Any, known_ids: set[Any]) -> Iterator[tuple[str, str]]:
    """Yield the level and the message of each flaw of an instance, and add its id to `known_ids`."""
    if not isinstance(item, dict):
        yield ERROR, f"not an object{REFUSED_ROWS}"
        return
    # Ingest takes the older forms, an instance without an id and an output that is one string.
    if "id" not in item:
        yield ERROR, "no id"
    for key in ("input", "output"):
        if key not in item:
            yield ERROR, f"no {key}{REFUSED_ROWS}"
    instance_id, text, output = item.get("id"), item.get("input"), item.get("output")
    if isinstance(instance_id, list | dict):
        yield ERROR, f"id is a list or an object{REFUSED_ROWS}"
    if "input" in item and not isinstance(text, str):
        yield ERROR, f"input is not a string{REFUSED_ROWS}"
    if text == "":
        yield ERROR, _EMPTY_INPUT
    if isinstance(output, str):
        yield ERROR, "output is not a list"
    elif "output" in item and not isinstance(output, list):
        yield ERROR, f"output is neither a list nor a string{REFUSED_ROWS}"
    elif output == []:
        yield ERROR, f"output is empty{REFUSED_ROWS}"
    elif "output" in item and _answers(output) is None:
        yield ERROR, f"output has an entry that is not a string{REFUSED_ROWS}"
    if "id" in item and not isinstance(instance_id, list | dict):
        blank = instance_id is None or (isinstance(instance_id, str) and not instance_id.strip())
        if instance_id in known_ids:
            yield ERROR, f"{_REPEATED_ID}, blank{_NEW_ID}" if blank else _REPEATED_ID + REFUSED_ROWS
        known_ids.add(instance_id)
        if blank:
            yield ALLOWED, f"an id that is null or blank; it only has to be unique{_NEW_ID}"
        elif not isinstance(instance_id, str):
            yield ALLOWED, f"an id that is not a string; it only has to be unique{REFUSED_ROWS}"
    texts = (instance_id, text, *(_answers(output) or ()))
    if any(isinstance(part, str) and not is_text(part) for part in texts):
        yield ALLOWED, f"half a character; any string is enough{REFUSED_ROWS}"


def _texts(named: Named) -> TaskTexts:
    """Return the texts of instances that the exact reader gave."""
    objects = [
        (name, item.get("input"), item.get("output")) for name, item in named if isinstance(item, dict)
    ]
    inputs = [(name, printable(text)) for name, text, _ in objects if isinstance(text, str)]
    answers = [(name, texts) for name, _, output in objects if (texts := _answers(output)) is not None]
    return TaskTexts(
        pa.array([name for name, _ in inputs], pa.string()),
        pa.array([text for _, text in inputs], pa.string()),
        pa.array([name for name, _ in answers], pa.string()),
        pa.array([list(map(printable, texts)) for _, texts in answers], STRINGS),
    )


def _answers(value: Any) -> list[str] | None:
    """The outputs, if all are strings."""
    listed = [value] if isinstance(value, str) else value
    return listed if isinstance(listed, list) and all(isinstance(it, str) for it in listed) else None


def grouped(pairs: Iterable[tuple[K, str]]) -> dict[K, list[str]]:
    """Return the names by problem, in the order in which the problems first occur."""
    groups: dict[K, list[str]] = {}
    for problem, name in pairs:
        groups.setdefault(problem, []).append(name)
    return groups


def name_of(instance: Any, index: int) -> str:
    """Return the name of an instance: its id, or its position where it has none."""
    instance_id = instance.get("id") if isinstance(instance, dict) else None
    return instance_id if is_text(instance_id) and instance_id.strip() else f"#{index}"


def names_of(names: pa.Array, mask: np.ndarray) -> list[str]:
    """Return the names where the mask is set."""
    chosen: list[str] = names.filter(pa.array(mask)).to_pylist()
    return chosen


def printable(text: str) -> str:
    """Return a text that UTF-8 can hold: half characters become their escapes."""
    return text if is_text(text) else text.encode("utf-8", "backslashreplace").decode("utf-8")


def repeats(values: pa.Array) -> np.ndarray:
    """Tell for each value whether an earlier one is equal."""
    encoded = values.dictionary_encode()
    if len(encoded.dictionary) == len(values):
        return np.zeros(len(values), dtype=bool)
    # Codes are given in the order of first appearance: what is new is larger than all before it.
    codes = encoded.indices.to_numpy()
    before = np.concatenate(([-1], np.maximum.accumulate(codes)[:-1]))
    return np.asarray(codes <= before)
