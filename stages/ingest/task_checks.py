"""The contributors' checks of one task file (numbers 1 to 13), over Arrow columns where it can be.

An ordinary file comes as columns; of any other, the exact reader gives the instances one by one, which are
looked at for their types, and inputs and outputs that are texts go into columns too. What is then asked of
the texts is asked of the columns.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nightjar.benchmarks.task_file import UnreadableFile, blank_texts, ordinary
from nightjar.core.contracts import STRINGS
from nightjar.core.json_text import DuplicateKey, NotJson, duplicate_key, exact, has_constant, is_text
from stages.ingest.check_head import check_head, is_whole, printable
from stages.ingest.documents import Hierarchy
from stages.ingest.task_findings import TaskFindings

FEWEST_INSTANCES, MOST_INSTANCES = 25, 6500
FEW_OUTPUTS, LEAST_ENTROPY = 15, 0.8
SINGLE_OUTPUT_EXEMPT = frozenset({902, 903})
SKEW_EXEMPT = frozenset({"150"})
# As published, but that only the first sign of a link matters: `$-_` are the signs from $ to _.
LINK = r"https?://[a-z!$-_]"


def check_task(data: bytes, task_id: str, hierarchy: Hierarchy | None) -> tuple[TaskFindings, int]:
    """The findings of checks 1 to 13 in a task file's bytes, and how many instances it has.

    Check 12 is left out without a hierarchy.
    """
    task_findings = TaskFindings(task_id)
    columns = ordinary(data)
    # A blank id names nothing, and ingest makes another: the exact reader reports those.
    if columns is not None and (columns.ids.null_count or blank_texts(columns.ids).any()):
        columns = None
    if columns is not None and is_whole(columns.head):
        head: dict[str, Any] = {key: value for key, value in columns.head.items() if value is not None}
        head["Instances"] = []
        rows, count = Rows(columns.ids, columns.inputs, columns.ids, columns.outputs), len(columns.ids)
        refuse(
            "input is empty", named(rows.names, pc.binary_length(rows.inputs).to_numpy() == 0), task_findings
        )
        refuse(REPEATED_ID, named(rows.names, _repeats(columns.ids)), task_findings)
    else:
        try:
            head = _parse(data, task_findings)
        except UnreadableFile as error:
            task_findings.unreadable(error)
            return task_findings, 0
        instances = head.get("Instances")
        if not isinstance(instances, list):
            if "Instances" in head:
                task_findings.error(3, "Instances is not a list (ingest refuses the file)", ["Instances"])
            check_head(head, hierarchy, task_findings)
            return task_findings, 0
        rows, count = check_instances(instances, task_findings), len(instances)
    check_head(head, hierarchy, task_findings)
    if not FEWEST_INSTANCES < count <= MOST_INSTANCES:
        limits = f"more than {FEWEST_INSTANCES} and at most {MOST_INSTANCES:,} are wanted"
        task_findings.error(
            2, f"{count:,} instances; {limits}{'' if count else ' (ingest refuses the file)'}"
        )
    _inputs(rows, head, task_findings)
    _outputs(rows, task_id, task_findings)
    return task_findings, count


def _parse(data: bytes, task_findings: TaskFindings) -> dict[str, Any]:
    """The object of the file. Duplicate keys, NaN and a byte order mark are reported.

    Raises UnreadableFile if it is none.
    """
    try:
        value = exact(data)
    except NotJson as error:
        raise UnreadableFile(error.reason, error.detail) from None
    if not isinstance(value, dict):
        raise UnreadableFile("not a JSON object")
    laxities = list(_laxities(value, b"NaN" in data or b"Infinity" in data))
    if data.startswith(codecs.BOM_UTF8):
        task_findings.error(
            13, "a byte order mark comes first, at which Python's parser stops (ingest takes the file)"
        )
    for message, where in laxities:
        if where:
            task_findings.allowed(13, message, where)
    return value


def _laxities(value: dict[str, Any], constants: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield what the first parse takes though it is no valid JSON, and where: keys of the file, or instances."""
    instances = value.get("Instances")
    listed = instances if isinstance(instances, list) else []
    pairs = value.pairs if isinstance(value, DuplicateKey) else list(value.items())
    # Instances are reported one by one, but not such a list as another of the same name hides.
    outside = [(key, item) for key, item in pairs if item is not instances or not listed]
    later = "found only when a first parse fails"
    key = value.key if isinstance(value, DuplicateKey) else duplicate_key([item for _, item in outside])
    yield f"a duplicate key, {later} (ingest refuses the file)", [] if key is None else [printable(key)]
    double = [name_of(item, index) for index, item in enumerate(listed) if duplicate_key(item) is not None]
    yield f"a duplicate key in an instance, {later} (ingest refuses them)", double
    if constants:
        passes = "NaN passes: a bare NaN or infinity, which JSON does not have"
        yield (
            f"{passes}, under a key",
            list(dict.fromkeys(printable(key) for key, item in outside if has_constant(item))),
        )
        yield (
            f"{passes}, in an instance",
            [name_of(item, index) for index, item in enumerate(listed) if has_constant(item)],
        )


