"""The questions of the test sides, and the labelled sentences that a reader trains on, from the ingested records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from nightjar.benchmarks.classification import prompts
from nightjar.benchmarks.classification.demonstrations import SHOTS, Labelled, demonstrations
from nightjar.benchmarks.classification.labels import LABELS, NAME, PAIR, names
from nightjar.benchmarks.classification.reader_texts import (
    encoder_inputs,
    reader_passage,
    reader_question,
    target,
)
from nightjar.benchmarks.classification.sides import Side
from nightjar.benchmarks.question import Asking, Question, Sources, drawn
from nightjar.core import contracts
from nightjar.core.config import Limit, Model


def _known(name: str) -> str:
    if name not in LABELS:
        raise ValueError(f"tasks are {', '.join(LABELS)}")
    return name


TaskName = Annotated[str, AfterValidator(_known)]


class Settings(Model):
    """`questions_per_task`, `train_per_task`, `dev_per_task`: at most so many of each task's test, training and dev
    side, drawn by the seed; None means all. The demonstrations are among those of the training side.

    `tasks`: None means all that were ingested. `shots`: how many demonstrations a prompt has at least; 0 for none.
    """

    tasks: Annotated[list[TaskName], Field(min_length=1)] | None = None
    questions_per_task: Limit = None
    train_per_task: Limit = None
    dev_per_task: Limit = None
    shots: Annotated[int, Field(ge=0, le=100)] = SHOTS


def questions(sources: Sources, settings: Settings, seed: int) -> Iterator[Question]:
    """The questions of the test sides, each task a track of its own.

    Their parts are `text` and `choices`, the names of the task's labels; the reference is the name of the right one.
    The shared part `demonstrations` has id, text and label of the training sentences that demonstrate the task. Whether
    a question is drawn depends on the seed and the ids alone, so that a larger number keeps the questions of a smaller
    one. Raises NightjarError if nothing was ingested, or a label has no training sentence.
    """
    for task, rows in _rows(sources, settings).items():
        shared = _shared(task, rows, settings, seed)
        for row in _side(rows, "test", settings.questions_per_task, seed):
            yield _question(row, shared)


def training(
    sources: Sources, settings: Settings, seed: int
) -> Iterator[tuple[Literal["train", "dev"], Question]]:
    """The questions of the training and dev sides, drawn as in `questions`, with the same shared parts.

    Without the demonstrations: as published, the reader does not train on them (PGRA's code).
    """
    sides: dict[Literal["train", "dev"], int | None] = {
        "train": settings.train_per_task,
        "dev": settings.dev_per_task,
    }
    for task, rows in _rows(sources, settings).items():
        shared = _shared(task, rows, settings, seed)
        shown = {it["id"] for it in shared["demonstrations"]}
        for side, most in sides.items():
            for row in _side(rows, side, most, seed):
                if row["id"] not in shown:
                    yield side, _question(row, shared)


def _shared(task: str, rows: Sequence[dict[str, str]], settings: Settings, seed: int) -> dict[str, Any]:
    train = _side(rows, "train", settings.train_per_task, seed)
    shown = demonstrations([_labelled(row) for row in train], task, settings.shots, seed)
    return {"demonstrations": [{"id": it.id, "text": it.text, "label": it.label} for it in shown]}


def _question(row: dict[str, str], shared: Mapping[str, Any]) -> Question:
    task = row["task"]
    return Question(
        NAME,
        task,
        row["id"],
        {"text": row["text"], "choices": list(names(task))},
        (row["label"],),
        track=task,
        shared=shared,
        dataset=row["dataset"],
        file=row["file"],
    )


def query(parts: Mapping[str, Any]) -> str:
    """What evidence is searched by: the sentence, or the two of a pair."""
    return str(parts["text"]).replace(PAIR, " ")


def prompt(question: Question, asking: Asking) -> str:
    """In-context learning: the demonstrations, the reranker's prompt and "The answer is" (Guo et al. 2023).

    Demonstrations are left out, the last ones first, until the prompt has at most `max_source_length` tokens; the
    question is never cut.
    """
    task = question.task_id
    asked = prompts.query(task, question.parts["text"])
    most, encode = asking.encoding.max_source_length, asking.tokenizer.encode
    fitting = prompts.fitting(task, _shown(question), [asked], lambda text: len(encode(text)) <= most)
    return prompts.prefix(task, fitting) + asked


def prefixes(question: Question) -> list[str]:
    """The demonstrations as the reranker reads them: all, then one less each time, none last."""
    shown = _shown(question)
    return [prompts.prefix(question.task_id, shown[:most]) for most in range(len(shown), -1, -1)]


def inputs(question: Question, passages: Sequence[str], form: str) -> list[str]:
    """The texts of the reader's encoder: one for each passage, or the question alone."""
    return encoder_inputs(question.task_id, question.parts["text"], passages, form)  # type: ignore[arg-type]


def demonstrated(
    question: Question, examples: Sequence[Question], form: str, words: int | None = None
) -> str:
    """One text for the reader: the question, then the examples with their labels (LM-BFF in Guo et al. 2023).

    Of each example's text at most `words` words; its label remains.
    """
    task = question.task_id
    texts = [
        it.parts["text"] if words is None else " ".join(it.parts["text"].split()[:words]) for it in examples
    ]
    shown = [
        reader_passage(task, text, it.references[0]).strip() for it, text in zip(examples, texts, strict=True)
    ]
    asked = reader_question(task, question.parts["text"], form)  # type: ignore[arg-type]
    return " ".join([asked, *shown])


def alone(task: str, text: str, form: str) -> str:
    """The text of the reader's encoder for a text that is no question, without passages."""
    return reader_question(task, text, form)  # type: ignore[arg-type]


def targets(task: str) -> dict[str, str]:
    """What the reader writes for each label. Raises NightjarError for an unknown task."""
    return {name: target(task, name) for name in names(task)}


def _shown(question: Question) -> list[Labelled]:
    given = question.shared.get("demonstrations", ())
    return [Labelled(question.task_id, it["id"], it["text"], it["label"]) for it in given]


def _rows(sources: Sources, settings: Settings) -> dict[str, list[dict[str, str]]]:
    """Task, id, text, label, side, dataset and file of every record by task, tasks in the order of LABELS."""
    # Here, not above: Parquet takes long to load, and scoring files of JSON Lines does without it.
    from nightjar.core.tables import read_rows

    wanted = settings.tasks or LABELS
    found: dict[str, list[dict[str, str]]] = {}
    for row in read_rows(sources.data, contracts.RECORDS):
        if row["task_id"] in wanted:
            (label,) = row["references"]
            kept = {"task": row["task_id"], "label": label} | {
                key: row[key] for key in ("id", "dataset", "file")
            }
            found.setdefault(row["task_id"], []).append(kept | json.loads(row["parts"]))
    return {task: found[task] for task in LABELS if task in found}


def _labelled(row: dict[str, str]) -> Labelled:
    return Labelled(row["task"], row["id"], row["text"], row["label"])


def _side(
    rows: Sequence[dict[str, str]], side: Side, most: int | None, seed: int
) -> Sequence[dict[str, str]]:
    """At most so many of the rows of a side, in their order; a smaller number takes a part of a larger one's."""
    members = [row for row in rows if row["side"] == side]
    return drawn(members, most, seed, itemgetter("task", "id"))
