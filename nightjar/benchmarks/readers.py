"""Files in a benchmark's own forms, where they are not the JSON Lines of `files`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from nightjar.benchmarks.capabilities import Capability
from nightjar.benchmarks.question import Question
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import shown

T = TypeVar("T")


@dataclass(frozen=True)
class Readers(Capability):
    """How the files of a benchmark are read that has published forms of its own, in place of JSON Lines.

    `predictions` yields the place, the question's id and the answers of each prediction, `references` the place and the
    question of each row; both raise NightjarError. `line` is the row of a question that `references` reads. `asked`
    reads questions as `references` does, but they need no references; None: all have some.
    """

    predictions: Callable[[Path], Iterable[tuple[str, str, list[str]]]]
    references: Callable[[Path], Iterable[tuple[str, Question]]]
    line: Callable[[Question], Mapping[str, Any]]
    asked: Callable[[Path], Iterable[tuple[str, Question]]] | None = None


def read_own_references(readers: Readers, path: Path, wanted: str) -> list[Question]:
    """The questions of a file. Raises NightjarError if there is none, an id occurs twice, or the reader refuses it.

    `wanted` says what the file should hold.
    """
    rows = ((where, question.id, question) for where, question in readers.references(path))
    found = [question for _, _, question in once(rows)]
    if not found:
        raise NightjarError("no references", path, wanted)
    return found


def read_own_answers(
    readers: Readers, path: Path, places: Mapping[Any, int], count: int
) -> list[list[str] | None]:
    """The answers to each of `count` questions, None for those without a prediction; `places` are those of their ids.

    Raises NightjarError if an id is unknown or occurs twice, or the reader refuses the file.
    """
    given: list[list[str] | None] = [None] * count
    for where, id, answers in once(readers.predictions(path)):
        if id not in places:
            raise unknown_id(id, where)
        given[places[id]] = answers
    return given


def once(rows: Iterable[tuple[str, str, T]]) -> Iterator[tuple[str, str, T]]:
    """The rows of place, id and value. Raises NightjarError at an id that occurs twice."""
    seen = set()
    for where, id, value in rows:
        if id in seen:
            raise _doubled(id, where)
        seen.add(id)
        yield where, id, value


def unknown_id(id: str, where: str) -> NightjarError:
    """The error of a prediction whose question is not among the references."""
    return NightjarError(
        f"no reference has the id {shown(id)}", where, "check that the two files belong together"
    )


def _doubled(id: str, where: str) -> NightjarError:
    return NightjarError(f"the id {shown(id)} occurs twice", where, "give every id once")