def _repeats(values: pa.Array) -> np.ndarray:
    """For each value whether an earlier one is equal."""
    encoded = values.dictionary_encode()
    if len(encoded.dictionary) == len(values):
        return np.zeros(len(values), dtype=bool)
    # Codes are given in the order of first appearance: what is new is larger than all before it.
    codes = encoded.indices.to_numpy()
    before = np.concatenate(([-1], np.maximum.accumulate(codes)[:-1]))
    return np.asarray(codes <= before)


def _inputs(rows: Rows, head: dict[str, Any], task_findings: TaskFindings) -> None:
    """Checks 3 (blank texts), 6, 7 and 10."""
    length = pc.binary_length(rows.inputs).to_numpy()
    blank = blank_texts(rows.inputs)
    texts = rows.outputs.flatten()
    of_row = pc.list_parent_indices(rows.outputs).to_numpy()
    blank_outputs = np.zeros(len(rows.outputs), dtype=bool)
    blank_outputs[of_row[blank_texts(texts)]] = True
    refused = "; only an empty one fails (ingest refuses them)"
    if only_blank := named(rows.names, blank & (length > 0)):
        task_findings.allowed(3, f"input is blank{refused}", only_blank)
    if blank_outputs.any():
        what = "an output is blank; only a list without outputs fails (ingest refuses them)"
        task_findings.allowed(3, what, named(rows.output_names, blank_outputs))
    if repeated := named(rows.names, _repeats(rows.inputs)):
        task_findings.error(
            6, "an input that an earlier instance has; the outputs are to be merged", repeated
        )
    linked = np.asarray(pc.match_substring_regex(rows.inputs, LINK).to_numpy(zero_copy_only=False))
    if linked.any():
        task_findings.warning(7, "a link in the input", named(rows.names, linked))
    examples = {
        printable(example["input"])
        for example in _positive_examples(head)
        if isinstance(example.get("input"), str)
    }
    shared = pc.is_in(rows.inputs, pa.array(sorted(examples), pa.string())).to_numpy(zero_copy_only=False)
    if shared.any():
        task_findings.error(10, "the input of a positive example", named(rows.names, shared))


def _positive_examples(head: dict[str, Any]) -> list[dict[str, Any]]:
    examples = head.get("Positive Examples")
    return [it for it in examples if isinstance(it, dict)] if isinstance(examples, list) else []


def _outputs(rows: Rows, task_id: str, task_findings: TaskFindings) -> None:
    """Checks 8 and 9, over all outputs of all instances."""
    number = task_id.removeprefix("task").partition("_")[0]
    counted = pc.value_counts(rows.outputs.flatten())
    if len(counted) >= FEW_OUTPUTS:
        return
    if not len(counted):
        task_findings.error(8, "there is no output")
        return
    counts = {row["values"]: row["counts"] for row in counted.to_pylist()}
    if len(counts) < 2:
        if not (number.isdecimal() and int(number) in SINGLE_OUTPUT_EXEMPT):
            task_findings.error(8, "all outputs are the same", list(counts))
            return
        task_findings.allowed(8, "all outputs are the same; the task is exempt by its number", list(counts))
    entropy = normalised_entropy([counts[value] for value in sorted(counts)])
    if entropy > LEAST_ENTROPY:
        return
    values = sorted(counts, key=lambda value: (-counts[value], value))
    shares = ", ".join(f"{counts[value]:,}" for value in values)
    what = f"{len(counts)} distinct outputs, {shares} times: entropy {entropy:.3f}"
    if number in SKEW_EXEMPT:
        task_findings.allowed(9, f"{what}; the task is exempt by its number", values)
    else:
        task_findings.error(9, what, values)


