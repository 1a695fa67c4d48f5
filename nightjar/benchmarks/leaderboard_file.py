"""The file of predictions that a leaderboard takes: a table of texts, or ranked lists.

No text stands for a missing value: "NA", "null" and an empty cell are answers. Cells may have quotation marks, commas
and line ends. A table is read by Python's csv module, and when it is written also as the leaderboard reads it.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from nightjar.benchmarks.file_readers import check_ids, once
from nightjar.benchmarks.source_rows import read_text
from nightjar.core.errors import NightjarError
from nightjar.core.files import PIPE, check_output, write_output
from nightjar.core.json_text import is_text, quote_short


class SubmittedAnswer(NamedTuple):
    """The ranked predictions of a question; a table takes the first one."""

    task: str
    id: str
    predictions: Sequence[str]


@dataclass(frozen=True)
class Submission(ABC):
    """The file of a leaderboard: `tasks` are exactly those of a file, in their order; `site` takes the file.

    `endings` are those of its names, and `unit` is the name of what the file has for each question.
    """

    endings: ClassVar[tuple[str, ...]]
    unit: ClassVar[str]
    tasks: tuple[str, ...]
    site: str

    @abstractmethod
    def read(self, path: Path) -> Iterator[tuple[str, SubmittedAnswer]]:
        """Yield the place and the answer of each row of a file. Raises NightjarError for another form."""

    @abstractmethod
    def check_answer(self, answer: SubmittedAnswer, where: object) -> None:
        """Raise NightjarError for an answer that the leaderboard would not take."""

    @abstractmethod
    def content(self, path: Path, answers: Sequence[SubmittedAnswer]) -> str:
        """Return the text of the file `path`. Raises NightjarError if the leaderboard would read other answers."""

    def prepared(
        self, answers: Iterable[SubmittedAnswer], ids: Mapping[str, Sequence[str]]
    ) -> list[SubmittedAnswer]:
        """Return the answers as they are handed in; `ids` are those of the questions by task, if they are known."""
        return list(answers)

    def check_ending(self, path: Path) -> None:
        """Raise NightjarError for a file whose ending does not say which of several forms it has."""
        if len(self.endings) > 1 and path.suffix not in self.endings:
            what = f"it ends neither in {' nor in '.join(self.endings)}"
            raise NightjarError(what, path, f"name a file {self.endings[0]}")

    def check(
        self, answers: Iterable[SubmittedAnswer], where: object, ids: Mapping[str, Sequence[str]]
    ) -> None:
        """Raise NightjarError at the first fault of a file: a wrong answer, a duplicate id, or a task without rows.

        `ids` are those of the questions by task, where they are known: then none may be missing, and none redundant.
        """
        answered: dict[str, set[str]] = {}
        for answer in answers:
            task_ids = answered.setdefault(answer.task, set())
            if answer.id in task_ids:
                raise NightjarError(
                    f"the id {quote_short(answer.id)} occurs twice", where, "give every id once"
                )
            task_ids.add(answer.id)
            self.check_answer(answer, where)
        if missing := [task for task in self.tasks if task not in answered]:
            fix = f"all {len(self.tasks)} tasks are needed"
            raise NightjarError(f"no predictions for {', '.join(missing)}", where, fix)
        fix = f"give one {self.unit} for each question, and no others"
        for task in self.tasks:
            if task in ids:
                of_task = f" of {task}" if len(self.tasks) > 1 else ""
                check_ids(answered[task], ids[task], where, of_task, fix)

    def write(
        self, path: Path, answers: Iterable[SubmittedAnswer], inputs: Sequence[Path | None] = ()
    ) -> int:
        """Write the file, task by task; returns the number of rows.

        It is written whole or not at all. Raises NightjarError if the answers are not a whole file (`check`), if `path`
        must not be written, or if the leaderboard would read other answers.
        """
        check_output(path, inputs)
        self.check_ending(path)
        order = {task: place for place, task in enumerate(self.tasks)}
        rows = sorted(answers, key=lambda answer: order[answer.task])
        self.check(rows, path, {})
        write_output(path, self.content(path, rows), inputs)
        return len(rows)


@dataclass(frozen=True)
class AnswerTable(Submission):
    """A CSV with one row for each answer, all cells texts.

    `columns`: the names of those of the task, the id and the prediction. `not_an_answer`: the one text that the
    leaderboard reads as missing. `answer` makes what is handed in of a task and a prediction.
    """

    endings = (".csv",)
    unit = "prediction"
    columns: tuple[str, str, str]
    not_an_answer: str
    answer: Callable[[str, str], str] = lambda task, prediction: prediction

    def read(self, path: Path) -> Iterator[tuple[str, SubmittedAnswer]]:
        """Yield the place and the answer of each row; columns may come in any order, after a byte order mark or not.

        Raises NightjarError for other columns, a row with more or fewer cells, a broken quotation, a text that is not
        UTF-8, an unknown task, an id that occurs twice in a task, and a file without rows.
        """
        seen: dict[tuple[str, str], str] = {}
        fix = f"write a CSV with the columns {', '.join(self.columns)}"
        rows = _rows(path, fix)
        _, head = next(rows, ("", []))
        if sorted(head) != sorted(self.columns):
            raise NightjarError(f"the columns are {quote_short(', '.join(head))}", path, fix)
        order = [head.index(name) for name in self.columns]
        for where, cells in rows:
            if len(cells) != len(order):
                raise NightjarError(f"{len(cells)} cells, not {len(order)}", where, fix)
            task, id, prediction = (cells[place] for place in order)
            if task not in self.tasks:
                what = f"the {self.columns[0]} is {quote_short(task)}"
                raise NightjarError(what, where, f"tasks are {', '.join(self.tasks)}")
            if before := seen.get((task, id)):
                what = f"the {self.columns[1]} {quote_short(id)} of {task} is in line {before} already"
                raise NightjarError(what, where, "give every id once")
            seen[task, id] = where.rpartition(":")[2]
            yield where, SubmittedAnswer(task, id, [prediction])
        if not seen:
            raise NightjarError("no predictions", path, fix)

    def prepared(
        self, answers: Iterable[SubmittedAnswer], ids: Mapping[str, Sequence[str]]
    ) -> list[SubmittedAnswer]:
        """Return the first prediction of each answer as it is handed in; one without predictions is empty."""
        first = ((answer, answer.predictions[0] if answer.predictions else "") for answer in answers)
        return [it._replace(predictions=[self.answer(it.task, prediction)]) for it, prediction in first]

    def check_answer(self, answer: SubmittedAnswer, where: object) -> None:
        """Raise NightjarError for a text that the leaderboard cannot read."""
        prediction = answer.predictions[0]
        if prediction == self.not_an_answer or not is_text(prediction):
            what = f"the prediction of {quote_short(answer.id)} of {answer.task} cannot be read by the leaderboard"
            raise NightjarError(what, where, f"it is {self.not_an_answer} or not valid Unicode: change it")

    def content(self, path: Path, answers: Sequence[SubmittedAnswer]) -> str:
        """Return the CSV, which pandas reads as the same answers."""
        rows = [(answer.task, answer.id, answer.predictions[0]) for answer in answers]
        text = io.StringIO(newline="")
        # All cells in quotes: a carriage return in a cell would end its row.
        writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([self.columns, *rows])
        if self._read_by_pandas(text.getvalue()) != rows:
            fix = "look for odd control characters in the answers"
            raise NightjarError("the leaderboard would read other answers", path, fix)
        return text.getvalue()

    def _read_by_pandas(self, content: str) -> list[tuple[str, ...]]:
        """Return the rows as the published program reads them."""
        # pandas takes long to load, and only this needs it.
        import pandas as pd

        table = pd.read_csv(
            io.BytesIO(content.encode()), dtype=object, keep_default_na=False, na_values=[self.not_an_answer]
        )
        return list(table[list(self.columns)].itertuples(index=False, name=None))


@dataclass(frozen=True)
class RankedLists(Submission):
    """Ranked lists of one task: an object {id: [answers]} in a file .json, or a line for each id in a file .jsonl.

    `keys`: those of the id and the answers in a line. `reader` yields the place, the id and the answers of each list.
    """

    endings = (".jsonl", ".json")
    unit = "list"
    keys: tuple[str, str]
    reader: Callable[[Path], Iterable[tuple[str, str, list[str]]]]

    def read(self, path: Path) -> Iterator[tuple[str, SubmittedAnswer]]:
        """Yield the place and the list of each id. Raises NightjarError for a duplicate id, and as the reader."""
        for where, id, answers in once(self.reader(path)):
            yield where, SubmittedAnswer(self.tasks[0], id, answers)

    def prepared(
        self, answers: Iterable[SubmittedAnswer], ids: Mapping[str, Sequence[str]]
    ) -> list[SubmittedAnswer]:
        """Return the lists in the order of the questions."""
        order = {id: place for place, id in enumerate(ids.get(self.tasks[0], ()))}
        return sorted(answers, key=lambda answer: order.get(answer.id, len(order)))

    def check_answer(self, answer: SubmittedAnswer, where: object) -> None:
        """Raise NightjarError for an empty list, and for an answer that is no text."""
        if not answer.predictions:
            what = f"the list of {quote_short(answer.id)} is empty, and the published program fails on it"
            raise NightjarError(what, where, "give at least one answer")
        if not all(map(is_text, answer.predictions)):
            raise NightjarError(
                f"an answer to {quote_short(answer.id)} is not valid Unicode", where, "change it"
            )

    def content(self, path: Path, answers: Sequence[SubmittedAnswer]) -> str:
        """Return the lists in the form of the file's ending."""
        lists = {answer.id: answer.predictions for answer in answers}
        if path.suffix == ".json":
            return json.dumps(lists, indent=1, ensure_ascii=False) + "\n"
        lines = (dict(zip(self.keys, it, strict=True)) for it in lists.items())
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _rows(path: Path, fix: str) -> Iterator[tuple[str, list[str]]]:
    """The place, by line, and the cells of each row that is not blank."""
    text = read_text(path, "save it as UTF-8", PIPE)
    # An answer may be longer than the module's own limit.
    limit, line = csv.field_size_limit(sys.maxsize), 1
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            if cells:
                yield f"{path}:{line}", cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise NightjarError(f"not CSV ({error})", f"{path}:{line}", fix) from None
    finally:
        csv.field_size_limit(limit)
