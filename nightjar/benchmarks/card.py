"""A benchmark is a card: what prediction, scoring, intervals, paired tests, files and the report need to know of it.

Everything generic works from the card and names no benchmark. A benchmark is one folder in nightjar/benchmarks, or a
module of another package, and one registration (`registry`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.readers import Readers
from nightjar.benchmarks.submission import Submission
from nightjar.core.config import Model
from nightjar.statistics.bootstrap import DECIMALS
from nightjar.statistics.statistic import Statistic, mean

if TYPE_CHECKING:
    from nightjar.core.params import Encoding

Floats = NDArray[np.float64]
Row = Mapping[str, Any]
T = TypeVar("T")
# The track of benchmarks that have one, and of questions whose track is not named.
DEFAULT_TRACK = "default"
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Metric:
    """One number that a benchmark reports for a set of instances.

    `parts` are the numbers kept for each instance (one named like the metric, if none are given); `statistic` makes the
    reported number of them, times `scale`: 100 for percentages. `range` is that of the reported number, which has so
    many `decimals`.
    """

    name: str
    title: str
    parts: tuple[str, ...] = ()
    statistic: Statistic = mean
    range: tuple[float, float] = (0.0, 100.0)
    scale: float = 100.0
    higher_is_better: bool = True
    decimals: int = DECIMALS

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", self.parts or (self.name,))


# How a task is answered.
# generate: by a text that the model writes.
# perplexity: by the log-likelihood of a given text. The answer is "NLL TOKENS", the sum of -ln p of the text's tokens
# and their number; nothing is written and no tool is called.
# choose: by one of the task's choices, the one whose text is likeliest after the prompt; nothing is written.
Kind = Literal["generate", "perplexity", "choose"]


class Choice(NamedTuple):
    """An answer that a task of the kind choose may have, and the text after the prompt whose likelihood speaks for it.

    `text` follows the prompt as it is: it begins with the blank between them.
    """

    answer: str
    text: str


@dataclass(frozen=True)
class Task:
    """What holds for the questions of one task. None and empty: as the parameters say.

    The prompt of a task of the kind perplexity is the text whose likelihood is computed. A task of the kind choose has
    `choices`: the answer is one of theirs. Of equally likely ones it is the first.
    """

    title: str = ""
    kind: Kind = "generate"
    max_new_tokens: int | None = None
    stop: tuple[str, ...] = ()
    forbidden_tools: frozenset[str] = frozenset()
    choices: tuple[Choice, ...] = ()


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
            "shared": json.dumps(self.shared, ensure_ascii=False),
            "parts": json.dumps(self.parts, ensure_ascii=False),
            "references": list(self.references),
            "day": self.day,
        }


def questions_of(rows: Iterable[Row]) -> list[Question]:
    """Questions from rows of contracts.QUESTIONS; equal `shared` texts are parsed once."""
    parsed: dict[str, Mapping[str, Any]] = {}
    found = []
    for row in rows:
        shared = parsed.setdefault(row["shared"], {}) or json.loads(row["shared"])
        parsed[row["shared"]] = shared
        known = {name: row[name] for name in ("benchmark", "track", "category", "task_id", "id", "day")}
        found.append(
            Question(
                **known,
                dataset=row["dataset"],
                file=row["file"],
                shared=shared,
                parts=json.loads(row["parts"]),
                references=tuple(row["references"]),
            )
        )
    return found


def drawn(
    members: Sequence[T], most: int | None, seed: int, key: Callable[[T], tuple[str, str]]
) -> Sequence[T]:
    """At most `most` of `members`, in their order; None: all. `key` gives the task and the id of a member.

    Whether one is drawn depends on the seed and its key alone, so a larger number keeps the members of a smaller one.
    """
    if most is None or len(members) <= most:
        return members
    ranks = [random.Random("\x1f".join((str(seed), *key(one)))).random() for one in members]
    return [members[place] for place in sorted(sorted(range(len(members)), key=ranks.__getitem__)[:most])]


class Tokenizer(Protocol):
    """What decides lengths: ids without special tokens, and the text of ids."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: list[int]) -> str: ...