def normalised_entropy(counts: Sequence[int]) -> float:
    """-sum p log p / log(n) of n counts above zero: 1 if they are equal, NaN for a single one (test_all.py)."""
    if len(counts) < 2:
        return float("nan")
    shares = np.asarray(counts) / sum(counts)
    return float(-(shares * np.log(shares) / np.log(len(counts))).sum())


REPEATED_ID = "an id that an earlier instance has"
# Older forms, which ingest takes all the same.
NO_ID, ONE_OUTPUT = "no id", "output is not a list"
TAKEN = frozenset({NO_ID, ONE_OUTPUT})


@dataclass
class Rows:
    """The inputs that are strings, with the names of their instances; likewise the outputs that are lists of
    strings, or one string, which counts as a list of it.
    """

    names: pa.Array
    inputs: pa.Array
    output_names: pa.Array
    outputs: pa.Array


def name_of(instance: Any, index: int) -> str:
    """Return the name of an instance: its id, or its position where it has none."""
    own_id = instance.get("id") if isinstance(instance, dict) else None
    return own_id if is_text(own_id) and own_id.strip() else f"#{index}"


def check_instances(instances: Sequence[Any], task_findings: TaskFindings) -> Rows:
    """Check 3, instance by instance, and their texts."""
    wrong: dict[str, list[str]] = {}
    let_pass: dict[str, list[str]] = {}
    known_ids: set[Any] = set()
    inputs: list[tuple[str, str]] = []
    outputs: list[tuple[str, list[str]]] = []
    for index, item in enumerate(instances):
        name = name_of(item, index)
        for problem in _problems(item):
            wrong.setdefault(problem, []).append(name)
        if not isinstance(item, dict):
            continue
        own_id, text = item.get("id"), item.get("input")
        texts: list[str] = []
        if isinstance(text, str):
            texts.append(text)
            inputs.append((name, printable(text)))
        if (answers := _answers(item.get("output"))) is not None:
            texts += answers
            outputs.append((name, [printable(answer) for answer in answers]))
        if "id" in item and not isinstance(own_id, list | dict):
            blank = own_id is None or (isinstance(own_id, str) and not own_id.strip())
            if own_id in known_ids:
                again = f"{REPEATED_ID}, blank" if blank else REPEATED_ID
                wrong.setdefault(again, []).append(name)
            known_ids.add(own_id)
            if blank:
                what = "an id that is null or blank; it only has to be unique (ingest makes one in its place)"
                let_pass.setdefault(what, []).append(name)
            elif not isinstance(own_id, str):
                what = "an id that is not a string; it only has to be unique (ingest refuses them)"
                let_pass.setdefault(what, []).append(name)
            else:
                texts.append(own_id)
        if not all(map(is_text, texts)):
            what = "half a character; any string is enough (ingest refuses them)"
            let_pass.setdefault(what, []).append(name)
    for problem, where in wrong.items():
        refuse(problem, where, task_findings)
    for what, where in let_pass.items():
        task_findings.allowed(3, what, where)
    return Rows(*_columns(inputs, pa.string()), *_columns(outputs, STRINGS))


def _columns(pairs: Sequence[tuple[str, Any]], kind: pa.DataType) -> tuple[pa.Array, pa.Array]:
    return pa.array([name for name, _ in pairs], pa.string()), pa.array([value for _, value in pairs], kind)


def _answers(value: Any) -> list[str] | None:
    """The outputs, if all are strings."""
    listed = [value] if isinstance(value, str) else value
    return listed if isinstance(listed, list) and all(isinstance(it, str) for it in listed) else None


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
    if isinstance(item["output"], str):
        yield ONE_OUTPUT
    elif not isinstance(item["output"], list):
        yield "output is neither a list nor a string"
    elif not item["output"]:
        yield "output is empty"
    elif not all(isinstance(text, str) for text in item["output"]):
        yield "output has an entry that is not a string"


def refuse(problem: str, names: Sequence[str], task_findings: TaskFindings) -> None:
    """An error of check 3 in these instances, if there are any, and what ingest does with them."""
    if not names:
        return
    if problem == f"{REPEATED_ID}, blank":
        problem += " (ingest makes one in its place)"
    elif problem not in TAKEN:
        problem += " (ingest refuses them)"
    task_findings.error(3, problem, names)


def named(names: pa.Array, mask: np.ndarray) -> list[str]:
    """The names where the mask is set."""
    chosen: list[str] = names.filter(pa.array(mask)).to_pylist()
    return chosen
