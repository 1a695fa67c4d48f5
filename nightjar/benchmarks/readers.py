"""Files in forms of a benchmark's own, where they are not the JSON Lines of `files`, and files of ranked lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from nightjar.benchmarks.question import Question
from nightjar.core import contracts
from nightjar.core.errors import NightjarError
from nightjar.core.files import write_output
from nightjar.core.json_text import is_text, quote_short
from nightjar.core.tables import read_rows

T = TypeVar("T")


@dataclass(frozen=True)
class Readers:
    """How the files of a benchmark are read whose published files have another format than JSON Lines.

    `predictions` yields the place, the question's id and the answers of each prediction, `references` the place and the
    question of each row; both raise NightjarError. `line` is the row of a question that `references` reads. `questions`
    reads questions as `references` does, but they need no references; None: all have some.
    """

    predictions: Callable[[Path], Iterable[tuple[str, str, list[str]]]]
    references: Callable[[Path], Iterable[tuple[str, Question]]]
    line: Callable[[Question], Mapping[str, Any]]
    questions: Callable[[Path], Iterable[tuple[str, Question]]] | None = None


def read_own_references(readers: Readers, path: Path, wanted: str) -> list[Question]:
    """The questions of a file. Raises NightjarError if there is none, an id occurs twice, or the reader refuses it.

    `wanted` says what the file should hold.
    """
    rows = ((where, question.id, question) for where, question in readers.references(path))
    found = [question for _, _, question in once(rows)]
    if not found:
        raise NightjarError("no references", path, wanted)
    return found


def once(rows: Iterable[tuple[str, str, T]]) -> Iterator[tuple[str, str, T]]:
    """The rows of place, id and value. Raises NightjarError at an id that occurs twice."""
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


@dataclass(frozen=True)
class Lists:
    """`site`: where the file is handed in. `keys`: those of the id and the answers in a line of NAME.jsonl.

    NAME.json is one object {id: [answers]}.
    """

    ending: ClassVar[str] = ".jsonl"
    site: str
    keys: tuple[str, str]


RankedAnswers = Mapping[str, Sequence[str]]


def predicted_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of an artifact of the stage predict: task_id, id and answers."""
    # Here, not above: Parquet takes long to load.

    return read_rows(path, contracts.PREDICTIONS, ["task_id", "id", "answers"])


def read_lists(readers: Readers, path: Path) -> RankedAnswers:
    """The lists by the questions' ids. Raises NightjarError for a duplicate id, and for what the reader refuses."""
    rows: Iterable[tuple[str, str, list[str]]] = (
        ((str(path), row["id"], row["answers"]) for row in predicted_rows(path))
        if path.is_dir()
        else readers.predictions(path)
    )
    return {id: answers for _, id, answers in once(rows)}


def check_ids(found: Set[str], known: Sequence[str], where: object, of: str, fix: str) -> None:
    """Raise NightjarError if `found` lacks an id that is known, or has another; `of` says what has them."""
    for name, odd in (("missing", set(known) - found), ("redundant", found - set(known))):
        if odd:
            raise NightjarError(f"{len(odd)} ids{of} are {name}, such as {quote_short(min(odd))}", where, fix)


def check_ranked(answers: RankedAnswers, where: object, ids: Sequence[str]) -> None:
    """Raise NightjarError for an empty list, an answer that is no text, and other ids than `ids`; none: not known."""
    for id, found in answers.items():
        if not found:
            what = f"the list of {quote_short(id)} is empty, and the published program fails on it"
            raise NightjarError(what, where, "give at least one answer")
        if not all(map(is_text, found)):
            raise NightjarError(f"an answer to {quote_short(id)} is not valid Unicode", where, "change it")
    if ids:
        check_ids(answers.keys(), ids, where, "", "give one list for each question, and no others")


def write_lists(form: Lists, path: Path, answers: RankedAnswers, inputs: Sequence[Path | None]) -> None:
    """Write the file whole or not at all, in the form of its ending."""
    if path.suffix == ".json":
        text = json.dumps(answers, indent=1, ensure_ascii=False) + "\n"
    else:
        lines = (dict(zip(form.keys, one, strict=True)) for one in answers.items())
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    write_output(path, text, inputs)
