"""Make a leaderboard's file of predictions, or check one: what `nightjar submission` calls."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nightjar.benchmarks import files, readers, registry, submission
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.readers import Lists, RankedAnswers, read_own_references
from nightjar.benchmarks.submission import Answer, Submission
from nightjar.core import paths
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
    TASK.json {id: prediction}, or an artifact of the stage predict. Ranked lists are read in the benchmark's own form,
    and written in it: `output` is a file .jsonl or .json, and `by_task` is None. `by_task`, if given, is a folder that
    gets the files TASK.json: new, empty, or that of an earlier submission. Both places are checked before anything is
    read.

    `questions` are what must be answered: an artifact of the stage questions, or references in the benchmark's form.
    For an artifact of the stage predict they are those of the project if none are given. Returns {"benchmark",
    "file", "site", "n", "tasks": {task: n}, "ids_checked", "hidden"}. `hidden` is the share of the questions that have
    no reference, as all of a leaderboard's have; None where the ids were not checked. Raises NightjarError if the file
    would not be taken.
    """
    card, form = _form(benchmark)
    by_tasks = isinstance(form, Submission) and submission.has_tasks(form, predictions)
    if questions is None and predictions.is_dir() and not by_tasks:
        questions = paths.QUESTIONS / card.name
    inputs = [predictions, questions]
    if isinstance(form, Lists):
        if by_task is not None:
            raise NightjarError("ranked lists have no files by task", by_task, "leave --by-task out")
        check_output(output, inputs)
        if output.suffix not in (".json", ".jsonl"):
            raise NightjarError("it ends neither in .jsonl nor in .json", output, "name a file .jsonl")
        lists, expected = _lists(card, predictions, questions)
        readers.write_lists(form, output, lists, inputs)
        return _report(form, card, output, {card.name: len(lists)}, expected)
    check_output(output, inputs)
    with contextlib.ExitStack() as stack:
        folder = None
        if by_task is not None:
            folder = stack.enter_context(submission.tasks_folder(form, by_task, inputs))
            if output.resolve().is_relative_to(by_task.resolve()):
                raise NightjarError(f"it is in {by_task} of --by-task", output, "name a file elsewhere")
        expected = _expected(card, questions)
        given = _answers(card, form, predictions)
        answers = [one._replace(prediction=form.answer(one.task, one.prediction)) for one in given]
        submission.check(form, answers, predictions, _ids(expected))
        if folder is not None:
            submission.write_tasks(form, folder, answers)
        submission.write(form, output, answers, inputs)
    return _report(form, card, output, _counts(form, answers), expected)


def check_submission(benchmark: str, file: Path, questions: Path | None = None) -> dict[str, Any]:
    """Check a leaderboard's file, with the ids of `questions` if they are given. Returns and raises as `submit`."""
    card, form = _form(benchmark)
    if isinstance(form, Lists):
        lists, expected = _lists(card, file, questions)
        return _report(form, card, file, {card.name: len(lists)}, expected)
    expected = _expected(card, questions)
    answers = [answer for _, answer in submission.read(form, file)]
    submission.check(form, answers, file, _ids(expected))
    return _report(form, card, file, _counts(form, answers), expected)


def _expected(card: Benchmark, path: Path | None) -> list[Question]:
    """The questions that must be answered, with references or without; none where they are not known."""
    if path is None:
        return []
    own = card.readers
    if own and own.questions and not path.is_dir():
        return read_own_references(replace(own, references=own.questions), path, card.files.reference)
    return files.read_references(card, path)


def _lists(
    card: Benchmark, predictions: Path, questions: Path | None
) -> tuple[RankedAnswers, list[Question]]:
    """The checked lists of `predictions`, in the order of the questions where these are known, and the questions."""
    own = card.readers
    if own is None:
        raise ValueError(f"the card {card.name} has ranked lists but no readers of them")
    expected = _expected(card, questions)
    lists, ids = readers.read_lists(own, predictions), files.ids(card, expected)
    readers.check_ranked(lists, predictions, ids)
    return {id: lists[id] for id in ids or lists}, expected


def _form(benchmark: str) -> tuple[Benchmark, Submission | Lists]:
    card = registry.load_benchmark(benchmark)
    if (form := card.submission) is None:
        have = [name for name in registry.names() if registry.load_benchmark(name).submission]
        raise NightjarError(
            "it has no leaderboard's file", benchmark, f"those that have are {', '.join(have)}"
        )
    return card, form


def _answers(card: Benchmark, form: Submission, path: Path) -> list[Answer]:
    if submission.has_tasks(form, path):
        return list(submission.read_tasks(form, path))
    if path.is_dir():
        rows = readers.predicted_rows(path)
        return [Answer(row["task_id"], row["id"], (row["answers"] or [""])[0]) for row in rows]
    if path.suffix == form.ending:
        return [answer for _, answer in submission.read(form, path)]
    found = []
    task = card.files.task
    for where, row in files.prediction_lines(card, path):
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


def _counts(form: Submission, answers: Sequence[Answer]) -> dict[str, int]:
    return {task: sum(answer.task == task for answer in answers) for task in form.tasks}


def _report(
    form: Submission | Lists,
    card: Benchmark,
    file: Path,
    tasks: Mapping[str, int],
    expected: Sequence[Question],
) -> dict[str, Any]:
    report = {"benchmark": card.name, "file": str(file), "site": form.site, "n": sum(tasks.values())}
    hidden = sum(not question.references for question in expected) / len(expected) if expected else None
    return report | {"tasks": tasks, "ids_checked": bool(expected), "hidden": hidden}
