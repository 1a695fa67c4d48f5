"""Answers and references from files: JSON Lines in a benchmark's form, or the pipeline's own artifacts."""

from __future__ import annotations

import codecs
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from nightjar.benchmarks import registry, submission
from nightjar.benchmarks.card import OTHERS, Card
from nightjar.benchmarks.question import Question, questions_of
from nightjar.benchmarks.readers import Readers, read_own_answers, read_own_references, unknown_id
from nightjar.core import paths
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import PIPE, check_input, check_output, kind, write_lines
from nightjar.core.identity import qualified, unique_ids
from nightjar.core.json_text import parse_at, plain, shown

# Bytes of lines that are read at a time.
_BLOCK = 2**16

Key = tuple[str, str]
# The answers to a question; None if there are none.
Answers = list[str] | None
Row = dict[str, Any]


def check_pipes(paths: Sequence[Path | None]) -> None:
    """Raise NightjarError for a pipe, such as /dev/stdin, that is named twice: it can be read once."""
    pipes = [path for path in paths if path and kind(path) == PIPE]
    for path, other in itertools.combinations(pipes, 2):
        if path.samefile(other):
            raise NightjarError("this pipe is named twice", path, "it can be read once: name a file")


def read_references(card: Card, path: Path | None) -> list[Question]:
    """The questions to score, in their order.

    From JSON Lines in the card's form, or what its readers read; or from an artifact with a table of questions (None:
    that of the stage questions). A row without a track has the track "default", or where each task is a track, its
    task. Raises NightjarError, with file and line, for broken lines and ids that are no texts or occur twice.
    """
    if path is None or path.is_dir():
        return read_questions(path or paths.QUESTIONS / card.name)
    if readers := card.capability(Readers):
        return read_own_references(readers, path, card.files.reference)
    found: list[Question] = []
    for block in json_blocks(path, card.files.reference, _key_of(card)):
        rows = block.rows
        columns = _columns(card, rows) if rows is not None else None
        if columns is None or not _are_references(card, columns):
            columns = _columns(card, [_checked(card, row, where) for where, row in block.one_by_one()])
        if columns is not None:
            found += _questions(card, columns)
    if not found:
        raise NightjarError("no references", path, card.files.reference)
    return found


@dataclass(frozen=True)
class _Columns:
    """What rows of references have, a value for each row; `named` are the tasks and, of some cards, the categories."""

    ids: Sequence[Any]
    references: Sequence[Any]
    named: Sequence[Sequence[Any]]
    tracks: Sequence[Any]


def _columns(card: Card, rows: Sequence[Row]) -> _Columns | None:
    """The columns of rows; None if there is no row, or one lacks a key."""
    form = card.files
    keys = ["id", "references", form.task, *filter(None, [form.category])]
    try:
        ids, references, *named = zip(*map(itemgetter(*keys), rows), strict=True)
    except (KeyError, ValueError):
        return None
    return _Columns(ids, references, named, named[0] if form.by_task else _tracks(card, rows))


def _are_references(card: Card, columns: _Columns) -> bool:
    """Whether no row has a fault that `_checked` would report, by whole columns."""
    texts = columns.references
    return (
        _are(list, texts)
        and all(texts)
        and _are(str, itertools.chain.from_iterable(texts))
        and _are(str, itertools.chain(columns.tracks, *columns.named))
        and set(columns.tracks) <= (_allowed(card) or set(columns.tracks))
    )


def _are(kind: type, values: Iterable[Any]) -> bool:
    """Whether all values, which come from JSON, are of a type."""
    return set(map(type, values)) <= {kind}


def _checked(card: Card, row: Row, where: str) -> Row:
    """The row. Raises NightjarError if it is not a reference in the card's form."""
    form, allowed = card.files, _allowed(card)
    check_reference(row, where, form.reference, form.task, form.category)
    (track,) = _tracks(card, [row])
    if not isinstance(track, str) or (allowed and track not in allowed):
        what = f"the {'task' if form.by_task else 'track'} is {shown(str(track))}"
        raise NightjarError(what, where, f"allowed are {', '.join(sorted(allowed))}")
    return row


