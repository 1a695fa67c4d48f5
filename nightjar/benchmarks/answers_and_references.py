"""Answers and references from files: JSON Lines in a benchmark's form, or the pipeline's own artifacts."""

from __future__ import annotations

import codecs
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.benchmarks.file_readers import once, predicted_rows, read_own_references, unknown_id
from nightjar.benchmarks.leaderboard_file import AnswerTable
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.question_set import OTHERS, QuestionSet, check_settings
from nightjar.benchmarks.records import read_questions
from nightjar.core import paths
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import PIPE, check_input, check_output, kind, write_lines
from nightjar.core.identity import qualified, unique_ids
from nightjar.core.json_text import parse_at, quote_short

if TYPE_CHECKING:
    from nightjar.benchmarks.benchmark import Benchmark

Key = tuple[str, str]
# The answers to a question; None if there are none.
Answers = list[str] | None
Row = dict[str, Any]


def check_pipes(paths: Sequence[Path | None]) -> None:
    """Raise NightjarError for a pipe, such as /dev/stdin, that is named twice: it can be read once."""
    pipes = [path for path in paths if path and kind(path) == PIPE]
    for path, later in itertools.combinations(pipes, 2):
        if path.samefile(later):
            raise NightjarError("this pipe is named twice", path, "it can be read once: name a file")


def read_references(card: Benchmark, path: Path | None) -> list[Question]:
    """The questions to score, in their order.

    From JSON Lines in the card's form, or what its readers read; or from an artifact with a table of questions (None:
    that of the stage questions). A row without a track has the track "default", or where each task is a track, its
    task.
    """
    if path is None or path.is_dir():
        return read_questions(path or paths.QUESTIONS / card.name)
    if readers := card.readers:
        return read_own_references(readers, path, card.files.reference)
    form, nothing = card.files, dict[str, Any]()
    allowed = (card.tasks if form.by_task else card.tracks).keys() - {OTHERS}
    questions: list[Question] = []
    for where, row in json_lines(path, form.reference, _key_of(card)):
        check_reference(row, where, form.reference, form.task, form.category)
        track = row[form.task] if form.by_task else row.get("track", "default")
        if not isinstance(track, str) or (allowed and track not in allowed):
            what = f"the {'task' if form.by_task else 'track'} is {quote_short(str(track))}"
            raise NightjarError(what, where, f"allowed are {', '.join(sorted(allowed))}")
        # One text object for each task and category, not one for each row: they are many times in a file.
        task, category = sys.intern(row[form.task]), sys.intern(row[form.category]) if form.category else ""
        references, track = tuple(row["references"]), sys.intern(track)
        questions.append(Question(card.name, task, row["id"], nothing, references, track, category, nothing))
    if not questions:
        raise NightjarError("no references", path, form.reference)
    return questions


def check_reference(row: Mapping[str, Any], where: str, form: str, task: str, category: str | None) -> None:
    """Raise NightjarError, with the `form` that it should have, for a reference without texts, task or category."""
    texts = row.get("references")
    if not isinstance(texts, list) or set(map(type, texts)) != {str}:
        raise NightjarError("references is not a list of at least one text", where, form)
    for key in (task, category):
        if key and not isinstance(row.get(key), str):
            raise NightjarError(f"{key} is missing or not a text", where, form)


def read_answers(card: QuestionSet, path: Path, questions: Sequence[Question]) -> list[Answers]:
    """The answers to each of `questions`, in their order; None for those without an answer.

    From JSON Lines in the card's form, from a leaderboard's file NAME.csv, from an artifact of the stage predict, or,
    named like a baseline of the card, what that baseline answers to the questions of the stage questions. Of a
    leaderboard's file, tasks without references are skipped.
    """
    baselines = card.baselines(check_settings(card, {}))
    if str(path) in baselines and not path.exists():
        answer = baselines[str(path)]
        asked_questions = read_questions(paths.QUESTIONS / card.name)
        rows = [
            {"task_id": one.task_id, "id": one.id, "answers": [answer(one, 0)]} for one in asked_questions
        ]
        return _matched(card, path, rows, questions)
    if path.is_dir():
        return _matched(card, path, predicted_rows(path), questions)
    places = _named(card, questions)
    answers_by_place: list[Answers] = [None] * len(questions)
    for where, name, answers in predicted(card, path, {question.task_id for question in questions}):
        if name not in places:
            raise unknown_id(name if isinstance(name, str) else name[1], where)
        answers_by_place[places[name]] = answers
    return answers_by_place


def predicted(card: QuestionSet, path: Path, tasks: Set[str]) -> Iterator[tuple[str, str | Key, list[str]]]:
    """The place, the key and the answers of each prediction in a file."""
    form, readers = card.submission, card.readers
    if isinstance(form, AnswerTable) and path.suffix in form.endings:
        for where, answer in form.read(path):
            if answer.task in tasks:
                yield where, answer[:2], list(answer.predictions)
    elif readers:
        yield from once(readers.predictions(path))
    else:
        named = itemgetter(*_key_of(card))
        yield from ((where, named(row), [row["prediction"]]) for where, row in prediction_lines(card, path))