@dataclass(frozen=True)
class Asking:
    """How a question is asked: the encoding's settings, the model's tokenizer, and retrieved passages, best first.

    `evidence` rows have `title` and `text`.
    """

    encoding: Encoding
    tokenizer: Tokenizer
    evidence: Sequence[Row] = ()
    encoder_decoder: bool = False


@dataclass(frozen=True)
class Record:
    """A row that a card's `load` read from a dataset's own files; see contracts.RECORDS.

    `remarks` say what is odd in a row that is kept; the stage ingest counts them.
    """

    task_id: str
    id: str
    file: str
    parts: Mapping[str, Any]
    references: tuple[str, ...]
    category: str = ""
    day: date | None = None
    remarks: tuple[str, ...] = ()


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


@dataclass(frozen=True)
class Published:
    """A row of a paper's table: `values` by track, in the unit of the track's first metric.

    `metrics`: the values of all metrics, where the paper has several; they are of the card's first track.
    """

    system: str
    values: Mapping[str, float]
    source: str
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class PublishedCalls:
    """What a paper gives for a system that calls tools: scores of all inputs, of those with and without a call.

    In the unit of the track's first metric, None where there are no such inputs; `share` of inputs with a call in
    percent.
    """

    track: str
    system: str
    everything: float
    with_call: float | None
    without_call: float | None
    share: float


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper that the report shows beside ours: its tracks are columns.

    The values are those of the card's `published`. `note`: what the paper says beside it. `calls` are the rows of a
    table by call.
    """

    title: str
    tracks: tuple[str, ...]
    note: str = ""
    calls: tuple[PublishedCalls, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A number that describes a dataset: `name` is its key in the facts of the stage ingest. None: not published."""

    name: str
    title: str
    published: float | None
    decimals: int = 0


@dataclass(frozen=True)
class Collection:
    """How the report describes the dataset: its figures beside those of `source`, and how they are counted.

    The stage ingest of one of the card's datasets writes the numbers as its fact `collection`.
    """

    source: str
    figures: tuple[Figure, ...]
    notes: str = ""


@dataclass(frozen=True)
class Files:
    """The JSON Lines that `nightjar score` reads for a benchmark: the form of a line, and the names of its keys.

    `category`: None if references have none. `by_task`: each task is a track with its own scores, answers name their
    task, and ids are unique within a task; otherwise ids are unique. `shown`: the parts that `nightjar references`
    writes beside the references. `readers` replace the JSON Lines. `submission` is the file that a leaderboard takes;
    predictions are read from such a file too. `unanswered`: whether a question without a
    prediction is scored as an empty answer or left out of the scores; it is counted as missing in both cases.
    """

    prediction: str
    reference: str
    task: str = "task"
    category: str | None = None
    by_task: bool = True
    shown: tuple[str, ...] = ()
    readers: Readers | None = None
    submission: Submission | None = None
    unanswered: Literal["empty", "left out"] = "empty"


@dataclass(frozen=True)
class Reranking:
    """The texts by which a language model compares a question with passages (facts 4.3).

    `query` turns a task and a text, of a question or a passage, into a prompt that ends where the answer comes.
    `prefixes` are the demonstrations that come before it, all of them first, then one less each time; the last is
    empty.
    """

    query: Callable[[str, str], str]
    prefixes: Callable[[Question], Sequence[str]]


@dataclass(frozen=True)
class Reading:
    """The texts of a reader: an encoder-decoder that answers by writing one of a task's words (facts 4.4).

    `inputs` are the encoder's texts for a question, its passages, and the form of the question: one for each passage,
    or one alone without passages. `demonstrated` is the one text of a question with labelled examples and no passages.
    `targets` gives, for each answer of a task, the text that the decoder learns to write. `forms` are the forms. `text`
    is the encoder's text for a text of a task that is no question, such as a passage, in a form.
    """

    forms: tuple[str, ...]
    inputs: Callable[[Question, Sequence[str], str], list[str]]
    demonstrated: Callable[[Question, Sequence[Question], str], str]
    targets: Callable[[str], Mapping[str, str]]
    text: Callable[[str, str, str], str]