def _allowed(card: Card) -> Set[str]:
    """The tracks that references may have; empty: any."""
    return (card.tasks if card.files.by_task else card.tracks).keys() - {OTHERS}


def _tracks(card: Card, rows: Sequence[Row]) -> list[Any]:
    return [row[card.files.task] if card.files.by_task else row.get("track", "default") for row in rows]


def _questions(card: Card, columns: _Columns) -> Iterator[Question]:
    nothing = repeat(dict[str, Any]())
    # One text object for each task and category, not one for each row: they are many times in a file.
    tasks, *categories = [map(sys.intern, column) for column in columns.named]
    return map(
        Question,
        repeat(card.name),
        tasks,
        columns.ids,
        nothing,
        map(tuple, columns.references),
        map(sys.intern, columns.tracks),
        categories[0] if categories else repeat(""),
        nothing,
    )


def read_questions(path: Path) -> list[Question]:
    """The questions of an artifact of the stage questions. Raises NightjarError if it is missing or damaged."""
    # Here, not above: Parquet and contracts take long to load, and JSON Lines do without them.
    from nightjar.core import contracts
    from nightjar.core.tables import read_rows

    return questions_of(read_rows(path, contracts.QUESTIONS))


def check_reference(row: Mapping[str, Any], where: str, form: str, task: str, category: str | None) -> None:
    """Raise NightjarError, with the `form` that it should have, for a reference without texts, task or category."""
    texts = row.get("references")
    if not isinstance(texts, list) or set(map(type, texts)) != {str}:
        raise NightjarError("references is not a list of at least one text", where, form)
    for key in (task, category):
        if key and not isinstance(row.get(key), str):
            raise NightjarError(f"{key} is missing or not a text", where, form)


def read_answers(card: Card, path: Path, questions: Sequence[Question]) -> list[Answers]:
    """The answers to each of `questions`, in their order; None for those without an answer.

    From JSON Lines in the card's form, from a leaderboard's file NAME.csv, from an artifact of the stage predict, or,
    named like a baseline of the card, what that baseline answers to the questions of the stage questions. Of a
    leaderboard's file, tasks without references are skipped. Raises NightjarError for broken lines, and for
    ids that are no texts, occur twice or belong to no reference.
    """
    baselines = card.baselines(registry.settings(card, {}))
    if str(path) in baselines and not path.exists():
        answer = baselines[str(path)]
        known = read_questions(paths.QUESTIONS / card.name)
        own = [{"task_id": one.task_id, "id": one.id, "answers": [answer(one, 0)]} for one in known]
        return _matched(card, path, own, questions)
    if path.is_dir():
        from nightjar.core import contracts
        from nightjar.core.tables import read_rows

        own = read_rows(path, contracts.PREDICTIONS, ["task_id", "id", "answers"])
        return _matched(card, path, own, questions)
    form = card.capability(submission.Submission)
    if form and path.suffix == form.ending:
        return _submitted(card, form, path, questions)
    if readers := card.capability(Readers):
        return read_own_answers(readers, path, _named(card, questions), len(questions))
    wanted, named = _named(card, questions), itemgetter(*_key_of(card))
    given: list[Answers] = [None] * len(questions)
    for block in json_blocks(path, card.files.prediction, _key_of(card)):
        rows = block.rows or []
        places = [wanted.get(name, -1) for name in map(named, rows)]
        if not rows or -1 in places or not _are(str, [row.get("prediction") for row in rows]):
            rows = [_expected(card, row, where, named(row) in wanted) for where, row in block.one_by_one()]
            places = [wanted[name] for name in map(named, rows)]
        for place, row in zip(places, rows, strict=True):
            given[place] = [row["prediction"]]
    return given


