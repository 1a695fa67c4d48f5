"""The questions of tool_use, from the ingested records and from Dateset, which is generated, and their prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from nightjar.benchmarks import records
from nightjar.benchmarks.question import Asking, Question, QuestionSelection, Record, Refused, Sources
from nightjar.benchmarks.question_set import QuestionSet
from nightjar.benchmarks.tool_use import dateset
from nightjar.benchmarks.tool_use.formats import load
from nightjar.benchmarks.tool_use.tasks import (
    DATESET,
    FACTS,
    GROUPS,
    MATH,
    MULTILINGUAL,
    NAME,
    OPEN,
    TASKS,
    TEMPORAL,
    TEXT,
)
from nightjar.core.config import Limit, StrictModel
from nightjar.prompts.model_text import evidence_block, model_input

# The definitions of the prompts in the encoding of instruction-tuned systems; not published.
DEFINITIONS = {
    FACTS: "Complete the text with a word or a short phrase so that it is factually correct.",
    MATH: "Solve the problem and answer with a number.",
    OPEN: "Answer the question with a word or a short phrase.",
    MULTILINGUAL: "Read the paragraph and answer the question in English with a word or a short phrase.",
    TEMPORAL: "Answer the question about dates with a day, a month, a year or a number.",
}
TaskName = Annotated[str, records.one_of(GROUPS)]


class ToolUseSettings(StrictModel):
    """`tasks`: None means all that were ingested, and Dateset. `questions_per_task`: at most so many of each ingested
    task, drawn by the seed; None means all. `dateset_questions`: how many of the 9,400 of Dateset, drawn by the seed; 0
    leaves Dateset out.

    `prompts`: "published" as in the paper, or "instructions": the same questions in the encoding of instruction-tuned
    systems, with a definition for each group.
    """

    prompts: Literal["published", "instructions"] = "published"
    tasks: Annotated[list[TaskName], Field(min_length=1)] | None = None
    questions_per_task: Limit = None
    dateset_questions: Annotated[int, Field(ge=0, le=dateset.SIZE)] = dateset.SIZE


def _definition(group: str, question: Question) -> str:
    """The definition of the task; a statement of a temporal task is completed like others."""
    return DEFINITIONS[FACTS if "text" in question.parts else group]


def _dateset(seed: int) -> list[Question]:
    """The questions of Dateset; they come from no file."""
    return [
        Question(
            NAME,
            DATESET,
            one.id,
            {"question": one.question},
            one.answers,
            track=DATESET,
            day=one.day,
            dataset=DATESET,
            file="generated",
        )
        for one in dateset.generate(seed)
    ]


def _plain(question: Question) -> str:
    """The question with what comes before it, without the words of the published prompt; a statement with its blank."""
    parts = question.parts
    if "text" in parts:
        return f"{parts['text']} ___"
    return " ".join(parts[name] for name in ("context", "body", "question") if parts.get(name))


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
        return f"{_plain(question)} The answer is"
    text: str = parts["question"]
    return f"Answer the following question: {text}" + ("" if text.endswith("?") else "?")


class ToolUseQuestions(QuestionSet):
    """The questions and texts of Toolformer's evaluations."""

    name = NAME
    version = 3
    title = "Toolformer's evaluations"
    source = "Schick et al. 2023, arXiv 2302.04761"
    tasks = TASKS
    Settings = ToolUseSettings

    def questions(self, sources: Sources, settings: ToolUseSettings, seed: int) -> Iterator[Question]:
        """The questions of the tasks that were ingested, and those of Dateset; texts are drawn like questions.

        Each task is a track of its own. Raises NightjarError if nothing was ingested.
        """
        tasks = settings.tasks or list(GROUPS)
        ingested = records.questions(NAME, sources.data, tasks)
        chosen = QuestionSelection(tasks, settings.questions_per_task, seed).apply(ingested)
        if settings.dateset_questions and DATESET in tasks:
            chosen += QuestionSelection(None, settings.dateset_questions, seed).apply(_dateset(seed))
        for question in chosen:
            group = GROUPS[question.task_id]
            instructed = settings.prompts == "instructions" and group in DEFINITIONS
            shared = {"definition": [_definition(group, question)]} if instructed else {}
            yield question._replace(category=group, shared=shared)

    def query(self, parts: Mapping[str, Any]) -> str:
        """The text that evidence is searched by: the question, the statement, or the title of a running text."""
        return str(parts.get("question") or parts.get("text") or parts.get("title", ""))

    def display_text(self, parts: Mapping[str, Any]) -> str:
        """The question after the story of a word problem, and before its paragraph."""
        story = " ".join(parts[name] for name in ("body", "question") if parts.get(name)) or self.query(parts)
        return "\n\n".join(filter(None, (story, parts.get("context"))))

    def prompt(self, question: Question, asking: Asking) -> str:
        """Write the published prompt (Schick et al. 2023, appendix C), or a definition and the question.

        The published prompt comes after as many of the retrieved passages, best first, as fit whole: passages are left
        out until the prompt has at most `max_source_length` tokens; the question is never cut. For a running text it is
        the text itself.
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
            text = _plain(question)
            return model_input(
                task, text, asking.encoding, asking.tokenizer, passages, asking.encoder_decoder
            )
        text = _published(question)
        while passages:
            with_passages = evidence_block(passages) + text
            if len(asking.tokenizer.encode(with_passages)) <= asking.encoding.max_source_length:
                return with_passages
            passages.pop()
        return text

    def load(self, folder: Path) -> Iterator[Record | Refused]:
        """Read the files of the data sets."""
        return load(folder)


QUESTION_SET = ToolUseQuestions()
