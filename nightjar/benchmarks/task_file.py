"""One Super-NaturalInstructions task file to one row of `tasks` and a table of instances (section 3).

Two readers give the same result. Arrow's reads an ordinary file straight into columns, at hundreds of
megabytes a second, and fails on anything out of the ordinary: a missing or duplicate key, a wrong type, an
unknown key. Whatever it does not take goes to the exact reader, which looks at every instance and names what
is wrong with it.

A duplicate key inside an instance costs that instance. Anywhere else it costs the file: nobody knows which
of two definitions, or of two lists of instances, its author meant, and JSON parsers silently drop one of
them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from nightjar.core.contracts import INSTANCES, STRINGS
from nightjar.core.json_text import NotJson, duplicate_key, exact, is_text, not_text, raw_text

# Column, the key in the file, and whether a file without it is refused: the split and the prompts need those.
_LISTS = (
    ("categories", "Categories", True),
    ("sources", "Source", True),
    ("urls", "URL", False),
    ("domains", "Domains", False),
    ("reasoning", "Reasoning", False),
    ("contributors", "Contributors", False),
    ("input_language", "Input_language", True),
    ("output_language", "Output_language", True),
    ("instruction_language", "Instruction_language", False),
    ("license", "Instance License", False),
)
_EXAMPLES = (("positive_examples", "Positive Examples"), ("negative_examples", "Negative Examples"))
_OLD_SPELLINGS = {
    f"{side}_language": f"{side.lower()}_language" for side in ("Input", "Output", "Instruction")
}

_STRINGS = pa.list_(pa.string())
_EXAMPLE = pa.struct([(name, pa.string()) for name in ("input", "output", "explanation")])
_INSTANCE = pa.struct([("id", pa.string()), ("input", pa.string()), ("output", _STRINGS)])
# Explicit types, and an error for any other key: left to guess types, Arrow takes dates for times and can be
# crashed by deep nesting.
_ORDINARY = [
    pa.schema(
        [("Definition", definition), ("Instances", pa.list_(_INSTANCE))]
        + [(key, _STRINGS) for _, key, _ in _LISTS]
        + [(old, _STRINGS) for old in _OLD_SPELLINGS.values()]
        + [(key, pa.list_(_EXAMPLE)) for _, key in _EXAMPLES]
    )
    for definition in (_STRINGS, pa.string())
]
_LARGEST_BLOCK = 2**31 - 2


@dataclass(frozen=True)
class RefusedRow:
    """One row that is not taken: its id if it has one, the reason, what exactly, and its text as it came."""

    reason: str
    raw: str
    id: str | None = None
    detail: str = ""


class UnreadableFile(Exception):
    """A whole file that cannot be taken: the reason, and what exactly is wrong."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}" if detail else reason)


@dataclass
class TaskFile:
    """The contents of a file: its row of `tasks`, the instances taken and refused, and what was left out."""

    head: dict[str, Any]
    instances: pa.Table
    refused: list[RefusedRow] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def read_task(data: bytes, dataset: str, file: str, task_id: str) -> TaskFile:
    """A task file's content. Raises UnreadableFile if no part of it can be used."""
    return read_columns(data, dataset, file, task_id) or read_any(data, dataset, file, task_id)


@dataclass
class Columns:
    """An ordinary file as Arrow reads it: every type is right, and nothing of an instance is missing but ids.

    `head` has the other keys, None where a file lacks one; the instances' columns are as long as one another,
    with rows that ingest refuses still among them.
    """

    head: dict[str, Any]
    ids: pa.Array
    inputs: pa.Array
    outputs: pa.Array


def ordinary(data: bytes) -> Columns | None:
    """The columns of an ordinary file, or None: then the exact reader has to look at it."""
    table = next((table for schema in _ORDINARY if (table := _arrow(data, schema)) is not None), None)
    if table is None:
        return None
    rows = table["Instances"].chunk(0).flatten()
    ids, inputs, outputs = rows.flatten()
    if not len(rows) or any(column.null_count for column in (rows, inputs, outputs, outputs.flatten())):
        return None
    if pc.min(pc.list_value_length(outputs)).as_py() < 1:
        return None
    return Columns(table.drop(["Instances"]).to_pylist()[0], ids, inputs, outputs)