def _submitted(
    card: Card, form: submission.Submission, path: Path, questions: Sequence[Question]
) -> list[Answers]:
    """The answers to each of `questions` from a leaderboard's file."""
    wanted = _named(card, questions)
    tasks = {question.task_id for question in questions}
    given: list[Answers] = [None] * len(questions)
    for where, answer in submission.read(form, path):
        if answer.task in tasks:
            if (answer.task, answer.id) not in wanted:
                raise unknown_id(answer.id, where)
            given[wanted[answer.task, answer.id]] = [answer.prediction]
    return given


def _expected(card: Card, row: Row, where: str, known: bool) -> Row:
    """The row. Raises NightjarError if it is not a prediction in the card's form, or its key is not `known`."""
    if not isinstance(row.get("prediction"), str):
        raise NightjarError("prediction is missing or not a text", where, card.files.prediction)
    if not known:
        raise unknown_id(row["id"], where)
    return row


def _matched(
    card: Card, path: Path, rows: Iterable[Mapping[str, Any]], questions: Sequence[Question]
) -> list[Answers]:
    """The answers to each of `questions` from rows with task_id, id and answers."""
    wanted = _named(card, questions)
    given: list[Answers] = [None] * len(questions)
    for row in rows:
        names = [(row["task_id"], row["id"])] if card.files.by_task else [row["id"], qualified(row)]
        place = next((wanted[name] for name in names if name in wanted), None)
        if place is None:
            what = f"no reference has the id {shown(row['id'])} of {row['task_id']}"
            raise NightjarError(what, path, "check that predictions and references belong together")
        if given[place] is not None:
            what = f"the id {shown(questions[place].id)} occurs in two tasks, but once in the references"
            raise NightjarError(what, path, "write TASK:ID in the references")
        given[place] = row["answers"]
    return given


def ids(card: Card, questions: Sequence[Question]) -> list[str]:
    """The ids of questions in files; where ids must be unique, one that occurs in several tasks is TASK:ID."""
    if card.files.by_task:
        return [question.id for question in questions]
    found = [question.id for question in questions]
    if len(set(found)) == len(found):
        return found
    return unique_ids([{"task_id": question.task_id, "id": question.id} for question in questions])


def _named(card: Card, questions: Sequence[Question]) -> dict[str | Key, int]:
    """The places of questions by what identifies them in files: task and id, or the id alone."""
    key = "key" if card.files.by_task else "id"
    places: dict[str | Key, int] = dict(zip(map(attrgetter(key), questions), itertools.count()))
    if card.files.by_task or len(places) == len(questions):
        return places
    return {name: place for place, name in enumerate(ids(card, questions))}


def write_references(card: Card, path: Path, questions: Path | None = None) -> int:
    """Write the questions as the JSON Lines that others score against; returns how many.

    A line has id, references, task, and where the card has them category and track, and the texts that the card's
    `files.shown` names. A question without references has no line. An id that occurs in several tasks is written as
    TASK:ID if the card's ids must be unique. The file is written whole or not at all. Raises NightjarError if there are
    no questions, or `path` must not be written (`core.files.check_output`).
    """
    source = questions or paths.QUESTIONS / card.name
    check_output(path, [source])
    found = read_questions(source)
    form, readers = card.files, card.capability(Readers)
    lines: list[Row] = []
    for id, question in zip(ids(card, found), found, strict=True):
        if not question.references:
            continue
        if readers:
            lines.append(dict(readers.line(question._replace(id=id))))
            continue
        line = {"id": id, "references": list(question.references), form.task: question.task_id}
        if form.category:
            line |= {form.category: question.category, "track": question.track}
        texts = {**question.shared, **question.parts}
        lines.append(line | {name: _first(texts[name]) for name in form.shown if name in texts})
    write_lines(path, lines, [source])
    return len(lines)


def _first(value: Any) -> Any:
    """The first text of a list of texts; anything else as it is."""
    return (value or [""])[0] if isinstance(value, list) else value


def _key_of(card: Card) -> tuple[str, ...]:
    return (card.files.task, "id") if card.files.by_task else ("id",)


