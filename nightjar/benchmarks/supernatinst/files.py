"""Answers and references from files: leaderboard JSON Lines (facts 1.9), or the pipeline's own artifacts."""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from nightjar.benchmarks.supernatinst.baselines import NAMES, copy_demo, copy_input
from nightjar.core import contracts
from nightjar.core.contracts import TRACKS
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import PIPE, check_input, check_output, kind, write_lines
from nightjar.core.ids import qualified, unique_ids
from nightjar.core.json_text import parse_at, plain, shown

SPLIT, INGESTED = Path("data/split"), Path("data/ingest/natural_instructions")
# Bytes of lines that are read at a time.
_BLOCK = 2**16
PREDICTION = 'write {"id": "...", "prediction": "..."}'
REFERENCE = (
    'write {"id": "...", "references": ["..."], "task_id": "...", "task_category": "...", "track": "default"}'
)


def read_references(path: Path | None) -> list[dict[str, Any]]:
    """The instances to score: id, references, task_id, category and track each, in their order.

    From JSON Lines {id, references, task_id, task_category, track}, where a row without a track is "default"; or
    from an artifact folder with a table of test instances (None: the split's). Raises NightjarError, with file
    and line, for broken lines and ids that are no texts or stand twice.
    """
    if path is None or path.is_dir():
        return _split_references(path or SPLIT)
    rows = []
    for where, row in json_lines(path, REFERENCE):
        check_reference(row, where, REFERENCE)
        track = row.get("track", "default")
        if not isinstance(track, str) or track not in TRACKS:
            fix = f"allowed are {', '.join(sorted(TRACKS))}"
            raise NightjarError(f"the track is {shown(str(track))}", where, fix)
        rows.append(
            {
                "id": row["id"],
                "references": row["references"],
                "task_id": row["task_id"],
                "category": row["task_category"],
                "track": track,
            }
        )
    if not rows:
        raise NightjarError("no references", path, REFERENCE)
    return rows


def check_pipes(paths: Sequence[Path | None]) -> None:
    """Raise NightjarError for a pipe, such as /dev/stdin, that is named twice: it can be read once."""
    pipes = [path for path in paths if path and kind(path) == PIPE]
    for path, other in itertools.combinations(pipes, 2):
        if path.samefile(other):
            raise NightjarError("this pipe is named twice", path, "it can be read once: name a file")


def check_reference(row: Mapping[str, Any], where: str, form: str) -> None:
    """Raises NightjarError, with the `form` that it should have, for a reference without texts, task or category."""
    texts = row.get("references")
    if not isinstance(texts, list) or set(map(type, texts)) != {str}:
        raise NightjarError("references is not a list of at least one text", where, form)
    for key in ("task_id", "task_category"):
        if not isinstance(row.get(key), str):
            raise NightjarError(f"{key} is missing or not a text", where, form)


