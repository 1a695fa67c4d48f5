"""Answers that a file of predictions holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nightjar.benchmarks.answers_and_references import read_answers
from nightjar.benchmarks.evaluation_folder import WHOLE
from nightjar.benchmarks.records import read_questions
from nightjar.core.identity import sha256_of
from nightjar.predict.predictor import NOTHING_WRITTEN, Job, Predictor, Row, about


class FilePredictor(Predictor):
    """The answers of the file `weights`, which has the form that `nightjar score` reads.

    The file takes the place of a model: its sha256 is the model's. Where the questions are a sample, the file may
    answer all of them.
    """

    def __init__(self, job: Job) -> None:
        self.questions = job.questions
        self.keys = len(self.questions)
        all_questions_folder = job.source / WHOLE
        file_questions = (
            read_questions(all_questions_folder) if all_questions_folder.is_dir() else self.questions
        )
        file_answers = read_answers(job.card, job.weights, file_questions)
        self._answers = dict(zip((one.key for one in file_questions), file_answers, strict=True))
        self._sha256 = sha256_of(job.weights)

    def answer(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        for number in numbers:
            if (answers := self._answers.get(self.questions[number].key)) is not None:
                yield number, {"answers": answers, **NOTHING_WRITTEN, "seconds": 0.0}

    def about(self, number: int) -> Row:
        return about("", 0, self._sha256)
