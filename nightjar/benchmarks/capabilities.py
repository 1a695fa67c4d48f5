"""What a benchmark may have beside the fields of its card: each an object in the card's `capabilities`.

Generic code asks for one by its type (`Card.capability`), and does without where a card has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from nightjar.benchmarks.question import Asking, Question, Record, Refused, Sources

if TYPE_CHECKING:
    from nightjar.benchmarks.question_card import Choice
    from nightjar.params.predict import PredictBenchmark

Floats = NDArray[np.float64]
Level = Literal["overall", "category", "task"]
Score = Callable[[Sequence[Question], Sequence[Sequence[str]]], Mapping[str, Floats]]
# Is called with the bytes of the file that are read, and with all.
Progress = Callable[[int, int], None] | None


class Capability:
    """The base of all: a subclass is a frozen dataclass. `several`: a card may have more than one of the type."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        strict=True, arbitrary_types_allowed=True, revalidate_instances="always"
    )
    several: ClassVar[bool] = False


@dataclass(frozen=True)
class Tracks(Capability):
    """How instances are grouped: the titles of tracks, the levels of the tables, and the metric of a category.

    Without it, tracks have the titles of the tasks, and the tables the overall numbers alone.
    """

    titles: Mapping[str, str]
    levels: tuple[Level, ...] = ("overall",)
    metric_of: Callable[[str], str] | None = None


@dataclass(frozen=True)
class Query(Capability):
    """The text that evidence is searched by, from a question's parts; without it their text `question`.

    `shown` is what pages show of the question, where that is more.
    """

    text: Callable[[Mapping[str, Any]], str]
    shown: Callable[[Mapping[str, Any]], str] | None = None


@dataclass(frozen=True)
class Choices(Capability):
    """The choices of a question, for tasks of the kind choose whose questions have choices of their own."""

    choices: Callable[[Question], tuple[Choice, ...]]


@dataclass(frozen=True)
class TaskSource(Capability):
    """The file that a card was made from, its digest, and the file with its data (`own_task`)."""

    file: Path
    sha256: str
    data: Path


@dataclass(frozen=True)
class FileEncodings(Capability):
    """A `load` that takes a second argument: the encodings of files by patterns of their paths."""

    load: Callable[[Path, Mapping[str, str]], Iterator[Record | Refused]]


@dataclass(frozen=True)
class Training(Capability):
    """The training data of a benchmark whose systems train on its own.

    `questions` are those of the training and dev sides with their references. `target` is the text that a language
    model learns to write after the prompt of such a question; None if recipes cannot train on them.
    """

    questions: Callable[[Sources, Any, int], Iterator[tuple[Literal["train", "dev"], Question]]]
    target: Callable[[Question], str] | None = None


@dataclass(frozen=True)
class Turns(Capability):
    """Prompts with examples, as turns of a chat.

    `turns` gives the examples of a question's prompt, each as what the user asks and what the model answers, and the
    last message of the user.
    """

    turns: Callable[[Question, Asking], tuple[list[tuple[str, str]], str]]


@dataclass(frozen=True)
class Reranking(Capability):
    """The texts by which a language model compares a question with passages (Guo et al. 2023).

    `query` turns a task and a text, of a question or a passage, into a prompt that ends where the answer comes.
    `prefixes` are the demonstrations that come before it, all of them first, then one less each time; the last is
    empty.
    """

    query: Callable[[str, str], str]
    prefixes: Callable[[Question], Sequence[str]]


@dataclass(frozen=True)
class Reading(Capability):
    """The texts of a reader: an encoder-decoder that answers by writing one of a task's words (Guo et al. 2023).

    `inputs` are the encoder's texts for a question, its passages, and the form of the question: one for each passage,
    or one alone without passages. `demonstrated` is the one text of a question with labelled examples and no passages;
    of an example's own text it has at most so many words (None: all), and its label in any case.
    `targets` gives, for each answer of a task, the text that the decoder learns to write. `forms` are the forms. `text`
    is the encoder's text for a text of a task that is no question, such as a passage, in a form.
    """

    forms: tuple[str, ...]
    inputs: Callable[[Question, Sequence[str], str], list[str]]
    demonstrated: Callable[[Question, Sequence[Question], str, int | None], str]
    targets: Callable[[str], Mapping[str, str]]
    text: Callable[[str, str, str], str]


@dataclass(frozen=True)
class Ranking(Capability):
    """How a question of the kind sample is answered.

    `ranked` turns texts with their weights, and the settings of the benchmark's predictions, into the ranked answers
    with theirs, the best first. A sampled text has the weight 1.
    """

    ranked: Callable[[Iterable[tuple[str, float]], PredictBenchmark], list[tuple[str, float]]]


class Match(NamedTuple):
    """How one answer of a ranked list compares with the clusters of its question; both are ids of clusters or None.

    `cluster` is the one that the matching of the whole list gives the answer. `closest` is one that the answer is
    similar enough to, even if the matching gives that cluster to another answer.
    """

    cluster: str | None
    closest: str | None


@dataclass(frozen=True)
class Matching(Capability):
    """How ranked lists are matched to clusters, for a benchmark whose questions have clusters of answers.

    They are `clusters` of a question's parts: [{"id", "count", "answers": [string]}]. `titles` are those of the
    similarities, the main one first, which the main metric uses. `matches` gives for each similarity the match of every
    answer of a list; `counted` says how many of the first answers the main metric counts, by the matches of the main
    similarity.
    """

    titles: Mapping[str, str]
    matches: Callable[[Question, Sequence[str]], Mapping[str, Sequence[Match]]]
    counted: Callable[[Sequence[Match]], int]


@dataclass(frozen=True)
class Form(Capability):
    """`metric` names the metric whose part is 1 for an answer in the form that the prompt asks for."""

    metric: str


@dataclass(frozen=True)
class Explain(Capability):
    """What a line of `nightjar score --details` has beside the scores of a question and its answers."""

    line: Callable[[Question, Sequence[str]], Mapping[str, Any]]


class Scoring(NamedTuple):
    """The `score` of a card, and capabilities in place of those of their types."""

    score: Score
    capabilities: tuple[Capability, ...] = ()


@dataclass(frozen=True)
class EncoderMetrics(Capability):
    """Metrics that need a sentence encoder: `scoring` makes, from its folder, the scoring that has them too."""

    scoring: Callable[[Path], Scoring]


@dataclass(frozen=True)
class EvaluationFacts(Capability):
    """What the stage evaluate writes into its facts: `facts` of the scores of all systems and the bootstrap."""

    facts: Callable[[Sequence[Any], Any], dict[str, Any]]


@dataclass(frozen=True)
class Average(Capability):
    """The mean of the main metrics of `tracks`, each a task. Its name is that of a metric of the card.

    In tables of scores it is a track of its own. It exists only where all the tracks have scores, and no instance has
    the part of its metric.
    """

    name: str
    tracks: tuple[str, ...]


@dataclass(frozen=True)
class Analysis(Capability):
    """An analysis of questions that is no score of predictions: what `nightjar analyse` runs by its `name`.

    `run` computes it from the questions, a file, the folder of a sentence encoder or None, and a report of progress. It
    returns plain JSON values: "rows", a table, and facts beside it. `encoder`: whether it uses one.
    """

    several: ClassVar[bool] = True
    name: str
    title: str
    run: Callable[[Sequence[Question], Path, Path | None, Progress], dict[str, Any]]
    encoder: bool = False


class Leaderboard(Capability):
    """The file that a leaderboard takes; predictions are read from such a file too. `ending` is that of its name."""

    ending: ClassVar[str]