@dataclass(frozen=True)
class Block:
    """The lines of JSON Lines that are not blank, some at a time.

    `rows` has their objects after quick checks of all of them together; None if one of them may have a fault.
    `one_by_one` yields the place and the object of each line, and raises NightjarError at the first fault.
    """

    rows: list[Row] | None
    one_by_one: Callable[[], Iterator[tuple[str, Row]]]


def json_lines(path: Path, wanted: str, key: Sequence[str] = ("id",)) -> Iterator[tuple[str, Row]]:
    """For each line that is not blank, its place and its object, whose `key` is of texts and did not occur before.

    `wanted` says what a line should be. A byte order mark is skipped. A pipe is read like a file. Raises NightjarError
    for a line that is not such an object in strict JSON (`core.json_text.parse`), and for a device or a folder.
    """
    for block in json_blocks(path, wanted, key):
        yield from block.one_by_one()


def json_blocks(path: Path, wanted: str, key: Sequence[str] = ("id",)) -> Iterator[Block]:
    """The lines of `json_lines` in blocks, for checks of many rows at once: line by line takes several times as long.

    Of each block, take `rows` or exhaust `one_by_one`: either records its keys.
    """
    seen: dict[Any, int] = {}
    for numbers, texts in _texts(path):
        rows = plain(texts)
        if rows is not None and not _have_new_keys(rows, numbers, seen, key):
            rows = None
        yield Block(rows, partial(_one_by_one, path, numbers, texts, rows, seen, wanted, key))


def _have_new_keys(rows: Sequence[Any], numbers: list[int], seen: dict[Any, int], key: Sequence[str]) -> bool:
    """Whether all rows are objects with a key of texts that did not occur before; these are added to `seen`."""
    try:
        columns = [list(map(itemgetter(name), rows)) for name in key]
    except (KeyError, TypeError):
        return False
    if not _are(str, itertools.chain(*columns)):
        return False
    names = columns[0] if len(key) == 1 else zip(*columns, strict=True)
    return list(map(seen.setdefault, names, numbers)) == numbers


def _one_by_one(
    path: Path,
    numbers: Sequence[int],
    texts: Sequence[bytes],
    rows: Sequence[Any] | None,
    seen: dict[Any, int],
    wanted: str,
    key: Sequence[str],
) -> Iterator[tuple[str, Row]]:
    """The place and the object of each line; `rows` if they are parsed already."""
    named = itemgetter(*key)
    for place, number in enumerate(numbers):
        where = f"{path}:{number}"
        row = parse_at(texts[place], where, wanted) if rows is None else rows[place]
        try:
            found = named(row)
            before = seen.setdefault(found, number)
        except (KeyError, TypeError, IndexError):
            raise _no_key(row, where, wanted, key) from None
        if type(found) is not str and not all(isinstance(row[name], str) for name in key):
            raise _no_key(row, where, wanted, key)
        if before != number:
            what = f"the id {shown(row['id'])} is in line {before} already"
            raise NightjarError(what, where, "give every id once")
        yield where, row


def _no_key(row: Any, where: str, wanted: str, key: Sequence[str]) -> NightjarError:
    """What is wrong with a row that has no `key` of texts."""
    if not isinstance(row, dict) or any(name not in row for name in key):
        what = "not an object with an id" if len(key) == 1 else f"not an object with {' and '.join(key)}"
        return NightjarError(what, where, wanted)
    name = next(name for name in key if not isinstance(row[name], str))
    what = f"the {name} {shown(str(row[name]), quoted=False)} is not a text"
    return NightjarError(what, where, "put it in quotation marks")


def _texts(path: Path) -> Iterator[tuple[list[int], list[bytes]]]:
    """The numbers and the texts of the lines that are not blank, some lines at a time."""
    check_input(path, PIPE)
    before = 0
    try:
        with path.open("rb") as file:
            while lines := file.readlines(_BLOCK):
                if not before:
                    lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
                numbers = [number for number, line in enumerate(lines, before + 1) if line.strip()]
                yield numbers, [lines[number - before - 1] for number in numbers]
                before += len(lines)
    except OSError as error:
        raise from_os_error(error, path) or error from None
