"""The questions of SQuAD's files, and what a model reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks import records
from nightjar.benchmarks.question import (
    DEFAULT_TRACK,
    Asking,
    Question,
    QuestionSelection,
    Record,
    Refused,
    Sources,
)
from nightjar.benchmarks.question_set import OTHERS, QuestionSet, Task, TrainingSide
from nightjar.benchmarks.sides import Sides
from nightjar.benchmarks.source_rows import (
    FIX,
    InvalidRow,
    distinct,
    files_of,
    json_value,
    need,
    objects_of,
    text,
)
from nightjar.core.config import Limit
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import duplicate_key, is_text, quote_short, raw_text

NAME = "reading"


class ReadingSettings(Sides):
    """`evaluated` has the questions that are answered, `train` and `dev` the two sides of readers. `evaluated` is None
    for the one file that there is, `train` and `dev` if no reader trains on them.

    `questions`, `train_questions`, `dev_questions`: at most so many, drawn by the seed; None means all.
    """

    questions: Limit = None
    train_questions: Limit = None
    dev_questions: Limit = None


def _questions(articles: Sequence[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield title, passage and each question; a value of another form takes the place of a question."""
    for article in articles:
        try:
            paragraphs = objects_of(need(article, "paragraphs"), "paragraphs")
        except (InvalidRow, AttributeError):
            yield None, None, article
            continue
        for paragraph in paragraphs:
            rows = paragraph.get("qas")
            for row in rows if isinstance(rows, list) else [paragraph]:
                yield article.get("title"), paragraph.get("context"), row


def _record(path: Path, title: Any, passage: Any, row: Any) -> Record:
    if not isinstance(row, dict):
        raise InvalidRow("not an object")
    if (key := duplicate_key(row)) is not None:
        raise InvalidRow(f"the key {quote_short(key)} occurs twice")
    impossible = row.get("is_impossible") or False
    if not isinstance(impossible, bool):
        raise InvalidRow("is_impossible is neither true nor false")
    text(passage, "context")
    parts: dict[str, Any] = {
        "title": text(title, "title").replace("_", " ") if isinstance(title, str) and title.strip() else "",
        # As it is: answers are found in it by their place.
        "passage": passage,
        "question": text(row.get("question"), "question"),
        "spans": [],
    }
    answers = objects_of(row.get("answers"), "answers", least=0 if impossible else 1)
    references = distinct(text(it.get("text"), "text of an answer") for it in answers)
    if not impossible:
        parts["spans"] = [list(it) for it in dict.fromkeys(_place(passage, it) for it in answers)]
    return Record(
        path.stem,
        text(row.get("id"), "id"),
        path.name,
        parts,
        references if parts["spans"] else ("",),
    )


def _place(passage: str, answer: dict[str, Any]) -> tuple[int, int]:
    """Return the first character of an answer in its passage and the one after its last, without blanks around it."""
    start, string = answer.get("answer_start"), answer["text"]
    if type(start) is not int or start < 0 or not passage.startswith(string, start):
        raise InvalidRow(f"the answer {quote_short(string)} is not at its answer_start")
    first = start + len(string) - len(string.lstrip())
    return first, first + len(string.strip())


def _side(sources: Sources, key: str, file: str | None, limit: int | None, seed: int) -> Sequence[Question]:
    questions = list(records.questions(NAME, sources.data))
    files = sorted({it.task_id for it in questions})
    if file is None and len(files) == 1:
        file = files[0]
    if file not in files:
        named = "names none of several files" if file is None else f"is {file}, which is not in it"
        what = f"benchmarks.{NAME}.{key} {named}"
        raise NightjarError(what, sources.data, f"files are {', '.join(files)}")
    of_file = [it._replace(track=DEFAULT_TRACK) for it in questions if it.task_id == file]
    return QuestionSelection(None, limit, seed).apply(of_file)


class ReadingQuestions(QuestionSet):
    """Questions with a passage, in the form of SQuAD's files."""

    name = NAME
    version = 2
    title = "Reading comprehension"
    source = "Rajpurkar et al. 2016, arXiv 1606.05250, and 2018, arXiv 1806.03822"
    tasks = {OTHERS: Task(max_new_tokens=16, stop=("\n",))}  # noqa: RUF012
    Settings = ReadingSettings

    def load(self, folder: Path) -> Iterator[Record | Refused]:
        """Read the questions of SQuAD's files *.json in `folder`, versions 1.1 and 2.0; the task is the file's name.

        The parts are `title`, `passage`, `question`, and `spans`, the places of the answers in the passage: the first
        character of each and the one after its last. There is none where the passage has no answer; the reference is ""
        then. Raises NightjarError if there is no such file, or one is no JSON.
        """
        for path in files_of(folder, "", ("*.json",), of=" of SQuAD"):
            document = json_value(path)
            if not isinstance(document, dict) or not isinstance(document.get("data"), list):
                raise NightjarError('no list "data" in this file', path, FIX)
            for title, passage, row in _questions(document["data"]):
                id = row.get("id") if isinstance(row, dict) else None
                try:
                    yield _record(path, title, passage, row)
                except InvalidRow as error:
                    yield Refused(path.name, str(error), raw_text(row), id if is_text(id) else None)

    def questions(self, sources: Sources, settings: ReadingSettings, seed: int) -> Iterator[Question]:
        """Make the questions of the file `evaluated`. Raises NightjarError if it was not ingested."""
        yield from _side(sources, "evaluated", settings.evaluated, settings.questions, seed)

    def training_questions(
        self, sources: Sources, settings: ReadingSettings, seed: int
    ) -> Iterator[tuple[TrainingSide, Question]]:
        """Make the questions of the files `train` and `dev`."""
        sides: tuple[tuple[TrainingSide, str | None, int | None], ...] = (
            ("train", settings.train, settings.train_questions),
            ("dev", settings.dev, settings.dev_questions),
        )
        for side, file, limit in sides:
            if file is not None:
                yield from ((side, it) for it in _side(sources, side, file, limit, seed))

    def prompt(self, question: Question, asking: Asking) -> str:
        """Write the passage and the question, a line each, written for this project."""
        parts = question.parts
        passage = " ".join(f"{parts['title']} > {parts['passage']}".removeprefix(" > ").split())
        return f"Passage: {passage}\nQuestion: {parts['question']}\nAnswer:"


QUESTION_SET = ReadingQuestions()
