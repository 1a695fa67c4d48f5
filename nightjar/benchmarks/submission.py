"""The file that a leaderboard takes: a CSV with one row for each answer, all cells texts; and its form by task.

No text stands for a missing value: "NA", "null" and an empty cell are answers. Cells may have quotation marks, commas
and line ends. The file is read by Python's csv module, and when it is written also as the leaderboard reads it.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from nightjar.benchmarks.readers import check_ids
from nightjar.benchmarks.rows import read_text
from nightjar.core.errors import NightjarError
from nightjar.core.files import PIPE, check_output, folder_output, write_output
from nightjar.core.json_text import is_text, quote_short, read_object


@dataclass(frozen=True)
class Submission:
    """`columns`: the names of those of the task, the id and the prediction. `tasks`: exactly those of a file, in their
    order. `site`: where the file is handed in. `not_an_answer`: the one text that the leaderboard reads as missing.
    `answer` makes what is handed in of a task and a prediction.
    """

    ending: ClassVar[str] = ".csv"
    columns: tuple[str, str, str]
    tasks: tuple[str, ...]
    site: str
    not_an_answer: str
    answer: Callable[[str, str], str] = lambda task, prediction: prediction


class Answer(NamedTuple):
    """A row of the file."""

    task: str
    id: str
    prediction: str


def read(form: Submission, path: Path) -> Iterator[tuple[str, Answer]]:
    """The place and the answer of each row; columns may come in any order, and a byte order mark is skipped.

    Raises NightjarError for other columns, a row with more or fewer cells, a broken quotation, a text that is not
    UTF-8, an unknown task, an id that occurs twice in a task, and a file without rows.
    """
    seen: dict[tuple[str, str], str] = {}
    wanted = f"write a CSV with the columns {', '.join(form.columns)}"
    rows = _rows(path, wanted)
    _, head = next(rows, ("", []))
    if sorted(head) != sorted(form.columns):
        raise NightjarError(f"the columns are {quote_short(', '.join(head))}", path, wanted)
    order = [head.index(name) for name in form.columns]
    for where, cells in rows:
        if len(cells) != len(order):
            raise NightjarError(f"{len(cells)} cells, not {len(order)}", where, wanted)
        answer = Answer(*(cells[place] for place in order))
        if answer.task not in form.tasks:
            what = f"the {form.columns[0]} is {quote_short(answer.task)}"
            raise NightjarError(what, where, f"tasks are {', '.join(form.tasks)}")
        if before := seen.get(answer[:2]):
            what = (
                f"the {form.columns[1]} {quote_short(answer.id)} of {answer.task} is in line {before} already"
            )
            raise NightjarError(what, where, "give every id once")
        seen[answer[:2]] = where.rpartition(":")[2]
        yield where, answer
    if not seen:
        raise NightjarError("no predictions", path, wanted)


def has_tasks(form: Submission, folder: Path) -> bool:
    """Whether a folder has the published form of predictions by task: files TASK.json."""
    return any((folder / f"{task}.json").is_file() for task in form.tasks)


def read_tasks(form: Submission, folder: Path) -> Iterator[Answer]:
    """The answers of a folder of files TASK.json, each an object {id: prediction}.

    Raises NightjarError for a file that is not such an object. A missing file has no answers.
    """
    wanted = "write an object {id: prediction}"
    for task in form.tasks:
        path = folder / f"{task}.json"
        for id, prediction in (read_object(path, wanted) if path.is_file() else {}).items():
            if not isinstance(prediction, str):
                raise NightjarError(f"the prediction of {quote_short(id)} is not a text", path, wanted)
            yield Answer(task, id, prediction)


def tasks_folder(
    form: Submission, folder: Path, inputs: Iterable[Path | None]
) -> AbstractContextManager[Path]:
    """The folder of files TASK.json that takes the place of `folder` (`core.files.folder_output`).

    Nothing but an earlier folder of such files is replaced.
    """

    def foreign(folder: Path) -> str:
        names = {f"{task}.json" for task in form.tasks}
        try:
            list(read_tasks(form, folder))
        except NightjarError as error:
            return f"{Path(error.where).name} in it is no file of predictions ({error.what})"
        other = sorted(it.name for it in folder.iterdir() if it.name not in names or not it.is_file())
        return f"{other[0]} in it is no file TASK.json of predictions" if other else ""

    return folder_output(folder, inputs, foreign)


def write_tasks(form: Submission, folder: Path, answers: Iterable[Answer]) -> None:
    """Write a file TASK.json {id: prediction} for each task into a folder that is there."""
    found: dict[str, dict[str, str]] = {task: {} for task in form.tasks}
    for answer in answers:
        found[answer.task][answer.id] = answer.prediction
    for task, predictions in found.items():
        text = json.dumps(predictions, indent=1, ensure_ascii=False) + "\n"
        (folder / f"{task}.json").write_text(text, encoding="utf-8")


def check(
    form: Submission, answers: Iterable[Answer], where: object, ids: Mapping[str, Sequence[str]]
) -> None:
    """Raise NightjarError at the first fault of a whole file: a task without rows, or an answer that is no text.

    `ids` are those of the questions by task, where they are known: then none may be missing, and none redundant.
    """
    found: dict[str, set[str]] = {}
    for answer in answers:
        found.setdefault(answer.task, set()).add(answer.id)
        if answer.prediction == form.not_an_answer or not is_text(answer.prediction):
            what = f"the prediction of {quote_short(answer.id)} of {answer.task} cannot be read by the leaderboard"
            raise NightjarError(what, where, f"it is {form.not_an_answer} or not valid Unicode: change it")
    if missing := [task for task in form.tasks if task not in found]:
        raise NightjarError(
            f"no predictions for {', '.join(missing)}", where, f"all {len(form.tasks)} tasks are needed"
        )
    fix = "give one prediction for each question, and no others"
    for task in form.tasks:
        if task in ids:
            check_ids(found[task], ids[task], where, f" of {task}", fix)


def write(form: Submission, path: Path, answers: Iterable[Answer], inputs: Sequence[Path | None] = ()) -> int:
    """Write the file, task by task, and read it again; returns the number of rows.

    It is written whole or not at all. Raises NightjarError if the answers are not a whole file (`check`), if `path`
    must not be written, or if the leaderboard would read anything else than was given.
    """
    check_output(path, inputs)
    order = {task: place for place, task in enumerate(form.tasks)}
    rows = sorted(answers, key=lambda answer: order[answer.task])
    check(form, rows, path, {})
    text = io.StringIO(newline="")
    # All cells in quotes: a carriage return in a cell would end its row.
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([form.columns, *rows])
    content = text.getvalue()
    if _read_by_pandas(form, content) != [tuple(row) for row in rows]:
        raise NightjarError(
            "the leaderboard would read other answers", path, "look for odd control characters in the answers"
        )
    write_output(path, content, inputs)
    return len(rows)


def _read_by_pandas(form: Submission, content: str) -> list[tuple[str, ...]]:
    """The rows as the published program reads them."""
    # Here, not above: pandas takes long to load.
    import pandas as pd

    table = pd.read_csv(
        io.BytesIO(content.encode()), dtype=object, keep_default_na=False, na_values=[form.not_an_answer]
    )
    return list(table[list(form.columns)].itertuples(index=False, name=None))


def _rows(path: Path, wanted: str) -> Iterator[tuple[str, list[str]]]:
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
        raise NightjarError(f"not CSV ({error})", f"{path}:{line}", wanted) from None
    finally:
        csv.field_size_limit(limit)