def prediction_lines(card: QuestionSet, path: Path) -> Iterator[tuple[str, Row]]:
    """The place and the object of each line of predictions in the card's form; raises as `json_lines`."""
    for where, row in json_lines(path, card.files.prediction, _key_of(card)):
        if not isinstance(row.get("prediction"), str):
            raise NightjarError("prediction is missing or not a text", where, card.files.prediction)
        yield where, row


def _matched(
    card: QuestionSet, path: Path, rows: Iterable[Mapping[str, Any]], questions: Sequence[Question]
) -> list[Answers]:
    """The answers to each of `questions` from rows with task_id, id and answers."""
    places = _named(card, questions)
    answers: list[Answers] = [None] * len(questions)
    for row in rows:
        names = [(row["task_id"], row["id"])] if card.files.by_task else [row["id"], qualified(row)]
        place = next((places[name] for name in names if name in places), None)
        if place is None:
            what = f"no reference has the id {quote_short(row['id'])} of {row['task_id']}"
            raise NightjarError(what, path, "check that predictions and references belong together")
        if answers[place] is not None:
            what = (
                f"the id {quote_short(questions[place].id)} occurs in two tasks, but once in the references"
            )
            raise NightjarError(what, path, "write TASK:ID in the references")
        answers[place] = row["answers"]
    return answers


def ids(card: QuestionSet, questions: Sequence[Question]) -> list[str]:
    """The ids of questions in files; where ids must be unique, one that occurs in several tasks is TASK:ID."""
    if card.files.by_task:
        return [question.id for question in questions]
    question_ids = [question.id for question in questions]
    if len(set(question_ids)) == len(question_ids):
        return question_ids
    return unique_ids([{"task_id": question.task_id, "id": question.id} for question in questions])


def _named(card: QuestionSet, questions: Sequence[Question]) -> dict[str | Key, int]:
    """The places of questions by what identifies them in files: task and id, or the id alone."""
    key = "key" if card.files.by_task else "id"
    places: dict[str | Key, int] = dict(zip(map(attrgetter(key), questions), itertools.count()))
    if card.files.by_task or len(places) == len(questions):
        return places
    return {name: place for place, name in enumerate(ids(card, questions))}


def write_references(card: QuestionSet, path: Path, questions: Path | None = None) -> int:
    """Write the questions as the JSON Lines that others score against; returns how many.

    A line has id, references, task, and where the card has them category and track, and the texts that the card's
    files name as `context_parts`. A question without references has no line. An id that occurs in several tasks is
    written as TASK:ID if the card's ids must be unique. The file is written whole or not at all.
    """
    source = questions or paths.QUESTIONS / card.name
    check_output(path, [source])
    all_questions = read_questions(source)
    form, readers = card.files, card.readers
    lines: list[Row] = []
    for id, question in zip(ids(card, all_questions), all_questions, strict=True):
        if not question.references:
            continue
        if readers:
            lines.append(dict(readers.line(question._replace(id=id))))
            continue
        line = {"id": id, "references": list(question.references), form.task: question.task_id}
        if form.category:
            line |= {form.category: question.category, "track": question.track}
        texts = {**question.shared, **question.parts}
        lines.append(line | {name: _first(texts[name]) for name in form.context_parts if name in texts})
    write_lines(path, lines, [source])
    return len(lines)


def _first(value: Any) -> Any:
    """The first text of a list of texts; anything else as it is."""
    return (value or [""])[0] if isinstance(value, list) else value


def _key_of(card: QuestionSet) -> tuple[str, ...]:
    return (card.files.task, "id") if card.files.by_task else ("id",)


def json_lines(path: Path, form: str, key: Sequence[str] = ("id",)) -> Iterator[tuple[str, Row]]:
    """For each line that is not blank, its place and its object, whose `key` is of texts and did not occur before.

    `form` says what a line should be. A byte order mark is skipped. A pipe is read like a file.
    """
    seen: dict[Any, int] = {}
    named = itemgetter(*key)
    for number, text in _lines(path):
        where = f"{path}:{number}"
        row = parse_at(text, where, form)
        try:
            names = named(row)
            before = seen.setdefault(names, number)
        except (KeyError, TypeError, IndexError):
            raise _no_key(row, where, form, key) from None
        if type(names) is not str and not all(isinstance(row[name], str) for name in key):
            raise _no_key(row, where, form, key)
        if before != number:
            what = f"the id {quote_short(row['id'])} is in line {before} already"
            raise NightjarError(what, where, "give every id once")
        yield where, row


def _no_key(row: Any, where: str, form: str, key: Sequence[str]) -> NightjarError:
    """The error of a row that has no `key` of texts."""
    if not isinstance(row, dict) or any(name not in row for name in key):
        what = "not an object with an id" if len(key) == 1 else f"not an object with {' and '.join(key)}"
        return NightjarError(what, where, form)
    name = next(name for name in key if not isinstance(row[name], str))
    what = f"the {name} {quote_short(str(row[name]), quoted=False)} is not a text"
    return NightjarError(what, where, "put it in quotation marks")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The number and the text of each line that is not blank."""
    check_input(path, PIPE)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                if text.strip():
                    yield number, text
    except OSError as error:
        raise from_os_error(error, path) or error from None
