"""The questions of the tasks, from the ingested records, and their prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from nightjar.benchmarks import records
from nightjar.benchmarks.question import Asking, Question, Sources, drawn
from nightjar.benchmarks.zeroscrolls.examples import of_parts
from nightjar.benchmarks.zeroscrolls.prompts import Style
from nightjar.benchmarks.zeroscrolls.prompts import prompt as trimmed
from nightjar.benchmarks.zeroscrolls.prompts import whole as untrimmed
from nightjar.benchmarks.zeroscrolls.tasks import NAME, TASKS
from nightjar.core.config import Limit, Model
from nightjar.core.errors import NightjarError


def _known(name: str) -> str:
    if name not in TASKS:
        raise ValueError(f"tasks are {', '.join(TASKS)}")
    return name


TaskName = Annotated[str, AfterValidator(_known)]


class Settings(Model):
    """`tasks`: those that are asked; None means all that were ingested. `file`: only examples of files of this name
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


def questions(sources: Sources, settings: Settings, seed: int) -> Iterator[Question]:
    """The ingested examples, each task a track of its own; those without references, as in the test set, are included.

    Whether one is drawn depends on the seed and its id alone, so that a larger number keeps those of a smaller one.
    Raises NightjarError if there are none.
    """
    shared = {"prompts": settings.prompts, "total_tokens": settings.total_tokens}
    found: dict[str, list[Question]] = {task: [] for task in settings.tasks or TASKS}
    for one in records.questions(NAME, sources.data):
        if one.task_id in found and settings.file in (None, PurePosixPath(one.file).stem):
            found[one.task_id].append(one._replace(shared=shared))
    if not any(found.values()):
        what = f"no examples of {', '.join(found)}" + (
            f" in files {settings.file}.*" if settings.file else ""
        )
        raise NightjarError(what, sources.data, "change benchmarks.zeroscrolls, or ingest other files")
    for members in found.values():
        yield from drawn(members, settings.questions_per_task, seed, attrgetter("key"))


def query(parts: Mapping[str, Any]) -> str:
    """What evidence is searched by: the query with its header; the instruction of a task without one."""
    example = of_parts(parts)
    return example.query.strip() or example.input.partition("\n\n")[0]


def prompt(question: Question, asking: Asking) -> str:
    """The prompt in the settings' variant, trimmed to its tokens; retrieved passages are not used.

    Raises NightjarError, with the task and the id, if the query alone is longer.
    """
    task, limit = TASKS[question.task_id], asking.encoding.max_source_length
    total = question.shared.get("total_tokens")
    if total and not asking.encoder_decoder:
        limit = total - task.reserved
    style = question.shared.get("prompts", "completion")
    try:
        return trimmed(task, of_parts(question.parts), asking.tokenizer, limit, style, asking.encoder_decoder)
    except NightjarError as error:
        where = f"{NAME} {question.task_id} {question.id}"
        raise NightjarError(error.what, where, error.fix) from None


def whole(question: Question) -> str:
    """The prompt in the settings' variant before it is trimmed."""
    style = question.shared.get("prompts", "completion")
    return untrimmed(TASKS[question.task_id], of_parts(question.parts), style)
