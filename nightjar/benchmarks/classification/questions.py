"""The questions of the test splits, the labelled sentences that a reader trains on, and the texts of a question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from nightjar.benchmarks import records
from nightjar.benchmarks.classification import prompts
from nightjar.benchmarks.classification.formats import load
from nightjar.benchmarks.classification.prompts import (
    SHOTS,
    Labelled,
    choice,
    demonstrations,
)
from nightjar.benchmarks.classification.splits import Split
from nightjar.benchmarks.classification.tasks import LABELS, NAME, PAIR, TITLES, names
from nightjar.benchmarks.question import Asking, Question, QuestionSelection, Record, Refused, Sources
from nightjar.benchmarks.question_set import Choice, QuestionSet, Task, TrainingSide
from nightjar.core.config import Limit, StrictModel

TaskName = Annotated[str, records.one_of(LABELS)]


class ClassificationSettings(StrictModel):
    """`questions_per_task`, `train_per_task`, `dev_per_task`: at most so many of each task's test, training and dev
    split, drawn by the seed; None means all. The demonstrations are among those of the training split.

    `tasks`: None means all that were ingested. `shots`: how many demonstrations a prompt has at least; 0 for none.
    """

    tasks: Annotated[list[TaskName], Field(min_length=1)] | None = None
    questions_per_task: Limit = None
    train_per_task: Limit = None
    dev_per_task: Limit = None
    shots: Annotated[int, Field(ge=0, le=100)] = SHOTS


def _sentences(sources: Sources, settings: ClassificationSettings) -> dict[str, list[Question]]:
    """Return the ingested sentences by task, in the order of LABELS; their parts are `text` and `side`, the split."""
    by_task: dict[str, list[Question]] = {task: [] for task in LABELS}
    for sentence in records.questions(NAME, sources.data, settings.tasks or LABELS):
        by_task[sentence.task_id].append(sentence)
    return {task: sentences for task, sentences in by_task.items() if sentences}


def _split(sentences: Sequence[Question], split: Split, limit: int | None, seed: int) -> Sequence[Question]:
    """Draw at most `limit` sentences of a split, in their order; a smaller limit draws a part of a larger one's."""
    members = (one for one in sentences if one.parts["side"] == split)
    return QuestionSelection(None, limit, seed).apply(members)


def _shared(
    task: str, sentences: Sequence[Question], settings: ClassificationSettings, seed: int
) -> dict[str, Any]:
    train = (
        Labelled(task, one.id, one.parts["text"], one.references[0])
        for one in _split(sentences, "train", settings.train_per_task, seed)
    )
    chosen = demonstrations(train, task, settings.shots, seed)
    return {"demonstrations": [{"id": it.id, "text": it.text, "label": it.label} for it in chosen]}


def _question(sentence: Question, shared: Mapping[str, Any]) -> Question:
    parts = {"text": sentence.parts["text"], "choices": list(names(sentence.task_id))}
    return sentence._replace(parts=parts, shared=shared)


def _fitting(question: Question, asking: Asking) -> tuple[Sequence[Labelled], str]:
    """Return the demonstrations that the prompt has, and its text without them.

    The published code cuts the end of the text instead, and with it the question.
    """
    task = question.task_id
    text = prompts.query(task, question.parts["text"])
    labelled, limit = _demonstrations(question), asking.encoding.max_source_length
    while labelled and len(asking.tokenizer.encode(prompts.prefix(task, labelled) + text)) > limit:
        labelled = labelled[:-1]
    return labelled, text


def _demonstrations(question: Question) -> list[Labelled]:
    rows = question.shared.get("demonstrations", ())
    return [Labelled(question.task_id, it["id"], it["text"], it["label"]) for it in rows]


TASKS = {
    task: Task(
        TITLES[task], "choose", choices=tuple(Choice(name, choice(task, name)) for name in names(task))
    )
    for task in LABELS
}


