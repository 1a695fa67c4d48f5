"""The questions of tool_use: the ingested records, and Dateset, which is generated."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from nightjar.benchmarks.card import Asking, Question, Sources
from nightjar.benchmarks.tool_use import asdiv, dateset, svamp, web_questions
from nightjar.core import contracts
from nightjar.core.config import Limit, Model
from nightjar.core.tables import read_rows
from nightjar.prompts.model_text import evidence_block, model_input

NAME = "tool_use"
MATH, OPEN, TEMPORAL = "math", "question answering", "temporal"
# The paper's groups of tasks, in the order in which questions are asked.
GROUPS = {svamp.NAME: MATH, asdiv.NAME: MATH, web_questions.NAME: OPEN, dateset.NAME: TEMPORAL}


# The definitions of the prompts in the encoding of instruction-tuned systems; not published.
DEFINITIONS = {
    MATH: "Solve the problem and answer with a number.",
    OPEN: "Answer the question with a word or a short phrase.",
    TEMPORAL: "Answer the question about dates with a day, a month, a year or a number.",
}


class Settings(Model):
    """`questions_per_task`: at most so many of each ingested task, drawn by the seed; None means all.

    `prompts`: "published" as in the paper, or "instructions": the same questions in the encoding of instruction-tuned
    systems, with a definition for each group. `dateset_questions`: how many of the 9,400 of Dateset, drawn by the seed;
    0 leaves Dateset out.
    """

    prompts: Literal["published", "instructions"] = "published"
    questions_per_task: Limit = None
    dateset_questions: Annotated[int, Field(ge=0, le=dateset.SIZE)] = dateset.SIZE


def questions(sources: Sources, settings: Settings, seed: int) -> Iterator[Question]:
    """The questions of svamp, asdiv and web_questions that were ingested, and those of dateset.

    Each task is a track of its own. Whether a question is drawn depends on the seed and the ids alone, so that a larger
    number keeps the questions of a smaller one. Raises NightjarError if nothing was ingested.
    """
    found: dict[str, list[Question]] = {task: [] for task in GROUPS}
    for row in read_rows(sources.data, contracts.RECORDS):
        task = row["task_id"]
        parts, references = json.loads(row["parts"]), tuple(row["references"])
        where = {"dataset": row["dataset"], "file": row["file"]}
        found[task].append(Question(NAME, task, row["id"], parts, references, task, GROUPS[task], **where))
    drawn = [one for members in found.values() for one in _drawn(members, settings.questions_per_task, seed)]
    if settings.dateset_questions:
        drawn += _drawn(_dateset(seed), settings.dateset_questions, seed)
    for one in drawn:
        definition = {"definition": [DEFINITIONS[one.category]]}
        yield one._replace(shared=definition) if settings.prompts == "instructions" else one


def prompt(question: Question, asking: Asking) -> str:
    """The published prompt (facts 3.9), or a definition and the question in the encoding.

    The published prompt comes after as many of the retrieved passages, best first, as fit whole: passages are left out
    until the prompt has at most `max_source_length` tokens; the question is never cut.
    """
    passages = list(asking.evidence)
    if question.shared:
        task = {
            "task_id": question.task_id,
            "positive_examples": [],
            "negative_examples": [],
            **question.shared,
        }
        body = f"{question.parts['body']} " if question.category == MATH else ""
        asked = f"{body}{question.parts['question']}"
        return model_input(task, asked, asking.encoding, asking.tokenizer, passages, asking.encoder_decoder)
    text = _published(question)
    while passages:
        whole = evidence_block(passages) + text
        if len(asking.tokenizer.encode(whole)) <= asking.encoding.max_source_length:
            return whole
        passages.pop()
    return text


def _published(question: Question) -> str:
    asked: str = question.parts["question"]
    if question.category == MATH:
        return f"{question.parts['body']} {asked} The answer is"
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


def _drawn(members: Sequence[Question], most: int | None, seed: int) -> Sequence[Question]:
    """At most so many of the questions of a task, in their order."""
    if most is None or len(members) <= most:
        return members
    ranks = [random.Random(f"{seed}\x1f{it.task_id}\x1f{it.id}").random() for it in members]
    chosen = sorted(range(len(members)), key=ranks.__getitem__)[:most]
    return [members[place] for place in sorted(chosen)]
