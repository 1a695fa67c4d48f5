"""The questions of a benchmark, the rows that its loader reads them from, and how a question is asked."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nightjar.core.errors import NightjarError

if TYPE_CHECKING:
    from nightjar.models.tokenizer import Tokenizer
    from nightjar.params.inputs import Encoding

Row = Mapping[str, Any]
T = TypeVar("T")
# The track of benchmarks that have one, and of questions whose track is not named.
DEFAULT_TRACK = "default"
_NOTHING: Mapping[str, Any] = {}


class Question(NamedTuple):
    """One question of a benchmark: a row of contracts.QUESTIONS. A named tuple: a file may hold very many.

    `shared` holds the parts that all questions of a task have, `parts` those of this one; both are JSON objects.
    `day` is the date that the calendar gives. `dataset` and `file` name the source.
    """

    benchmark: str
    task_id: str
    id: str
    parts: Mapping[str, Any]
    references: tuple[str, ...]
    track: str = DEFAULT_TRACK
    category: str = ""
    shared: Mapping[str, Any] = _NOTHING
    day: date | None = None
    dataset: str = ""
    file: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """(task_id, id), unique in a benchmark."""
        return self.task_id, self.id

    def row(self) -> dict[str, Any]:
        """The row of contracts.QUESTIONS."""
        return {
            "benchmark": self.benchmark,
            "track": self.track,
            "category": self.category,
            "task_id": self.task_id,
            "id": self.id,
            "dataset": self.dataset,
            "file": self.file,
            "shared": self._json("shared"),
            "parts": self._json("parts"),
            "references": list(self.references),
            "day": self.day,
        }

    def _json(self, name: str) -> str:
        try:
            return json.dumps(getattr(self, name), ensure_ascii=False)
        except (TypeError, ValueError, RecursionError) as error:
            where = f"{self.benchmark}, {self.task_id} {self.id}"
            raise NightjarError(
                f"{name} is not JSON ({error})", where, "give texts, numbers and lists"
            ) from None


def questions_of(rows: Iterable[Row]) -> list[Question]:
    """Make questions from rows of contracts.QUESTIONS; equal `shared` texts are parsed once."""
    parsed: dict[str, Mapping[str, Any]] = {}
    questions = []
    for row in rows:
        shared = parsed.setdefault(row["shared"], {}) or json.loads(row["shared"])
        parsed[row["shared"]] = shared
        columns = {name: row[name] for name in ("benchmark", "track", "category", "task_id", "id", "day")}
        questions.append(
            Question(
                **columns,
                dataset=row["dataset"],
                file=row["file"],
                shared=shared,
                parts=json.loads(row["parts"]),
                references=tuple(row["references"]),
            )
        )
    return questions


def drawn(
    members: Sequence[T], limit: int | None, seed: int, key: Callable[[T], tuple[str, str]]
) -> Sequence[T]:
    """Return at most `limit` of `members`, in their order; None: all. `key` gives the task and the id of a member.

    The draw of a member depends on the seed and its key alone, so a larger number keeps the members of a smaller one.
    """
    if limit is None or len(members) <= limit:
        return members
    ranks = [random.Random("\x1f".join((str(seed), *key(it)))).random() for it in members]
    return [members[place] for place in sorted(sorted(range(len(members)), key=ranks.__getitem__)[:limit])]


@dataclass(frozen=True)
class QuestionSelection:
    """The choice of questions: those of `tasks`, in that order, at most `per_task` of each, drawn by the seed.

    None: all. A larger number keeps the questions of a smaller one.
    """

    tasks: Collection[str] | None
    per_task: int | None
    seed: int

    def apply(self, questions: Iterable[Question]) -> list[Question]:
        """Return the chosen questions."""
        by_task: dict[str, list[Question]] = {task: [] for task in self.tasks or ()}
        for question in questions:
            if self.tasks is None or question.task_id in by_task:
                by_task.setdefault(question.task_id, []).append(question)
        groups = (drawn(group, self.per_task, self.seed, attrgetter("key")) for group in by_task.values())
        return list(chain.from_iterable(groups))


@dataclass(frozen=True)
class Asking:
    """The way a question is asked: the encoding's settings, the model's tokenizer, and retrieved passages, best first.

    `evidence` rows have `title` and `text`.
    """

    encoding: Encoding
    tokenizer: Tokenizer
    evidence: Sequence[Row] = ()
    encoder_decoder: bool = False


@dataclass(frozen=True)
class Record:
    """A row that a card's `load` read from a dataset's own files; see contracts.RECORDS.

    `remarks` say what is odd in a row that is kept; the stage ingest counts them. `line` is the line of `file`, from 1,
    that the row begins on, by which `nightjar trace` finds it; the column `file` is FILE:LINE then.
    """

    task_id: str
    id: str
    file: str
    parts: Mapping[str, Any]
    references: tuple[str, ...]
    category: str = ""
    day: date | None = None
    remarks: tuple[str, ...] = ()
    line: int | None = None


@dataclass(frozen=True)
class Refused:
    """A row that `load` refused, with the reason and its raw text."""

    file: str
    reason: str
    raw: str
    id: str | None = None


@dataclass(frozen=True)
class Sources:
    """The artifacts that a card's `questions` reads: the dataset, and the split (the dataset again if none)."""

    data: Path
    split: Path