def read_predictions(path: Path, references: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The answers by the ids of `references`; those without one are left out.

    From JSON Lines {id, prediction}, from an artifact folder of ours such as data/predict/supernatinst-combined, or,
    named copy_input or copy_demo, what that heuristic answers to the split's test instances.
    Raises NightjarError for broken lines, and for ids that are no texts, stand twice or belong to no reference.
    """
    wanted = {row["id"] for row in references}
    given: dict[str, str] = {}
    heuristic = str(path) in NAMES and not path.exists()
    if heuristic or path.is_dir():
        columns = ["task_id", "id", "prediction"]
        for row in _copied(str(path)) if heuristic else _table(path, contracts.PREDICTIONS, columns):
            id = next((one for one in (row["id"], qualified(row)) if one in wanted), None)
            if id is None:
                what = f"no reference has the id {shown(row['id'])} of {row['task_id']}"
                raise NightjarError(what, path, "check that predictions and references belong together")
            if id in given:
                what = f"the id {shown(id)} stands in two tasks, but once in the references"
                raise NightjarError(what, path, "write TASK:ID in the references")
            given[id] = row["prediction"]
        return given
    for where, row in json_lines(path, PREDICTION):
        if not isinstance(row.get("prediction"), str):
            raise NightjarError("prediction is missing or not a text", where, PREDICTION)
        if row["id"] not in wanted:
            what = f"no reference has the id {shown(row['id'])}"
            raise NightjarError(what, where, "check that the two files belong together")
        given[row["id"]] = row["prediction"]
    return given


def _table(path: Path, contract: contracts.Table, columns: list[str]) -> list[dict[str, Any]]:
    """The rows of a table of ours."""
    # Here, not above: Parquet takes long to load, and JSON Lines do without it.
    from nightjar.core.tables import read_rows

    return read_rows(path, contract, columns)


def _copied(name: str) -> Iterator[dict[str, Any]]:
    """The answers of a heuristic to the split's test instances."""
    rows = _table(SPLIT, contracts.TEST, ["task_id", "id", "input"])
    copy = copy_input if name == "copy_input" else copy_demo
    for row, task in zip(rows, _tasks(rows, "positive_examples"), strict=True):
        yield {**row, "prediction": copy(row, task)}


def _tasks(rows: Sequence[Mapping[str, Any]], column: str) -> list[dict[str, Any]]:
    """The ingested task of each of `rows`, with that column."""
    tasks = {row["task_id"]: row for row in _table(INGESTED, contracts.TASKS, ["task_id", column])}
    if missing := [row["task_id"] for row in rows if row["task_id"] not in tasks]:
        fix = "split and ingest are of different runs: rebuild"
        raise NightjarError(f"no task {missing[0]}", INGESTED, fix)
    return [tasks[row["task_id"]] for row in rows]


def write_references(path: Path) -> int:
    """Write the split's test instances as the JSON Lines that others score against; returns how many.

    A line has id, references, task_id, task_category and track, and for `nightjar judge` the instance's input and the
    definition that prompts show. An id that occurs in several tasks is written as TASK:ID. Whole or not at all. Raises
    NightjarError if the split or its tasks are not there, or `path` must not be written (`core.files.check_output`).
    """
    inputs = [SPLIT, INGESTED]
    check_output(path, inputs)
    rows = read_references(None)
    texts = _table(SPLIT, contracts.TEST, ["input"])
    tasks = _tasks(rows, "definition")
    lines = [
        {"task_category" if key == "category" else key: row[key] for key in row}
        | {"input": text["input"], "definition": (task["definition"] or [""])[0]}
        for row, text, task in zip(rows, texts, tasks, strict=True)
    ]
    write_lines(path, lines, inputs)
    return len(rows)


def _split_references(path: Path) -> list[dict[str, Any]]:
    rows = _table(path, contracts.TEST, ["track", "category", "task_id", "id", "outputs"])
    if not rows:
        raise NightjarError("no test instances", path, "the split left no test task")
    return [
        {
            "id": id,
            "references": row["outputs"],
            "task_id": row["task_id"],
            "category": row["category"],
            "track": row["track"],
        }
        for id, row in zip(unique_ids(rows), rows, strict=True)
    ]


def json_lines(path: Path, wanted: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """For each line that is not blank, where it stands and its object, whose id is a text not seen before.

    `wanted` says what a line should be. A byte order mark is passed over. A pipe is read like a file. Raises
    NightjarError for a line that is not such an object in strict JSON (`core.json_text.parse`), and for a device or
    a folder.
    """
    seen: dict[str, int] = {}
    check_input(path, PIPE)
    prefix = f"{path}:"
    try:
        with path.open("rb") as file:
            for number, row in _values(file, prefix, wanted):
                where = f"{prefix}{number}"
                if not isinstance(row, dict) or "id" not in row:
                    raise NightjarError("not an object with an id", where, wanted)
                if not isinstance(row["id"], str):
                    what = f"the id {shown(str(row['id']), quoted=False)} is not a text"
                    raise NightjarError(what, where, "put it in quotation marks")
                if row["id"] in seen:
                    what = f"the id {shown(row['id'])} stands in line {seen[row['id']]} already"
                    raise NightjarError(what, where, "give every id once")
                seen[row["id"]] = number
                yield where, row
    except OSError as error:
        raise from_os_error(error, path) or error from None


def _values(file: BinaryIO, prefix: str, wanted: str) -> Iterator[tuple[int, Any]]:
    """The number and the JSON value of each line that is not blank, read some lines at a time."""
    before = 0
    while lines := file.readlines(_BLOCK):
        if not before:
            lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
        numbers = [number for number, line in enumerate(lines, before + 1) if line.strip()]
        texts = [lines[number - before - 1] for number in numbers]
        values: Iterable[Any] | None = plain(texts)
        if values is None:
            values = (
                parse_at(text, f"{prefix}{number}", wanted)
                for number, text in zip(numbers, texts, strict=True)
            )
        yield from zip(numbers, values, strict=True)
        before += len(lines)
