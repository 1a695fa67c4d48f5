"""The questions of the tasks, from the ingested records, their prompts, and the naive baselines (section 4.1)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import Field

from nightjar.benchmarks import records
from nightjar.benchmarks.leaderboard_file import AnswerTable
from nightjar.benchmarks.question import Asking, Question, QuestionSelection, Record, Refused, Sources
from nightjar.benchmarks.question_set import Baseline, DescribedBaseline, QuestionSet, Task
from nightjar.benchmarks.zeroscrolls import prompts
from nightjar.benchmarks.zeroscrolls.formats import load
from nightjar.benchmarks.zeroscrolls.prompts import LongExample, Style, highlighted, of_parts
from nightjar.benchmarks.zeroscrolls.tasks import NAME, TASKS
from nightjar.core.config import Limit, StrictModel
from nightjar.core.errors import NightjarError

TaskName = Annotated[str, records.one_of(TASKS)]
# Words of a random span of the document.
SPANS = {"gov_report": 500, "summ_screen_fd": 200, "qmsum": 50, "squality": 120, "narrative_qa": 4}
# The answers that Qasper's baseline chooses from, with a random span of so many words. How often is not published: each
# of the four is equally likely here.
QASPER, QASPER_SPAN = ("Yes", "No", "Unanswerable"), 15


class ZeroScrollsSettings(StrictModel):
    """`tasks`: None means all that were ingested. `file`: only examples of files of this name
    without its ending, such as "validation"; None means all. `questions_per_task`: at most so many of each task, drawn
    by the seed; None means all.

    `prompts`: the published text (completion), the variant for chat models, or that for Claude. `total_tokens`: tokens
    of a prompt and its answer together; the prompt may have so many less those that are published to be reserved for
    the answer. None, and for an encoder-decoder any value, means `max_source_length` of the encoding for the prompt.
    """

    tasks: Annotated[list[TaskName], Field(min_length=1)] | None = None
    file: str | None = None
    questions_per_task: Limit = None
    prompts: Style = "completion"
    total_tokens: Annotated[int, Field(gt=max(task.reserved for task in TASKS.values()))] | None = None


def untrimmed(question: Question) -> str:
    """The prompt in the settings' variant before it is trimmed."""
    style = question.shared.get("prompts", "completion")
    return prompts.untrimmed(TASKS[question.task_id], of_parts(question.parts), style)


def naive(question: Question, seed: int) -> str:
    """A random span of the document or the most common answer, by the task, as published."""
    task = question.task_id
    example = of_parts(question.parts)
    source = random.Random(f"{seed}\x1f{task}\x1f{question.id}")
    if task == "musique":
        return "Unanswerable"
    if task == "quality":
        return source.choice("ABCD")
    if task == "space_digest":
        return "50%"
    if task == "book_sum_sort":
        return ", ".join(str(id + 1) for id in range(summaries(example)))
    if task == "qasper":
        return source.choice([*QASPER, _span(task, example, QASPER_SPAN, source)])
    return _span(task, example, SPANS[task], source)


def summaries(example: LongExample) -> int:
    """Return the number of summaries to be put in order: the first number of the instruction, 0 if it has none."""
    words = example.input.partition("\n\n")[0].split()
    return next((int(word) for word in words if word.isascii() and word.isdigit()), 0)


def _span(task: str, example: LongExample, words: int, source: random.Random) -> str:
    """Draw so many words of the document in a row, or take all of a shorter one."""
    document_words = example.document(TASKS[task].document).split()
    start = source.randrange(max(1, len(document_words) - words + 1))
    return " ".join(document_words[start : start + words])


class ZeroScrollsQuestions(QuestionSet):
    """The examples of the ten tasks on long documents."""

    name = NAME
    version = 1
    title = "ZeroSCROLLS"
    source = "Shaham et al. 2023, arXiv 2305.14196"
    tasks = {name: Task(task.title, max_new_tokens=task.reserved) for name, task in TASKS.items()}  # noqa: RUF012
    submission = AnswerTable(
        tuple(TASKS),
        "https://zero.scrolls-benchmark.com/submission",
        ("Task", "ID", "Prediction"),
        "!@#$%^&*()",
        lambda task, answer: highlighted(TASKS[task], answer),
    )
    Settings = ZeroScrollsSettings

    def questions(self, sources: Sources, settings: ZeroScrollsSettings, seed: int) -> Iterator[Question]:
        """Make questions of the ingested examples, each task a track of its own.

        Those without references, as in the test set, are included. Raises NightjarError if there are none.
        """
        shared = {"prompts": settings.prompts, "total_tokens": settings.total_tokens}
        tasks = settings.tasks or list(TASKS)
        questions = [
            it._replace(shared=shared)
            for it in records.questions(NAME, sources.data, tasks)
            if settings.file in (None, PurePosixPath(it.file).stem)
        ]
        if not questions:
            files = f" in files {settings.file}.*" if settings.file else ""
            what = f"no examples of {', '.join(tasks)}{files}"
            raise NightjarError(what, sources.data, "change benchmarks.zeroscrolls, or ingest other files")
        yield from QuestionSelection(tasks, settings.questions_per_task, seed).apply(questions)

    def query(self, parts: Mapping[str, Any]) -> str:
        """Return the query with its header, or the instruction of a task without one."""
        example = of_parts(parts)
        return example.query.strip() or example.input.partition("\n\n")[0]

    def prompt(self, question: Question, asking: Asking) -> str:
        """Write the prompt in the settings' variant, trimmed to its tokens; retrieved passages are not used.

        Raises NightjarError, with the task and the id, if the query alone is longer.
        """
        task, limit = TASKS[question.task_id], asking.encoding.max_source_length
        total = question.shared.get("total_tokens")
        if total and not asking.encoder_decoder:
            limit = total - task.reserved
        style = question.shared.get("prompts", "completion")
        try:
            return prompts.prompt(
                task, of_parts(question.parts), asking.tokenizer, limit, style, asking.encoder_decoder
            )
        except NightjarError as error:
            where = f"{NAME} {question.task_id} {question.id}"
            raise NightjarError(error.what, where, error.fix) from None

    def baselines(self, settings: Any) -> Mapping[str, Baseline]:
        """Return the baseline by its name."""
        answer = "A random span of the document or the most common answer, by the task, as published."
        return {"naive": DescribedBaseline(naive, answer)}

    def load(self, folder: Path) -> Iterator[Record | Refused]:
        """Read the files of the tasks."""
        return load(folder)


QUESTION_SET = ZeroScrollsQuestions()
