"""The questions of tool_use, from the ingested records and from Dateset, which is generated, and their prompts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from nightjar.benchmarks.question import Asking, Question, Sources, drawn
from nightjar.benchmarks.tool_use import dateset
from nightjar.benchmarks.tool_use.tasks import (
    FACTS,
    GROUPS,
    MATH,
    MULTILINGUAL,
    NAME,
    OPEN,
    TEMPORAL,
    TEXT,
)
from nightjar.core import contracts
from nightjar.core.config import Limit, Model
from nightjar.core.tables import read_rows
from nightjar.prompts.model_text import evidence_block, model_input

# The definitions of the prompts in the encoding of instruction-tuned systems; not published.
DEFINITIONS = {
    FACTS: "Complete the text with a word or a short phrase so that it is factually correct.",
    MATH: "Solve the problem and answer with a number.",
    OPEN: "Answer the question with a word or a short phrase.",
    MULTILINGUAL: "Read the paragraph and answer the question in English with a word or a short phrase.",
    TEMPORAL: "Answer the question about dates with a day, a month, a year or a number.",
}


def _known(name: str) -> str:
    if name not in GROUPS:
        raise ValueError(f"tasks are {', '.join(GROUPS)}")
    return name


TaskName = Annotated[str, AfterValidator(_known)]


class Settings(Model):
    """`questions_per_task`: at most so many of each ingested task, drawn by the seed; None means all.

    `tasks`: those that are asked; None means all that were ingested, and Dateset. `prompts`: "published" as in the
    paper, or "instructions": the same questions in the encoding of instruction-tuned systems, with a definition for
    each group. `dateset_questions`: how many of the 9,400 of Dateset, drawn by the seed; 0 leaves Dateset out.
    """

    prompts: Literal["published", "instructions"] = "published"
    tasks: Annotated[list[TaskName], Field(min_length=1)] | None = None
    questions_per_task: Limit = None
    dateset_questions: Annotated[int, Field(ge=0, le=dateset.SIZE)] = dateset.SIZE


def questions(sources: Sources, settings: Settings, seed: int) -> Iterator[Question]:
    """The questions of the tasks that were ingested, and those of dateset; texts are drawn like questions.

    Each task is a track of its own. Whether a question is drawn depends on the seed and the ids alone, so that a larger
    number keeps the questions of a smaller one. Raises NightjarError if nothing was ingested.
    """
    found: dict[str, list[Question]] = {task: [] for task in settings.tasks or GROUPS}
    for row in read_rows(sources.data, contracts.RECORDS):
        if (task := row["task_id"]) not in found:
            continue
        parts, references = json.loads(row["parts"]), tuple(row["references"])
        where = {"day": row["day"], "dataset": row["dataset"], "file": row["file"]}
        found[task].append(Question(NAME, task, row["id"], parts, references, task, GROUPS[task], **where))
    chosen = [
        one
        for members in found.values()
        for one in drawn(members, settings.questions_per_task, seed, attrgetter("key"))
    ]
    if settings.dateset_questions and dateset.NAME in found:
        chosen += drawn(_dateset(seed), settings.dateset_questions, seed, attrgetter("key"))
    for one in chosen:
        instructed = settings.prompts == "instructions" and one.category in DEFINITIONS
        yield one._replace(shared={"definition": [_definition(one)]}) if instructed else one


def query(parts: Mapping[str, Any]) -> str:
    """What evidence is searched by: the question, the statement, or the title of a running text."""
    return str(parts.get("question") or parts.get("text") or parts.get("title", ""))


def prompt(question: Question, asking: Asking) -> str:
    """The published prompt (Schick et al. 2023, appendix C), or a definition and the question in the encoding.

    The published prompt comes after as many of the retrieved passages, best first, as fit whole: passages are left out
    until the prompt has at most `max_source_length` tokens; the question is never cut. For a running text it is the
    text itself.
    """
    if question.category == TEXT:
        return question.references[0]
    passages = list(asking.evidence)
    if question.shared:
        task = {
            "task_id": question.task_id,
            "positive_examples": [],
            "negative_examples": [],
            **question.shared,
        }
        return model_input(
            task, _asked(question), asking.encoding, asking.tokenizer, passages, asking.encoder_decoder
        )
    text = _published(question)
    while passages:
        whole = evidence_block(passages) + text
        if len(asking.tokenizer.encode(whole)) <= asking.encoding.max_source_length:
            return whole
        passages.pop()
    return text


def _definition(question: Question) -> str:
    """The definition of the task; a statement of a temporal task is completed like others."""
    return DEFINITIONS[FACTS if "text" in question.parts else question.category]


def _asked(question: Question) -> str:
    """The question with what comes before it, without the words of the published prompt; a statement with its blank."""
    parts = question.parts
    if "text" in parts:
        return f"{parts['text']} ___"
    return " ".join(parts[name] for name in ("context", "body", "text", "question") if parts.get(name))


def _published(question: Question) -> str:
    parts = question.parts
    if "text" in parts:
        return f"Please complete the following text so that it is factually correct: {parts['text']}"
    if "context" in parts:
        return (
            f"Your task is to answer a question based on the following paragraph: {parts['context']} "
            f"Now answer the following question in English: {parts['question']}"
        )
    if question.category == MATH:
        return f"{_asked(question)} The answer is"
    asked: str = parts["question"]
    return f"Answer the following question: {asked}" + ("" if asked.endswith("?") else "?")


def _dateset(seed: int) -> list[Question]:
    """The questions of Dateset; they come from no file."""
    task = dateset.NAME
    return [
        Question(
            NAME,
            task,
            it.id,
            {"question": it.question},
            it.answers,
            track=task,
            category=GROUPS[task],
            day=it.day,
            dataset=task,
            file="generated",
        )
        for it in dateset.generate(seed)
    ]