def read_columns(data: bytes, dataset: str, file: str, task_id: str) -> TaskFile | None:
    """The content of a file with no flaw but blank texts, or None: then the exact reader has to look at it."""
    columns = ordinary(data)
    if columns is None:
        return None
    ids, inputs, outputs = columns.ids, columns.inputs, columns.outputs
    number = task_id.partition("_")[0]
    if ids.null_count:
        triples = zip(ids.to_pylist(), inputs.to_pylist(), outputs.to_pylist(), strict=True)
        full = [published_id or make_id(number, text, out) for published_id, text, out in triples]
        ids = pa.array(full, pa.string())
    index = np.arange(len(ids), dtype=np.int32)
    refused: list[RefusedRow] = []
    texts = outputs.flatten()
    blank = np.union1d(
        np.flatnonzero(blank_texts(inputs)), pc.list_parent_indices(outputs).to_numpy()[blank_texts(texts)]
    )
    if len(blank):
        rows = pa.table({"id": columns.ids, "input": inputs, "output": outputs}).take(pa.array(blank))
        results = [check_instance(row, number, set()) for row in rows.to_pylist()]
        refused = [result for result in results if isinstance(result, RefusedRow)]
        index = np.delete(index, blank)
        ids, inputs, outputs = (column.take(pa.array(index)) for column in (ids, inputs, outputs))
    if blank_texts(ids).any() or len(pc.unique(ids)) != len(ids):
        return None
    try:
        row, left_out = _head({key: value for key, value in columns.head.items() if value is not None})
    except UnreadableFile:
        return None
    if left_out:
        return None
    table = _columns(dataset, file, task_id, ids, index, inputs, outputs)
    return TaskFile({"dataset": dataset, "file": file, "task_id": task_id, **row}, table, refused)


def _arrow(data: bytes, schema: pa.Schema) -> pa.Table | None:
    # Arrow 26 crashes on a lone `null`, hence the look at the first byte.
    if data[:64].lstrip()[:1] != b"{" or len(data) > _LARGEST_BLOCK:
        return None
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(data),
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=schema, newlines_in_values=True, unexpected_field_behavior="error"
            ),
        )
        table.validate(full=True)  # UTF-8 among others
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    return table if len(table) == 1 and not table["Instances"].null_count else None


def blank_texts(texts: pa.Array) -> np.ndarray:
    """Which texts are blank. Arrow and Python agree on what is white space."""
    blank = pc.or_(pc.equal(pc.binary_length(texts), 0), pc.utf8_is_space(texts))
    return np.asarray(blank.to_numpy(zero_copy_only=False))


def task_object(data: bytes) -> dict[str, Any]:
    """Return the object of a file, whatever it holds. Raises UnreadableFile where the file has none."""
    try:
        value = exact(data)
    except NotJson as error:
        raise UnreadableFile(error.reason, error.detail) from None
    if not isinstance(value, dict):
        raise UnreadableFile("not a JSON object")
    return value


def read_any(data: bytes, dataset: str, file: str, task_id: str, *, complete: bool = True) -> TaskFile:
    """The content of any file, instance by instance. Raises UnreadableFile if no part of it can be used.

    Where only prompts are wanted, `complete=False` takes a file without the lists that only the split reads.
    """
    value = task_object(data)
    instances = value.get("Instances")
    # The whole object's own duplicate keys count, those of its instances do not.
    key = getattr(value, "key", None) or duplicate_key(
        [item for name, item in value.items() if name != "Instances"]
    )
    if key is not None:
        raise UnreadableFile("a duplicate key", raw_text(key))
    if not isinstance(instances, list):
        raise UnreadableFile("no instances" if instances is None else "Instances is not a list")
    if not instances:
        raise UnreadableFile("no instances")
    row, left_out = _head(value, complete)
    number = task_id.partition("_")[0]
    seen: set[str] = set()
    taken: list[tuple[int, tuple[str, str, list[str]]]] = []
    refused: list[RefusedRow] = []
    for index, item in enumerate(instances):
        result = check_instance(item, number, seen)
        if isinstance(result, RefusedRow):
            refused.append(result)
        else:
            taken.append((index, result))
    ids, inputs, outputs = ([instance[part] for _, instance in taken] for part in range(3))
    columns = _columns(
        dataset,
        file,
        task_id,
        pa.array(ids, pa.string()),
        pa.array([index for index, _ in taken], pa.int32()),
        pa.array(inputs, pa.string()),
        pa.array(outputs, STRINGS),
    )
    return TaskFile({"dataset": dataset, "file": file, "task_id": task_id, **row}, columns, refused, left_out)


def _columns(
    dataset: str,
    file: str,
    task_id: str,
    ids: pa.Array,
    index: np.ndarray | pa.Array,
    inputs: pa.Array,
    outputs: pa.Array,
) -> pa.Table:
    same = [pa.repeat(pa.scalar(value, pa.string()), len(ids)) for value in (dataset, file, task_id)]
    return pa.table([*same, ids, pa.array(index), inputs, outputs.cast(STRINGS)], schema=INSTANCES.schema)


