"""Make a leaderboard's file of predictions, or check one: what `nightjar submission` calls."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks import files, registry, submission
from nightjar.benchmarks.card import Card
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.submission import Answer, Submission
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_output


def submit(
    benchmark: str,
    predictions: Path,
    output: Path,
    questions: Path | None = None,
    by_task: Path | None = None,
) -> dict[str, Any]:
    """Write the leaderboard's file of `predictions`: JSON Lines {task, id, prediction}, such a file, a folder of files
    TASK.json {id: prediction}, or an artifact of the stage predict. `by_task`, if given, is a folder that gets the
    files TASK.json: new, empty, or that of an earlier submission. Both places are checked before anything is read.

    `questions` are what must be answered: an artifact of the stage questions, or references in the benchmark's form.
    For an artifact of the stage predict they are those of the project if none are given. Returns {"benchmark",
    "file", "site", "n", "tasks": {task: n}, "ids_checked", "hidden"}. `hidden` is the share of the questions that have
    no reference, as all of a leaderboard's have; None where the ids were not checked. Raises NightjarError if the file
    would not be taken.
    """
    card, form = _form(benchmark)
    if questions is None and predictions.is_dir() and not submission.has_tasks(form, predictions):
        questions = files.QUESTIONS / card.name
    inputs = [predictions, questions]
    check_output(output, inputs)
    with contextlib.ExitStack() as stack:
        folder = None
        if by_task is not None:
            folder = stack.enter_context(submission.tasks_folder(form, by_task, inputs))
            if output.resolve().is_relative_to(by_task.resolve()):
                raise NightjarError(f"it is in {by_task} of --by-task", output, "name a file elsewhere")
        asked = files.read_references(card, questions) if questions else []
        given = _answers(card, form, predictions)
        answers = [one._replace(prediction=form.answer(one.task, one.prediction)) for one in given]
        submission.check(form, answers, predictions, _ids(asked))
        if folder is not None:
            submission.write_tasks(form, folder, answers)
        submission.write(form, output, answers, inputs)
    return _report(benchmark, form, output, answers, asked)


def check_submission(benchmark: str, file: Path, questions: Path | None = None) -> dict[str, Any]:
    """Check a leaderboard's file, with the ids of `questions` if they are given. Returns and raises as `submit`."""
    card, form = _form(benchmark)
    asked = files.read_references(card, questions) if questions else []
    answers = [answer for _, answer in submission.read(form, file)]
    submission.check(form, answers, file, _ids(asked))
    return _report(benchmark, form, file, answers, asked)


def _form(benchmark: str) -> tuple[Card, Submission]:
    card = registry.card(benchmark)
    if card.files.submission is None:
        have = [name for name in registry.names() if registry.card(name).files.submission]
        raise NightjarError(
            "it has no leaderboard's file", benchmark, f"those that have are {', '.join(have)}"
        )
    return card, card.files.submission


def _answers(card: Card, form: Submission, path: Path) -> list[Answer]:
    if submission.has_tasks(form, path):
        return list(submission.read_tasks(form, path))
    if path.is_dir():
        # Here, not above: Parquet takes long to load.
        from nightjar.core import contracts
        from nightjar.core.tables import read_rows

        rows = read_rows(path, contracts.PREDICTIONS, ["task_id", "id", "answers"])
        return [Answer(row["task_id"], row["id"], (row["answers"] or [""])[0]) for row in rows]
    if path.suffix == submission.ENDING:
        return [answer for _, answer in submission.read(form, path)]
    found = []
    task = card.files.task
    for where, row in files.json_lines(path, card.files.prediction, (task, "id")):
        if not isinstance(row.get("prediction"), str):
            raise NightjarError("prediction is missing or not a text", where, card.files.prediction)
        if row[task] not in form.tasks:
            raise NightjarError(f"no task {row[task]!r}", where, f"tasks are {', '.join(form.tasks)}")
        found.append(Answer(row[task], row["id"], row["prediction"]))
    return found


def _ids(questions: Sequence[Question]) -> Mapping[str, Sequence[str]]:
    """The ids of the questions by task; empty if there are none to compare with."""
    found: dict[str, list[str]] = {}
    for question in questions:
        found.setdefault(question.task_id, []).append(question.id)
    return found


def _report(
    benchmark: str, form: Submission, file: Path, answers: Sequence[Answer], asked: Sequence[Question]
) -> dict[str, Any]:
    tasks = {task: sum(answer.task == task for answer in answers) for task in form.tasks}
    told = {"benchmark": benchmark, "file": str(file), "site": form.site, "n": len(answers), "tasks": tasks}
    hidden = sum(not question.references for question in asked) / len(asked) if asked else None
    return told | {"ids_checked": bool(asked), "hidden": hidden}
