"""Reads the files of a folder into records: the benchmark's own, and those of the source sets."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.zeroscrolls.examples import OFFSETS, SEPARATOR, Example, Unfit, built, published
from nightjar.benchmarks.zeroscrolls.rows import ENDINGS, Row, rows
from nightjar.benchmarks.zeroscrolls.sources import BUILDERS, Made, Place, chosen
from nightjar.benchmarks.zeroscrolls.tables import MAKERS
from nightjar.benchmarks.zeroscrolls.tasks import TASKS
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import is_text, not_text, raw_text, shown

log = logging.getLogger("nightjar")

# Tables of source sets that have no questions.
_NOT_READ = {"narrative_qa": {"documents.csv", "summaries.csv"}}
# A row with one of these keys is one of the benchmark's own files.
_PUBLISHED = {"input", "output", "pid", SEPARATOR, *OFFSETS}


@dataclass
class _Merged:
    """Rows of one id: the example that they share, and their references in order of first appearance."""

    example: Example
    references: list[str] = field(default_factory=list)
    rows: int = 0


def load(folder: Path) -> Iterator[Record | Refused]:
    """The examples of the files in `folder`, which has one folder a task, named like it; other folders are not read.

    A file is one of the benchmark's own (rows with `input` and offsets; several rows of an id are one example with
    several references), one of the task's source set, or a table. Of a task with more examples of its source set 500
    are taken, from all its files together. A row without a reference is kept. Raises NightjarError if there is no such
    file, or one cannot be read.
    """
    files = {task: _files(folder / task) for task in TASKS}
    if not any(files.values()):
        what = "no folder of a task with files " + ", ".join(f"*{ending}" for ending in ENDINGS)
        raise NightjarError(
            what, folder, f"make folders such as {next(iter(TASKS))}; tasks are {', '.join(TASKS)}"
        )
    for task, paths in files.items():
        made: dict[Made, str] = {}
        for path in paths:
            yield from _read(task, path, f"{task}/{path.name}", made)
        some = chosen(task, list(made))
        if len(some) < len(made):
            log.info("%s: %s of %s examples are taken", task, len(some), len(made))
        for one in some:
            yield _checked(task, made[one], one)


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    skipped = _NOT_READ.get(folder.name, set())
    return sorted(path for path in folder.iterdir() if path.suffix in ENDINGS and path.name not in skipped)


def _read(task: str, path: Path, file: str, made: dict[Made, str]) -> Iterator[Record | Refused]:
    """The benchmark's own examples in a file, and the rows that are refused; adds those of a source set to `made`."""
    merged: dict[str, _Merged] = {}
    of_table: list[Row] = []
    for row in rows(path):
        if row.value is not None and _PUBLISHED & row.value.keys():
            if refused := _merge(merged, row, file):
                yield refused
        elif task in MAKERS:
            of_table.append(row)
        else:
            found = _built(task, path, file, row)
            if isinstance(found, Refused):
                yield found
            else:
                made.update(dict.fromkeys(found, file))
    for id, one in merged.items():
        remarks = ("several rows of an id",) if one.rows > 1 else ()
        yield _record(task, id, file, one.example, one.references, remarks)
    for it in MAKERS[task](of_table) if of_table else ():
        if isinstance(it, Made):
            made[it] = file
            continue
        what, reason = it
        raw, name = (what.raw, None) if isinstance(what, Row) else (what, what)
        yield Refused(file, reason, raw, name)


def _merge(merged: dict[str, _Merged], row: Row, file: str) -> Refused | None:
    """Add a row of the benchmark's own files to those of its id; returns it if it cannot be used."""
    assert row.value is not None
    id = row.value.get("id")
    try:
        if not is_text(id) or not id:
            raise Unfit("id is not a text" if "id" in row.value else "no id")
        example = published(row.value)
        output = row.value.get("output")
        if output is not None and not is_text(output):
            raise Unfit(f"output is {not_text(output)}")
        before = merged.setdefault(id, _Merged(example))
        if before.example != example:
            raise Unfit(f"the id {shown(id)} has another input in an earlier row")
    except Unfit as error:
        return Refused(file, str(error), row.raw, id if is_text(id) else None)
    before.rows += 1
    if output is not None and output.strip() and output not in before.references:
        before.references.append(output)
    return None


def _built(task: str, path: Path, file: str, row: Row) -> list[Made] | Refused:
    if row.value is None:
        return Refused(file, row.fault, row.raw)
    try:
        found = list(BUILDERS[task](row.value, Place(path, row.number)))
        if not found:
            raise Unfit("no questions")
    except Unfit as error:
        id = row.value.get("id")
        return Refused(file, str(error), row.raw, id if is_text(id) else None)
    return found


def _checked(task: str, file: str, made: Made) -> Record | Refused:
    """The record of an example, or the reason why it cannot be used."""
    try:
        for name, value in (("the document", made.document), ("the query", made.query)):
            if not is_text(value):
                raise Unfit(f"{name} is {not_text(value)}")
        if odd := [one for one in made.references if not is_text(one)]:
            raise Unfit(f"a reference is {not_text(odd[0])}")
        example = built(TASKS[task], made.document, made.query, made.n)
    except Unfit as error:
        raw: Mapping[str, Any] = {"query": made.query, "references": list(made.references)}
        return Refused(file, str(error), raw_text(raw), made.id)
    references = [one for one in made.references if one.strip()]
    remarks = ("a blank reference",) if len(references) < len(made.references) else ()
    return _record(task, made.id, file, example, references, remarks)


def _record(
    task: str, id: str, file: str, example: Example, references: Sequence[str], remarks: tuple[str, ...]
) -> Record:
    remarks = remarks if references else (*remarks, "no reference")
    return Record(task, id, file, example.parts(), tuple(references), remarks=remarks)