def _head(value: dict[str, Any], complete: bool = True) -> tuple[dict[str, Any], list[str]]:
    """The columns of `tasks` from a file's keys, and what was left out of them. Raises UnreadableFile."""
    left_out: list[str] = []
    row: dict[str, Any] = {"definition": _definition(value.get("Definition"))}
    for column, key, needed in _LISTS:
        required = needed and complete
        entries = value.get(key)
        if entries is None and key in _OLD_SPELLINGS:
            entries = value.get(_OLD_SPELLINGS[key])
        if entries is None:
            if required:
                raise UnreadableFile(f"no {key}")
            entries = []
        entries = entries if isinstance(entries, list) else [entries]
        row[column] = [entry for entry in entries if is_text(entry)]
        left_out += [f"{key}: an entry is {not_text(entry)}" for entry in entries if not is_text(entry)]
        if required and not row[column] and entries:
            raise UnreadableFile(f"{key} is not text")
    for column, key in _EXAMPLES:
        examples = value.get(key)
        if not isinstance(examples, list):
            raise UnreadableFile(f"no {key}" if examples is None else f"{key} is not a list")
        row[column] = list(_examples(examples, key, left_out))
    return row, left_out


def _definition(value: Any) -> list[str]:
    """The definition as a list of strings; older files have one plain string."""
    texts = [value] if isinstance(value, str) else value
    if texts is None:
        raise UnreadableFile("no Definition")
    if not isinstance(texts, list) or not all(map(is_text, texts)):
        raise UnreadableFile("Definition is not text")
    if not texts or not texts[0].strip():
        raise UnreadableFile("Definition is blank")
    return texts


def _examples(examples: list[Any], key: str, left_out: list[str]) -> Iterator[dict[str, Any]]:
    for number, example in enumerate(examples, 1):
        fields = example if isinstance(example, dict) else {}
        output = fields.get("output")
        if isinstance(output, list) and len(output) == 1:
            output = output[0]
        explanation = fields.get("explanation")
        if is_text(fields.get("input")) and is_text(output) and (explanation is None or is_text(explanation)):
            yield {"input": fields["input"], "output": output, "explanation": explanation}
        else:
            left_out.append(f"{key}: number {number} is not {{input, output, explanation}} of strings")


# id, input, outputs
Instance = tuple[str, str, list[str]]


def make_id(number: str, input: str, outputs: list[str]) -> str:
    """An id for an instance that came without one: the task's number, then the SHA-1 of input and outputs."""
    text = json.dumps([input, outputs], ensure_ascii=False)
    return f"{number}-{hashlib.sha1(text.encode('utf-8'), usedforsecurity=False).hexdigest()}"


def check_instance(value: Any, number: str, seen: set[str]) -> Instance | RefusedRow:
    """One instance as it is in the file, checked; `seen` holds the ids taken so far and gets this one.

    An instance is {id, input, output}: the id unique in its task, the input not blank, the output a list of strings
    none of which is blank (Wang et al. 2022). Two forms of older files are taken too: an output that is one string, and
    no id, which `make_id` replaces. Other keys are ignored.
    """
    if not isinstance(value, dict):
        return RefusedRow("not an object", raw_text(value))
    own_id = value.get("id")
    id = own_id if is_text(own_id) else None

    def refuse(reason: str, detail: str = "") -> RefusedRow:
        return RefusedRow(reason, raw_text(value), id, detail)

    key = duplicate_key(value)
    if key is not None:
        return refuse("a duplicate key", raw_text(key))
    text = value.get("input")
    if "input" not in value:
        return refuse("no input")
    if not is_text(text):
        return refuse(f"input is {not_text(text)}")
    if _blank(text):
        return refuse("input is blank")
    if "output" not in value:
        return refuse("no output")
    outputs = [value["output"]] if isinstance(value["output"], str) else value["output"]
    if not isinstance(outputs, list):
        return refuse(f"output is {not_text(outputs)}")
    if not outputs:
        return refuse("output is empty")
    for output in outputs:
        if not is_text(output):
            return refuse(f"output is {not_text(output)}")
        if _blank(output):
            return refuse("output is blank")
    if own_id is None or (isinstance(own_id, str) and _blank(own_id)):
        id = make_id(number, text, outputs)
    elif id is None:
        return refuse(f"id is {not_text(own_id)}")
    if id in seen:
        return refuse("the same id twice", id)
    seen.add(id)
    return id, text, outputs


def _blank(text: str) -> bool:
    return not text or text.isspace()