@dataclass(frozen=True)
class Average:
    """The mean of the main metrics of `tracks`, each a task. Its name is that of a metric of the card.

    In tables of scores it is a track of its own. It exists only where all the tracks have scores.
    """

    name: str
    tracks: tuple[str, ...]


# A question and a seed to the answer that a baseline gives without a model. The report shows the first line of its
# docstring: what the answer is.
Baseline = Callable[[Question, int], str]


def _no_baselines(settings: Model) -> Mapping[str, Baseline]:
    return {}


def _no_details(scores: Sequence[Any], bootstrap: Any) -> dict[str, Any]:
    return {}


class NoSettings(Model):
    """The settings of a card that has none."""


@dataclass(frozen=True)
class Card:
    """A benchmark.

    `questions` makes its questions from artifacts, `prompt` the text that a model reads, `score` the parts of its
    metrics from questions and each question's answers: one array a part, NaN where a part does not apply. `load` reads
    the dataset's own files, in the stage ingest; None if another stage reads them. With `encodings` it takes a second
    argument: the encodings of files by patterns of their paths. `query` makes the text that evidence is searched by
    from a question's parts. The first metric is the main one; `metric_of` names another for a category.

    A benchmark whose systems train on its own data has `training`, the questions of the training and dev sides with
    their references; `reranking` and `reading` are the texts of a reranker and of a reader.

    For the report: `right` is the part that is 1 for a right answer and less for another (empty: none is), `published`
    are rows of papers, shown beside the systems, `tables` those papers' tables, and `collection` describes the dataset.
    `compared` names the system whose differences from the others come first (empty: the report's own rule), and
    `consistency` has the published label consistency of passages by track, in percent.
    `average` is a number of several tasks together; no instance has the part of its metric.
    `explain` adds what a line of `nightjar score --details` has of a question and its answers.
    """

    name: str
    version: int
    title: str
    source: str
    datasets: tuple[str, ...]
    metrics: tuple[Metric, ...]
    questions: Callable[[Sources, Any, int], Iterator[Question]]
    prompt: Callable[[Question, Asking], str]
    score: Callable[[Sequence[Question], Sequence[Sequence[str]]], Mapping[str, Floats]]
    files: Files
    query: Callable[[Mapping[str, Any]], str] = lambda parts: str(parts["question"])
    settings: type[Model] = NoSettings
    load: Callable[..., Iterator[Record | Refused]] | None = None
    encodings: bool = False
    tasks: Mapping[str, Task] = field(default_factory=dict)
    tracks: Mapping[str, str] = field(default_factory=dict)
    levels: tuple[str, ...] = ("overall", "category", "task")
    metric_of: Callable[[str], str] | None = None
    baselines: Callable[[Any], Mapping[str, Baseline]] = _no_baselines
    details: Callable[[Sequence[Any], Any], dict[str, Any]] = _no_details
    right: str = ""
    published: tuple[Published, ...] = ()
    tables: tuple[PublishedTable, ...] = ()
    training: Callable[[Sources, Any, int], Iterator[tuple[Literal["train", "dev"], Question]]] | None = None
    reranking: Reranking | None = None
    reading: Reading | None = None
    compared: str = ""
    consistency: tuple[Published, ...] = ()
    collection: Collection | None = None
    average: Average | None = None
    explain: Callable[[Question, Sequence[str]], Mapping[str, Any]] | None = None

    def task(self, task_id: str) -> Task:
        """The settings of a task; those of a task that the card does not name are the parameters'."""
        return self.tasks.get(task_id, _DEFAULT_TASK)

    def metric(self, name: str) -> Metric:
        """The metric of that name. Raises KeyError if there is none."""
        return self._metrics[name]

    @cached_property
    def _metrics(self) -> dict[str, Metric]:
        return {metric.name: metric for metric in self.metrics}

    def main_metric(self, category: str = "") -> Metric:
        """The metric that is published for a category, or for the whole."""
        return self.metric(self.metric_of(category)) if self.metric_of and category else self.metrics[0]

    def track_title(self, track: str) -> str:
        """The title of a track; its name if it has none."""
        return self.tracks.get(track, track)


_DEFAULT_TASK = Task()
