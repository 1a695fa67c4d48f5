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
    """Whether the folder is an artifact, and not files of a dataset."""
    return data.is_dir() and ((data / tables.REJECTED_FILE).is_file() or any(data.glob("*/*.parquet")))


def rows_of(
    card: QuestionSet, path: Path, encodings: Mapping[str, str] | None = None
) -> Iterator[Record | Refused]:
    """The rows that the card reads from the folder `path`, or from one file; an id that occurs twice is refused.

    `encodings`: pattern of a file's path in the folder to its encoding. Raises NightjarError if there is no such folder
    or file, or the card reads no files of its own or takes no encodings.
    """
    if not card.loads_files:
        raise NightjarError(f"{card.name} has no files of its own", path, "ingest the dataset it is made of")
    refused = None
    for nested in (False, True):
        with _folder(card, path, nested) as folder:
            found = iter(card.load_encoded(folder, encodings) if encodings else card.load(folder))
            try:
                first = [one for one in [next(found, None)] if one]
            except NightjarError as error:
                error.where = error.where.replace(str(folder), str(path))
                refused = refused or error
                continue
            yield from _once(chain(first, found))
            return
    assert refused
    raise refused


def _once(found: Iterable[Record | Refused]) -> Iterator[Record | Refused]:
    seen: set[tuple[str, str]] = set()
    for one in found:
        if isinstance(one, Record) and (one.task_id, one.id) in seen:
            raw = json.dumps(one.parts, ensure_ascii=False)
            one = Refused(one.file, "the same id twice", raw, one.id)
        elif isinstance(one, Record):
            seen.add((one.task_id, one.id))
        yield one


@contextmanager
def _folder(card: QuestionSet, path: Path, nested: bool) -> Iterator[Path]:
    """A folder that a card reads: `path`, or one with this file alone.

    `nested`: one with the folder `path` in it, or with the file in a folder of its own folder's name. Some benchmarks
    have a folder for each of their data sets.
    """
    if card.task_source or (path.is_dir() and not nested):
        yield path
        return
    if not path.is_dir() and (found := kind(path)) != FILE:
        what = f"{path.name} is {found}" if found else "no such file or folder"
        raise NightjarError(what, path, f"give the folder of {card.title}, or one of its files")
    whole = path.resolve()
    with TemporaryDirectory() as made:
        folder = Path(made) / whole.parent.name if nested and whole.is_file() else Path(made)
        folder.mkdir(exist_ok=True)
        (folder / whole.name).symlink_to(whole)
        yield Path(made)


def record_row(dataset: str, record: Record) -> dict[str, Any]:
    """The row of contracts.RECORDS of a record."""
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
    card: QuestionSet, data: Path, split: Path | None = None
) -> Iterator[tuple[Sources, list[Refused]]]:
    """What the card's `questions` reads, and the rows that were refused: an artifact, or files that are read here.

    Raises NightjarError as `rows_of`, and if no row can be used.
    """
    if is_ingested(data):
        yield Sources(data, split or data), []
        return
    tasks: dict[str, list[dict[str, Any]]] = {}
    refused: list[Refused] = []
    for one in rows_of(card, data):
        if isinstance(one, Refused):
            refused.append(one)
        else:
            tasks.setdefault(one.task_id, []).append(record_row(card.name, one))
    if not tasks:
        first = f" (first {refused[0].file}: {refused[0].reason})" if refused else ""
        raise NightjarError(f"nothing in it can be used{first}", data, f"give the files of {card.title}")
    with TemporaryDirectory() as folder:
        made = Path(folder) / card.name
        with tables.ArtifactWriter(made) as writer:
            for task, rows in sorted(tasks.items()):
                writer.write(contracts.RECORDS, rows, part=safe_name(task))
        try:
            yield Sources(made, made), refused
        except NightjarError as error:  # it names what the user knows
            error.where = error.where.replace(str(made), str(data))
            raise


def write_questions(
    card: QuestionSet,
    sources: Sources,
    settings: Any,
    seed: int,
    output: Path,
    code: Path | None = None,
    training: bool = True,
    refused: Iterable[Refused] = (),
) -> tuple[dict[str, int], dict[str, int]]:
    """Write the artifact with the questions of a card; returns how many each side and each task of the test side has.

    `code` is what the card is made of: its digest is in the artifact, so that what depends on the questions depends on
    it. Without `training` the artifact has the test side alone. Raises NightjarError if a side has no question.
    """
    sides: dict[str, list[Question]] = {side: [] for side in SIDES}
    sides["test"] += card.questions(sources, settings, seed)
    for own, question in card.training_questions(sources, settings, seed) if training else ():
        sides[own].append(question)
    if not sides["train"] and not sides["dev"]:  # no system of the benchmark trains on its own data
        sides = {"test": sides["test"]}
    counts = {side: len(found) for side, found in sides.items()}
    if empty := [side for side, count in counts.items() if not count]:
        what = f"{card.name} has no {' and no '.join(empty)} questions"
        raise NightjarError(what, sources.data, "check its data and its settings")
    tasks: dict[str, int] = {}
    with tables.ArtifactWriter(output) as writer:
        identity = {"name": card.name, "version": card.version, **({"code": contents(code)} if code else {})}
        text = json.dumps(identity, indent=2) + "\n"
        (writer.folder("card") / "card.json").write_text(text, encoding="utf-8")
        for side, questions in sides.items():
            questions.sort(
                key=lambda question: question.task_id
            )  # stable: a task's questions keep their order
            for task, found in groupby(questions, key=lambda question: question.task_id):
                number = writer.write(SIDES[side], [one.row() for one in found], part=safe_name(task))
                if side == "test":
                    tasks[task] = number
        for one in refused:
            writer.reject(card.name, one.file, one.reason, one.raw, one.id)
    return counts, tasks
