"""The questions of the test sides, and the labelled sentences that a reader trains on, from the ingested records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from nightjar.benchmarks.card import Asking, Question, Sources, drawn
from nightjar.benchmarks.classification import prompts
from nightjar.benchmarks.classification.demonstrations import SHOTS, Labelled, demonstrations
from nightjar.benchmarks.classification.labels import LABELS, NAME, names
from nightjar.benchmarks.classification.sides import Side
from nightjar.core import contracts
from nightjar.core.config import Limit, Model


def _known(name: str) -> str:
    if name not in LABELS:
        raise ValueError(f"tasks are {', '.join(LABELS)}")
    return name


TaskName = Annotated[str, AfterValidator(_known)]


class Settings(Model):
    """`questions_per_task`, `train_per_task`: at most so many of each task's test side, and of its training and dev
    sides, drawn by the seed; None means all.

    `tasks`: None means all that were ingested. `shots`: how many demonstrations a prompt has at least; 0 for none.
    """

    tasks: Annotated[list[TaskName], Field(min_length=1)] | None = None
    questions_per_task: Limit = None
    train_per_task: Limit = None
    shots: Annotated[int, Field(ge=0, le=100)] = SHOTS


def questions(sources: Sources, settings: Settings, seed: int) -> Iterator[Question]:
    """The questions of the test sides, each task a track of its own.

    Their parts are `text` and `choices`, the names of the task's labels; the reference is the name of the right one.
    The shared part `demonstrations` has id, text and label of the training sentences that demonstrate the task. Whether
    a question is drawn depends on the seed and the ids alone, so that a larger number keeps the questions of a smaller
    one. Raises NightjarError if nothing was ingested, or a label has no training sentence.
    """
    for task, rows in _rows(sources, settings).items():
        train = _side(rows, "train", settings.train_per_task, seed)
        shown = demonstrations([_labelled(row) for row in train], task, settings.shots, seed)
        shared = {"demonstrations": [{"id": it.id, "text": it.text, "label": it.label} for it in shown]}
        for row in _side(rows, "test", settings.questions_per_task, seed):
            parts = {"text": row["text"], "choices": list(names(task))}
            yield Question(
                NAME,
                task,
                row["id"],
                parts,
                (row["label"],),
                track=task,
                shared=shared,
                dataset=row["dataset"],
                file=row["file"],
            )


def labelled(
    sources: Sources, side: Literal["train", "dev"], settings: Settings, seed: int
) -> dict[str, list[Labelled]]:
    """The sentences of the training or dev side of each task, in their order, drawn as in `questions`.

    The demonstrations are among those of the training side. Raises NightjarError if nothing was ingested.
    """
    return {
        task: [_labelled(row) for row in _side(rows, side, settings.train_per_task, seed)]
        for task, rows in _rows(sources, settings).items()
    }


def query(parts: Mapping[str, Any]) -> str:
    """What evidence is searched by: the sentence."""
    return str(parts["text"])


def prompt(question: Question, asking: Asking) -> str:
    """In-context learning: the demonstrations, the reranker's prompt and "The answer is" (facts 4.3).

    Demonstrations are left out, the last ones first, until the prompt has at most `max_source_length` tokens; the
    question is never cut.
    """
    task = question.task_id
    asked = prompts.query(task, question.parts["text"])
    given = question.shared.get("demonstrations", ())
    shown = [Labelled(task, it["id"], it["text"], it["label"]) for it in given]
    most, encode = asking.encoding.max_source_length, asking.tokenizer.encode
    fitting = prompts.fitting(task, shown, [asked], lambda text: len(encode(text)) <= most)
    return prompts.prefix(task, fitting) + asked


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
