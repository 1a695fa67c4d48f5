"""The contributors' checks of one task file (facts 1.2, numbers 1 to 13), over Arrow columns where it can be.

An ordinary file comes as columns; of any other, the exact reader gives the instances one by one, which are
looked at for their types, and those that have the right ones go into columns too. What is then asked of the
texts is asked of the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stages.contracts import STRINGS
from stages.ingest.accounts import UnreadableFile
from stages.ingest.check_head import check_head, is_whole, printable
from stages.ingest.documents import Hierarchy
from stages.ingest.findings import Found
from stages.ingest.json_text import Doubled, doubled_key, exact, is_text
from stages.ingest.task_file import blank_texts, ordinary

FEWEST_INSTANCES, MOST_INSTANCES = 25, 6500
FEW_OUTPUTS, LEAST_ENTROPY = 15, 0.8
SINGLE_OUTPUT_EXEMPT = frozenset({902, 903})
SKEW_EXEMPT = frozenset({"150"})
# As published, but that only the first sign of a link matters: `$-_` are the signs from $ to _.
LINK = r"https?://[a-z!$-_]"


@dataclass
class _Rows:
    """The instances whose input and output are strings, and what to call them."""

    names: pa.Array
    inputs: pa.Array
    outputs: pa.Array


def check_task(data: bytes, task_id: str, hierarchy: Hierarchy | None) -> tuple[Found, int]:
    """The findings of checks 1 to 13 in a task file's bytes, and how many instances it has.

    Check 12 is left out without a hierarchy.
    """
    found = Found(task_id)
    columns = ordinary(data)
    if columns is not None and not columns.ids.null_count and is_whole(columns.head):
        head: dict[str, Any] = {key: value for key, value in columns.head.items() if value is not None}
        head["Instances"] = []
        rows, count = _Rows(columns.ids, columns.inputs, columns.outputs), len(columns.ids)
        _refuse("input is empty", _named(rows, pc.binary_length(rows.inputs).to_numpy() == 0), found)
        _refuse("an id that an earlier instance has", _named(rows, _repeats(columns.ids)), found)
    else:
        try:
            head = _parse(data, found)
        except UnreadableFile as error:
            found.error(13, f"{error} (ingest refuses the file)")
            return found, 0
        instances = head.get("Instances")
        if "Instances" in head and not isinstance(instances, list):
            found.error(3, "Instances is not a list", ["Instances"])
        if not isinstance(instances, list):
            check_head(head, hierarchy, found)
            return found, 0
        rows, count = _instances(instances, found), len(instances)
    check_head(head, hierarchy, found)
    if not FEWEST_INSTANCES < count <= MOST_INSTANCES:
        wanted = f"more than {FEWEST_INSTANCES} and at most {MOST_INSTANCES:,} are wanted"
        found.error(2, f"{count:,} instances; {wanted}")
    _inputs(rows, head, found)
    _outputs(rows, task_id, found)
    return found, count


def _parse(data: bytes, found: Found) -> dict[str, Any]:
    """The file's object, its doubled keys noted. Raises UnreadableFile if it is not one."""
    value = exact(data)
    if not isinstance(value, dict):
        raise UnreadableFile("not a JSON object")
    seen_later = "seen only when a first parse fails"
    instances = value.get("Instances")
    outside = [item for key, item in value.items() if key != "Instances"]
    try:
        key = value.key if isinstance(value, Doubled) else doubled_key(outside)
        if key is not None:
            found.allowed(13, f"a key stands twice, {seen_later} (ingest refuses the file)", [printable(key)])
        listed = instances if isinstance(instances, list) else []
        double = [_name(item, index) for index, item in enumerate(listed) if doubled_key(item) is not None]
    except RecursionError:
        raise UnreadableFile("not JSON", "nested too deeply") from None
    if double:
        found.allowed(13, f"a key of an instance stands twice, {seen_later} (ingest refuses them)", double)
    return value


def _name(instance: Any, index: int) -> str:
    """What an instance is called: its id, or its position where it has none."""
    given = instance.get("id") if isinstance(instance, dict) else None
    return given if is_text(given) and given else f"#{index}"


def _instances(instances: Sequence[Any], found: Found) -> _Rows:
    """Check 3, instance by instance; those whose input and output are strings, for the other checks."""
    wrong: dict[str, list[str]] = {}
    odd: list[str] = []
    broken: list[str] = []
    repeated: list[str] = []
    seen: set[Any] = set()
    taken: list[tuple[str, str, list[str]]] = []
    for index, item in enumerate(instances):
        name = _name(item, index)
        for problem in _problems(item):
            wrong.setdefault(problem, []).append(name)
        if not isinstance(item, dict):
            continue
        given, text, outputs = (item.get(key) for key in ("id", "input", "output"))
        if "id" in item and not isinstance(given, list | dict):
            if given in seen:
                repeated.append(name)
            seen.add(given)
            if not isinstance(given, str):
                odd.append(name)
        if isinstance(text, str) and isinstance(outputs, list) and all(isinstance(it, str) for it in outputs):
            if not all(map(is_text, (text, *outputs))):
                broken.append(name)
            taken.append((name, printable(text), [printable(it) for it in outputs]))
    for problem, where in wrong.items():
        _refuse(problem, where, found)
    if odd:
        found.allowed(3, "an id that is not a string; it only has to be unique (ingest refuses them)", odd)
    if broken:
        found.allowed(3, "half a character; any string is enough (ingest refuses them)", broken)
    _refuse("an id that an earlier instance has", repeated, found)
    columns = list(zip(*taken, strict=True)) or [(), (), ()]
    types = (pa.string(), pa.string(), STRINGS)
    return _Rows(*(pa.array(column, kind) for column, kind in zip(columns, types, strict=True)))