class ClassificationQuestions(QuestionSet):
    """PGRA's eight tasks and FEVER: their sentences, prompts, and the texts of the reranker and the reader."""

    name = NAME
    version = 1
    title = "PGRA's classification tasks"
    source = "Guo et al. 2023, arXiv 2305.17653"
    tasks = TASKS
    # The form of the paper, and the one that the published code really has (PGRA's src/data.py).
    reader_forms = ("intended", "published")
    Settings = ClassificationSettings

    def questions(self, sources: Sources, settings: ClassificationSettings, seed: int) -> Iterator[Question]:
        """Make the questions of the test splits, each task a track of its own.

        Their parts are `text` and `choices`, the names of the task's labels. The reference is the name of the right
        label. The shared part `demonstrations` has id, text and label of the training sentences that demonstrate the
        task. Raises NightjarError if nothing was ingested, or a label has no training sentence.
        """
        for task, sentences in _sentences(sources, settings).items():
            shared = _shared(task, sentences, settings, seed)
            for sentence in _split(sentences, "test", settings.questions_per_task, seed):
                yield _question(sentence, shared)

    def training_questions(
        self, sources: Sources, settings: ClassificationSettings, seed: int
    ) -> Iterator[tuple[TrainingSide, Question]]:
        """Make the questions of the training and dev splits, drawn as in `questions`, with the same shared parts.

        Without the demonstrations: as published, the reader does not train on them (PGRA's code).
        """
        splits: dict[TrainingSide, int | None] = {
            "train": settings.train_per_task,
            "dev": settings.dev_per_task,
        }
        for task, sentences in _sentences(sources, settings).items():
            shared = _shared(task, sentences, settings, seed)
            used = {it["id"] for it in shared["demonstrations"]}
            for split, limit in splits.items():
                for sentence in _split(sentences, split, limit, seed):
                    if sentence.id not in used:
                        yield split, _question(sentence, shared)

    def query(self, parts: Mapping[str, Any]) -> str:
        """Return the text that evidence is searched by: the sentence, or the two of a pair."""
        return str(parts["text"]).replace(PAIR, " ")

    def prompt(self, question: Question, asking: Asking) -> str:
        """Write a prompt for in-context learning: the demonstrations, the reranker's prompt and "The answer is".

        As published (Guo et al. 2023). Demonstrations are left out, the last ones first, until the prompt has at most
        `max_source_length` tokens; the question is never cut.
        """
        labelled, text = _fitting(question, asking)
        return prompts.prefix(question.task_id, labelled) + text

    def turns(self, question: Question, asking: Asking) -> tuple[list[tuple[str, str]], str]:
        """Write the demonstrations as turns of a chat, each the reranker's prompt and the word of its label."""
        labelled, text = _fitting(question, asking)
        task = question.task_id
        return [
            (prompts.query(task, it.text), prompts.choice(task, it.label).strip()) for it in labelled
        ], text

    def reranking_prefixes(self, question: Question) -> list[str]:
        """Write the demonstrations as the reranker reads them: all, then one less each time, none last."""
        labelled = _demonstrations(question)
        return [prompts.prefix(question.task_id, labelled[:count]) for count in range(len(labelled), -1, -1)]

    def reader_inputs(self, question: Question, passages: Sequence[str], form: str) -> list[str]:
        """Write the texts of the reader's encoder: one for each passage, or the question alone."""
        return prompts.reader_inputs(question.task_id, question.parts["text"], passages, form)

    def demonstrated_input(
        self, question: Question, examples: Sequence[Question], form: str, words: int | None = None
    ) -> str:
        """Write one text: the question, then the examples with their labels (LM-BFF in Guo et al. 2023).

        Of each example's text at most `words` words; its label remains.
        """
        task = question.task_id
        texts = [prompts.reader_question(task, question.parts["text"], form)]
        for example in examples:
            text: str = example.parts["text"]
            cut_text = text if words is None else " ".join(text.split()[:words])
            texts.append(prompts.reader_passage(task, cut_text, example.references[0]).strip())
        return " ".join(texts)

    def reader_targets(self, task_id: str) -> dict[str, str]:
        """Return the text that the reader writes for each label."""
        return {name: prompts.target(task_id, name) for name in names(task_id)}

    def load(self, folder: Path) -> Iterator[Record | Refused]:
        """Read the files of the tasks as UTF-8."""
        return load(folder)

    def load_encoded(self, folder: Path, encodings: Mapping[str, str]) -> Iterator[Record | Refused]:
        """Read the files with encodings by patterns of their paths."""
        return load(folder, encodings)

    def reranking_prompt(self, task_id: str, text: str) -> str:
        """Write the reranker's prompt."""
        return prompts.query(task_id, text)

    def reader_text(self, task_id: str, text: str, form: str) -> str:
        """Write the reader's text of a passage as if it were a question."""
        return prompts.reader_question(task_id, text, form)


QUESTION_SET = ClassificationQuestions()
