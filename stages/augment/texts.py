"""Which texts calls are sampled for: documents of the corpus, and targets of training instances."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from nightjar.tools.calculator import calculator_document
from nightjar.tools.calendar import find_date


@dataclass(frozen=True)
class Text:
    """A text to annotate. Calls may stand in `body` only; `context` is what the model reads before it.

    `today` is the day that the calendar tells: from the document's URL, or from the instance's input.
    """

    source: str
    task_id: str | None
    id: str
    target: int
    context: str
    body: str
    today: date | None


def from_documents(rows: Iterable[Mapping[str, Any]]) -> list[Text]:
    """Documents (contracts.DOCUMENTS) as texts without context."""
    return [Text("corpus", None, row["id"], 0, "", row["text"].strip(), row["date"]) for row in rows]


def from_instances(rows: Iterable[Mapping[str, Any]]) -> list[Text]:
    """Training instances (contracts.TRAIN) as texts, one a reference; the instance's part of the prompt is context.

    Definition and demonstrations are left out of the context: the losses look at five tokens after the instance's own
    input, and every candidate call costs two passes over the context.
    """
    return [
        Text(
            "train",
            row["task_id"],
            row["id"],
            target,
            f"Input: {row['input'].strip()}\nOutput:",
            output.strip(),
            find_date(row["input"]),
        )
        for row in rows
        for target, output in enumerate(row["outputs"])
    ]


def suits(tool: str, text: Text, chance: float) -> bool:
    """The document heuristics of facts 3.5. `chance`: a number drawn uniformly from [0, 1) for this text.

    A target that has no number can have no use for the calculator, whatever its input holds.
    """
    if tool == "calendar":
        return text.today is not None
    if text.source == "train" and not any(sign.isdigit() for sign in text.body):
        return False
    return calculator_document(f"{text.context} {text.body}", chance)


def choose(tool: str, texts: list[Text], most: int | None, seed: int) -> list[Text]:
    """The texts that suit `tool`, at most `most` of them, drawn with `seed`, in the given order."""
    suitable = [
        text for text in texts if suits(tool, text, random.Random(f"{seed} {text.source} {text.id}").random())
    ]
    if most is None or len(suitable) <= most:
        return suitable
    drawn = random.Random(f"{seed} {tool}").sample(range(len(suitable)), most)
    return [suitable[place] for place in sorted(drawn)]
