"""The questions of a benchmark as an artifact: from its ingested dataset, or from its own files as they are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nightjar.benchmarks.question import Question, Record, Refused, Sources
from nightjar.benchmarks.question_set import QuestionSet
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.core.files import FILE, kind
from nightjar.core.identity import contents, safe_name

SIDES = {"train": contracts.TRAIN_QUESTIONS, "dev": contracts.DEV_QUESTIONS, "test": contracts.QUESTIONS}


def is_ingested(data: Path) -> bool:
    """Tell whether the folder is an artifact, and not files of a dataset."""
    return data.is_dir() and ((data / tables.REJECTED_FILE).is_file() or any(data.glob("*/*.parquet")))


def rows_of(
    benchmark: QuestionSet, path: Path, encodings: Mapping[str, str] | None = None
) -> Iterator[Record | Refused]:
    """Yield the rows that a benchmark reads from the folder `path`, or from one file.

    An id that occurs twice is refused. `encodings`: pattern of a file's path in the folder to its encoding. Raises
    NightjarError if there is no such folder or file, or the benchmark reads no files of its own or takes no encodings.
    """
    refused = None
    for nested in (False, True):
        with _folder(benchmark, path, nested) as folder:
            try:
                rows = iter(
                    benchmark.load_encoded(folder, encodings) if encodings else benchmark.load(folder)
                )
                first = [row for row in [next(rows, None)] if row]
            except NightjarError as error:
                error.where = error.where.replace(str(folder), str(path))
                refused = refused or error
                continue
            yield from _without_duplicates(chain(first, rows))
            return
    assert refused
    raise refused


def _without_duplicates(rows: Iterable[Record | Refused]) -> Iterator[Record | Refused]:
    """Yield the rows; a record whose id occurred before in its task is refused."""
    keys: set[tuple[str, str]] = set()
    for row in rows:
        if isinstance(row, Record) and (row.task_id, row.id) in keys:
            raw = json.dumps(row.parts, ensure_ascii=False)
            yield Refused(row.file, "the same id twice", raw, row.id)
            continue
        if isinstance(row, Record):
            keys.add((row.task_id, row.id))
        yield row


@contextmanager
def _folder(benchmark: QuestionSet, path: Path, nested: bool) -> Iterator[Path]:
    """Open a folder that a benchmark reads: `path`, or one with this file alone.

    `nested`: one with the folder `path` in it, or with the file in a folder of its own folder's name. Some benchmarks
    have a folder for each of their data sets.
    """
    if benchmark.task_source or (path.is_dir() and not nested):
        yield path
        return
    if not path.is_dir() and (path_kind := kind(path)) != FILE:
        what = f"{path.name} is {path_kind}" if path_kind else "no such file or folder"
        raise NightjarError(what, path, f"give the folder of {benchmark.title}, or one of its files")
    source = path.resolve()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / source.parent.name if nested and source.is_file() else Path(temporary)
        folder.mkdir(exist_ok=True)
        (folder / source.name).symlink_to(source)
        yield Path(temporary)


def record_row(dataset: str, record: Record) -> dict[str, Any]:
    """Make the row of contracts.RECORDS of a record."""
    return {
        "dataset": dataset,
        "file": record.file if record.line is None else f"{record.file}:{record.line}",
        "task_id": record.task_id,
        "category": record.category,
        "id": record.id,
        "parts": json.dumps(record.parts, ensure_ascii=False),
        "references": list(record.references),
        "day": record.day,
    }


@contextmanager
def opened(
    benchmark: QuestionSet, data: Path, split: Path | None = None
) -> Iterator[tuple[Sources, list[Refused]]]:
    """Open the sources of a benchmark's questions: an artifact, or files that are read into a temporary one.

    The list has the rows that were refused.
    """
    if is_ingested(data):
        yield Sources(data, split or data), []
        return
    tasks: dict[str, list[dict[str, Any]]] = {}
    refused: list[Refused] = []
    for row in rows_of(benchmark, data):
        if isinstance(row, Refused):
            refused.append(row)
        else:
            tasks.setdefault(row.task_id, []).append(record_row(benchmark.name, row))
    if not tasks:
        first = f" (first {refused[0].file}: {refused[0].reason})" if refused else ""
        raise NightjarError(f"nothing in it can be used{first}", data, f"give the files of {benchmark.title}")
    with TemporaryDirectory() as folder:
        artifact = Path(folder) / benchmark.name
        with tables.ArtifactWriter(artifact) as writer:
            for task, rows in sorted(tasks.items()):
                writer.write(contracts.RECORDS, rows, part=safe_name(task))
        try:
            yield Sources(artifact, artifact), refused
        except NightjarError as error:  # it names what the user knows
            error.where = error.where.replace(str(artifact), str(data))
            raise


def write_questions(
    benchmark: QuestionSet,
    sources: Sources,
    settings: Any,
    seed: int,
    output: Path,
    code: Path | None = None,
    training: bool = True,
    refused: Iterable[Refused] = (),
) -> tuple[dict[str, int], dict[str, int]]:
    """Write the artifact with the questions of a benchmark; return the numbers of each side and of each test task.

    `code` is what the benchmark is made of: its digest is in the artifact, so that what depends on the questions
    depends on it. Without `training` the artifact has the test side alone.
    """
    sides: dict[str, list[Question]] = {side: [] for side in SIDES}
    sides["test"] += benchmark.questions(sources, settings, seed)
    for training_side, question in benchmark.training_questions(sources, settings, seed) if training else ():
        sides[training_side].append(question)
    if not sides["train"] and not sides["dev"]:  # no system of the benchmark trains on its own data
        sides = {"test": sides["test"]}
    counts = {side: len(questions) for side, questions in sides.items()}
    if empty := [side for side, count in counts.items() if not count]:
        what = f"{benchmark.name} has no {' and no '.join(empty)} questions"
        raise NightjarError(what, sources.data, "check its data and its settings")
    tasks: dict[str, int] = {}
    with tables.ArtifactWriter(output) as writer:
        identity = {
            "name": benchmark.name,
            "version": benchmark.version,
            **({"code": contents(code)} if code else {}),
        }
        text = json.dumps(identity, indent=2) + "\n"
        (writer.folder("card") / "card.json").write_text(text, encoding="utf-8")
        for side, questions in sides.items():
            questions.sort(
                key=lambda question: question.task_id
            )  # stable: a task's questions keep their order
            for task, group in groupby(questions, key=lambda question: question.task_id):
                number = writer.write(SIDES[side], [it.row() for it in group], part=safe_name(task))
                if side == "test":
                    tasks[task] = number
        for row in refused:
            writer.reject(benchmark.name, row.file, row.reason, row.raw, row.id)
    return counts, tasks
