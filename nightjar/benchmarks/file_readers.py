"""Files in forms of a benchmark's own, where they are not the JSON Lines of `files`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from nightjar.benchmarks.question import Question
from nightjar.core import contracts
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import quote_short
from nightjar.core.tables import read_rows

T = TypeVar("T")


@dataclass(frozen=True)
class FileReaders:
    """The functions that read the files of a benchmark whose published files have another format than JSON Lines.

    `predictions` yields the place, the question's id and the answers of each prediction, `references` the place and the
    question of each row; both raise NightjarError. `line` is the row of a question that `references` reads. `questions`
    reads questions as `references` does, but they need no references; None: all have some.
    """

    predictions: Callable[[Path], Iterable[tuple[str, str, list[str]]]]
    references: Callable[[Path], Iterable[tuple[str, Question]]]
    line: Callable[[Question], Mapping[str, Any]]
    questions: Callable[[Path], Iterable[tuple[str, Question]]] | None = None


def read_own_references(readers: FileReaders, path: Path, form: str) -> list[Question]:
    """The questions of a file.

    `form` says what the file should hold.
    """
    rows = ((where, question.id, question) for where, question in readers.references(path))
    questions = [question for _, _, question in once(rows)]
    if not questions:
        raise NightjarError("no references", path, form)
    return questions


def once(rows: Iterable[tuple[str, str, T]]) -> Iterator[tuple[str, str, T]]:
    """The rows of place, id and value; an id that occurs twice is refused."""
    seen = set()
    for where, id, value in rows:
        if id in seen:
            raise NightjarError(f"the id {quote_short(id)} occurs twice", where, "give every id once")
        seen.add(id)
        yield where, id, value


def unknown_id(id: str, where: str) -> NightjarError:
    """The error of a prediction whose question is not among the references."""
    return NightjarError(
        f"no reference has the id {quote_short(id)}", where, "check that the two files belong together"
    )


def predicted_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of an artifact of the stage predict: task_id, id and answers."""
    return read_rows(path, contracts.PREDICTIONS, ["task_id", "id", "answers"])


def check_ids(answered: Set[str], ids: Sequence[str], where: object, of: str, fix: str) -> None:
    """Raise NightjarError if `answered` lacks one of `ids`, or has another; `of` says what has them."""
    for name, odd in (("missing", set(ids) - answered), ("redundant", answered - set(ids))):
        if odd:
            raise NightjarError(f"{len(odd)} ids{of} are {name}, such as {quote_short(min(odd))}", where, fix)
