"""Which labelled sentences demonstrate a task (PGRA's second_stage.py)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from nightjar.benchmarks.classification.labels import names
from nightjar.core.errors import NightjarError

# As published.
SHOTS = 8


class Labelled(NamedTuple):
    """A sentence of a task and its label's name; `id` is unique in the task."""

    task: str
    id: str
    text: str
    label: str


def demonstrations(train: Iterable[Labelled], task: str, shots: int = SHOTS, seed: int = 0) -> list[Labelled]:
    """At least `shots` sentences of the training side with every label among them, in an order that the seed draws.

    The sentences are taken in the order of `train`, at most shots // labels + 1 of a label, until there are `shots` of
    them and every label has one: of a task with six labels, eight to eleven. Of a label with few sentences there may be
    so few that it is less than `shots`. As published, the reader does not train on them. The published code shuffles
    without a seed. With 0 shots there are none. Raises NightjarError for an unknown task, and if a label has no
    sentence.
    """
    if not shots:
        return []
    labels = names(task)
    most = shots // len(labels) + 1
    chosen: list[Labelled] = []
    taken: Counter[str] = Counter()
    for it in train:
        if taken[it.label] < most:
            chosen.append(it)
            taken[it.label] += 1
        if len(chosen) >= shots and len(taken) == len(labels):
            break
    if missing := [label for label in labels if label not in taken]:
        what = f"no training sentence has the label {' or '.join(missing)}"
        raise NightjarError(what, task, "add some, or raise train_per_task")
    random.Random(f"{seed}\x1f{task}").shuffle(chosen)
    return chosen
