"""Make a leaderboard's file of predictions, or check one: what `nightjar submission` calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nightjar.benchmarks import answers_and_references, registry
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.file_readers import predicted_rows, read_own_references
from nightjar.benchmarks.leaderboard_file import Submission, SubmittedAnswer
from nightjar.benchmarks.question import Question
from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_output


def submit(benchmark: str, predictions: Path, output: Path, questions: Path | None = None) -> dict[str, Any]:
    """Write the leaderboard's file of `predictions`: a file in the benchmark's form, such a leaderboard's file, or an
    artifact of the stage predict. `output` is checked before anything is read.

    `questions` are what must be answered: an artifact of the stage questions, or references in the benchmark's form.
    For an artifact of the stage predict they are those of the project if none are given. Returns {"benchmark",
    "file", "site", "n", "tasks": {task: n}, "ids_checked", "hidden"}. `hidden` is the share of the questions that have
    no reference, as all of a leaderboard's have; None where the ids were not checked. Raises NightjarError if the file
    would not be taken.
    """
    card, form = _form(benchmark)
    if questions is None and predictions.is_dir():
        questions = paths.QUESTIONS / card.name
    inputs = [predictions, questions]
    check_output(output, inputs)
    form.check_ending(output)
    expected = _expected(card, questions)
    ids = _ids(card, form, expected)
    answers = form.prepared(_answers(card, form, predictions), ids)
    form.check(answers, predictions, ids)
    form.write(output, answers, inputs)
    return _report(form, card, output, answers, expected)


def check_submission(benchmark: str, file: Path, questions: Path | None = None) -> dict[str, Any]:
    """Check a leaderboard's file, with the ids of `questions` if they are given. Returns and raises as `submit`."""
    card, form = _form(benchmark)
    expected = _expected(card, questions)
    answers = [answer for _, answer in form.read(file)]
    form.check(answers, file, _ids(card, form, expected))
    return _report(form, card, file, answers, expected)


def _expected(card: Benchmark, path: Path | None) -> list[Question]:
    """The questions that must be answered, with references or without; none where they are not known."""
    if path is None:
        return []
    readers = card.readers
    if readers and readers.questions and not path.is_dir():
        return read_own_references(replace(readers, references=readers.questions), path, card.files.reference)
    return answers_and_references.read_references(card, path)


def _form(benchmark: str) -> tuple[Benchmark, Submission]:
    card = registry.load_benchmark(benchmark)
    if (form := card.submission) is None:
        have = [name for name in registry.names() if registry.load_benchmark(name).submission]
        raise NightjarError(
            "it has no leaderboard's file", benchmark, f"those that have are {', '.join(have)}"
        )
    return card, form


def _answers(card: Benchmark, form: Submission, path: Path) -> Iterator[SubmittedAnswer]:
    """The answers of an artifact of the stage predict, or of a file in any form."""
    if path.is_dir():
        for row in predicted_rows(path):
            task = row["task_id"] if card.files.by_task else form.tasks[0]
            yield SubmittedAnswer(task, row["id"], row["answers"])
        return
    for where, key, predictions in answers_and_references.predicted(card, path, set(form.tasks)):
        task, id = (form.tasks[0], key) if isinstance(key, str) else key
        if task not in form.tasks:
            raise NightjarError(f"no task {task!r}", where, f"tasks are {', '.join(form.tasks)}")
        yield SubmittedAnswer(task, id, predictions)


def _ids(card: Benchmark, form: Submission, questions: Sequence[Question]) -> Mapping[str, Sequence[str]]:
    """The ids of the questions by task; empty if there are none to compare with."""
    ids: dict[str, list[str]] = {}
    for question, id in zip(questions, answers_and_references.ids(card, questions), strict=True):
        ids.setdefault(question.task_id if card.files.by_task else form.tasks[0], []).append(id)
    return ids


def _report(
    form: Submission,
    card: Benchmark,
    file: Path,
    answers: Sequence[SubmittedAnswer],
    expected: Sequence[Question],
) -> dict[str, Any]:
    tasks = {task: sum(answer.task == task for answer in answers) for task in form.tasks}
    report = {"benchmark": card.name, "file": str(file), "site": form.site, "n": len(answers)}
    hidden = sum(not question.references for question in expected) / len(expected) if expected else None
    return report | {"tasks": tasks, "ids_checked": bool(expected), "hidden": hidden}
