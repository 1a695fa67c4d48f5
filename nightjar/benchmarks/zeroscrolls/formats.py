"""The file formats of ZeroSCROLLS: the benchmark's own files, and those of the source sets (`sources`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.source_rows import ENDINGS, InvalidRow, SourceRow, rows
from nightjar.benchmarks.zeroscrolls.aggregation import TABLES
from nightjar.benchmarks.zeroscrolls.prompts import OFFSETS, SEPARATOR, LongExample, built, published
from nightjar.benchmarks.zeroscrolls.sources import Draft, drafts, sampled
from nightjar.benchmarks.zeroscrolls.tasks import TASKS
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import is_text, not_text, quote_short, raw_text

log = logging.getLogger("nightjar")

# Tables of source sets that have no questions.
_NOT_READ = {"narrative_qa": {"documents.csv", "summaries.csv"}}
# A row with one of these keys is one of the benchmark's own files.
_PUBLISHED = {"input", "output", "pid", SEPARATOR, *OFFSETS}


@dataclass
class _Merged:
    """Rows of one id: the example that they share, and their references in order of first appearance."""

    example: LongExample
    references: list[str] = field(default_factory=list)
    rows: int = 0


def load(folder: Path) -> Iterator[Record | Refused]:
    """The examples of the files in `folder`, which has one folder a task, named like it; other folders are not read.

    A file is one of the benchmark's own (rows with `input` and offsets; several rows of an id are one example with
    several references), one of the task's source set, or a table. Of a task with more examples of its source set 500
    are drawn, from all its files together. A row without a reference is kept. Raises NightjarError if there is no such
    file, or one cannot be read.
    """
    files = {task: _files(folder / task) for task in TASKS}
    if not any(files.values()):
        what = "no folder of a task with files " + ", ".join(f"*{ending}" for ending in ENDINGS)
        fix = f"make folders such as {next(iter(TASKS))}; tasks are {', '.join(TASKS)}"
        raise NightjarError(what, folder, fix)
    for task, paths in files.items():
        draft_files: dict[Draft, str] = {}
        for path in paths:
            yield from _read(task, path, f"{task}/{path.name}", draft_files)
        sample = sampled(task, list(draft_files))
        if len(sample) < len(draft_files):
            log.info("%s: %s of %s examples are taken", task, len(sample), len(draft_files))
        for draft in sample:
            yield _checked(task, draft_files[draft], draft)


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    skipped = _NOT_READ.get(folder.name, set())
    return sorted(path for path in folder.iterdir() if path.suffix in ENDINGS and path.name not in skipped)


def _read(task: str, path: Path, file: str, draft_files: dict[Draft, str]) -> Iterator[Record | Refused]:
    """Yield the benchmark's own examples in a file, and the rows that are refused.

    Examples of a source set are added to `draft_files`.
    """
    merged: dict[str, _Merged] = {}
    table: list[SourceRow] = []
    for row in rows(path):
        try:
            if not row.fault and _PUBLISHED & row.value.keys():
                _merge(merged, row.value)
            elif task in TABLES:
                table.append(row)
            else:
                draft_files.update(dict.fromkeys(drafts(task, path, row), file))
        except InvalidRow as error:
            id = row.value.get("id") if isinstance(row.value, dict) else None
            yield Refused(file, str(error), row.raw, id if is_text(id) else None)
    for id, entry in merged.items():
        remarks = ("several rows of an id",) if entry.rows > 1 else ()
        yield _record(task, id, file, entry.example, entry.references, remarks)
    for outcome in TABLES[task](table, file) if table else ():
        if isinstance(outcome, Draft):
            draft_files[outcome] = file
        else:
            yield outcome


def _merge(merged: dict[str, _Merged], row: Mapping[str, object]) -> None:
    """Add a row of the benchmark's own files to those of its id. Raises InvalidRow if the row cannot be used."""
    id, output = row.get("id"), row.get("output")
    if not is_text(id) or not id:
        raise InvalidRow("id is not a text" if "id" in row else "no id")
    example = published(row)
    if output is not None and not is_text(output):
        raise InvalidRow(f"output is {not_text(output)}")
    before = merged.setdefault(id, _Merged(example))
    if before.example != example:
        raise InvalidRow(f"the id {quote_short(id)} has another input in an earlier row")
    before.rows += 1
    if output is not None and output.strip() and output not in before.references:
        before.references.append(output)


def _checked(task: str, file: str, draft: Draft) -> Record | Refused:
    """The record of an example, or the reason why it cannot be used."""
    try:
        for name, value in (("the document", draft.document), ("the query", draft.query)):
            if not is_text(value):
                raise InvalidRow(f"{name} is {not_text(value)}")
        if odd := [one for one in draft.references if not is_text(one)]:
            raise InvalidRow(f"a reference is {not_text(odd[0])}")
        example = built(TASKS[task], draft.document, draft.query, draft.n)
    except InvalidRow as error:
        raw = raw_text({"query": draft.query, "references": list(draft.references)})
        return Refused(file, str(error), raw, draft.id)
    references = [one for one in draft.references if one.strip()]
    remarks = ("a blank reference",) if len(references) < len(draft.references) else ()
    return _record(task, draft.id, file, example, references, remarks)


def _record(
    task: str, id: str, file: str, example: LongExample, references: Sequence[str], remarks: tuple[str, ...]
) -> Record:
    remarks = remarks if references else (*remarks, "no reference")
    return Record(task, id, file, example.parts(), tuple(references), remarks=remarks)