# Older forms, which ingest takes all the same.
TAKEN = frozenset({"no id", "output is not a list"})


def _problems(item: Any) -> Iterator[str]:
    if not isinstance(item, dict):
        yield "not an object"
        return
    yield from (f"no {key}" for key in ("id", "input", "output") if key not in item)
    if isinstance(item.get("id"), list | dict):
        yield "id is a list or an object"
    if "input" in item and not isinstance(item["input"], str):
        yield "input is not a string"
    if item.get("input") == "":
        yield "input is empty"
    if "output" not in item:
        return
    if not isinstance(item["output"], list):
        yield "output is not a list"
    elif not item["output"]:
        yield "output is empty"
    elif not all(isinstance(text, str) for text in item["output"]):
        yield "output has an entry that is not a string"


def _refuse(problem: str, names: Sequence[str], found: Found) -> None:
    if names:
        found.error(3, problem if problem in TAKEN else f"{problem} (ingest refuses them)", names)


def _named(rows: _Rows, mask: np.ndarray) -> list[str]:
    chosen: list[str] = rows.names.filter(pa.array(mask)).to_pylist()
    return chosen


def _repeats(values: pa.Array) -> np.ndarray:
    """For each value whether an earlier one is equal."""
    encoded = values.dictionary_encode()
    if len(encoded.dictionary) == len(values):
        return np.zeros(len(values), dtype=bool)
    # Codes are given in the order of first appearance: what is new is larger than all before it.
    codes = encoded.indices.to_numpy()
    before = np.concatenate(([-1], np.maximum.accumulate(codes)[:-1]))
    return np.asarray(codes <= before)


def _inputs(rows: _Rows, head: dict[str, Any], found: Found) -> None:
    """Checks 3 (blank texts), 6, 7 and 10."""
    length = pc.binary_length(rows.inputs).to_numpy()
    blank = blank_texts(rows.inputs)
    texts = rows.outputs.flatten()
    of_row = pc.list_parent_indices(rows.outputs).to_numpy()
    blank_outputs = np.zeros(len(rows.names), dtype=bool)
    blank_outputs[of_row[blank_texts(texts)]] = True
    refused = "; only an empty one fails (ingest refuses them)"
    if only_blank := _named(rows, blank & (length > 0)):
        found.allowed(3, f"input is blank{refused}", only_blank)
    if blank_outputs.any():
        what = "an output is blank; only a list without outputs fails (ingest refuses them)"
        found.allowed(3, what, _named(rows, blank_outputs))
    if repeated := _named(rows, _repeats(rows.inputs)):
        found.error(6, "an input that an earlier instance has; the outputs are to be merged", repeated)
    linked = np.asarray(pc.match_substring_regex(rows.inputs, LINK).to_numpy(zero_copy_only=False))
    if linked.any():
        found.warning(7, "a link in the input", _named(rows, linked))
    examples = {printable(it["input"]) for it in _examples(head) if isinstance(it.get("input"), str)}
    shared = pc.is_in(rows.inputs, pa.array(sorted(examples), pa.string())).to_numpy(zero_copy_only=False)
    if shared.any():
        found.error(10, "the input of a positive example", _named(rows, shared))


def _examples(head: dict[str, Any]) -> list[dict[str, Any]]:
    examples = head.get("Positive Examples")
    return [it for it in examples if isinstance(it, dict)] if isinstance(examples, list) else []


def _outputs(rows: _Rows, task_id: str, found: Found) -> None:
    """Checks 8 and 9, over all outputs of all instances."""
    if not len(rows.names):
        return
    number = task_id.removeprefix("task").partition("_")[0]
    counted = pc.value_counts(rows.outputs.flatten())
    if len(counted) >= FEW_OUTPUTS:
        return
    counts = {row["values"]: row["counts"] for row in counted.to_pylist()}
    if len(counts) < 2:
        if not (number.isdecimal() and int(number) in SINGLE_OUTPUT_EXEMPT):
            found.error(8, "all outputs are the same", list(counts))
            return
        found.allowed(8, "all outputs are the same; the task is exempt by its number", list(counts))
    entropy = normalised_entropy([counts[value] for value in sorted(counts)])
    if entropy > LEAST_ENTROPY:
        return
    values = sorted(counts, key=lambda value: (-counts[value], value))
    shares = ", ".join(f"{counts[value]:,}" for value in values)
    what = f"{len(counts)} distinct outputs, {shares} times: entropy {entropy:.3f}"
    if number in SKEW_EXEMPT:
        found.allowed(9, f"{what}; the task is exempt by its number", values)
    else:
        found.error(9, what, values)


def normalised_entropy(counts: Sequence[int]) -> float:
    """-sum p log p / log(n) of n counts above zero: 1 if they are equal, NaN for a single one (facts 1.2)."""
    if len(counts) < 2:
        return float("nan")
    shares = np.asarray(counts) / sum(counts)
    return float(-(shares * np.log(shares) / np.log(len(counts))).sum())
