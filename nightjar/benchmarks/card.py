"""A benchmark is a card: what prediction, scoring, intervals, paired tests, files and the report need to know of it.

Everything generic works from the card and names no benchmark. A benchmark is one folder in nightjar/benchmarks, or a
module of another package, and one registration (`registry`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from nightjar.benchmarks.analysis import Analysis
from nightjar.benchmarks.papers import Collection, Published, PublishedCurve, PublishedTable
from nightjar.benchmarks.question import Asking, Question, Record, Refused, Sources
from nightjar.benchmarks.ranked_lists import Lists
from nightjar.benchmarks.readers import Readers
from nightjar.benchmarks.submission import Submission
from nightjar.core.config import Count, Item, Limit, Model, Name
from nightjar.core.errors import NightjarError
from nightjar.statistics.bootstrap import DECIMALS
from nightjar.statistics.statistic import Statistic, mean

if TYPE_CHECKING:
    from nightjar.params.predict import PredictBenchmark

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """One number that a benchmark reports for a set of instances.

    `parts` are the numbers kept for each instance (one named like the metric, if none are given); `statistic` makes the
    reported number of them, times `scale`: 100 for percentages. `range` is that of the reported number, which has so
    many `decimals`. One that is not `judged` describes answers, such as their length: the nightly does not compare it.
    """

    name: Name
    title: str
    parts: tuple[str, ...] = ()
    statistic: Statistic = mean
    range: tuple[float, float] = (0.0, 100.0)
    scale: float = 100.0
    higher_is_better: bool = True
    judged: bool = True
    decimals: Annotated[int, Field(ge=0, le=15)] = DECIMALS

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", self.parts or (self.name,))


# How a task is answered.
# generate: by a text that the model writes.
# perplexity: by the log-likelihood of a given text. The answer is "NLL TOKENS", the sum of -ln p of the text's tokens
# and their number; nothing is written and no tool is called.
# choose: by one of the task's choices, the one whose text is likeliest after the prompt; nothing is written.
# sample: by a ranked list, which the card makes of many texts that are sampled from the model; no tool is called.
Kind = Literal["generate", "perplexity", "choose", "sample"]
Level = Literal["overall", "category", "task"]


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
    max_new_tokens: Limit = None
    stop: tuple[str, ...] = ()
    forbidden_tools: frozenset[str] = frozenset()
    choices: tuple[Choice, ...] = ()


Score = Callable[[Sequence[Question], Sequence[Sequence[str]]], Mapping[str, Floats]]
Explain = Callable[[Question, Sequence[str]], Mapping[str, Any]]


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
    task: Name = "task"
    category: Name | None = None
    by_task: bool = True
    shown: tuple[str, ...] = ()
    readers: Readers | None = None
    submission: Submission | Lists | None = None
    unanswered: Literal["empty", "left out"] = "empty"


@dataclass(frozen=True)
class Reranking:
    """The texts by which a language model compares a question with passages (Guo et al. 2023).

    `query` turns a task and a text, of a question or a passage, into a prompt that ends where the answer comes.
    `prefixes` are the demonstrations that come before it, all of them first, then one less each time; the last is
    empty.
    """

    query: Callable[[str, str], str]
    prefixes: Callable[[Question], Sequence[str]]


@dataclass(frozen=True)
class Reading:
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


class Match(NamedTuple):
    """How one answer of a ranked list compares with the clusters of its question; both are ids of clusters or None.

    `cluster` is the one that the matching of the whole list gives the answer. `closest` is one that the answer is
    similar enough to, even if the matching gives that cluster to another answer.
    """

    cluster: str | None
    closest: str | None


@dataclass(frozen=True)
class Matching:
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
class Form:
    """What describes prompts and answers beside the score, for a benchmark that trims prompts and asks for a form.

    `whole` is the prompt of a question before it is trimmed. `asked` is the metric whose part is 1 for an answer in the
    form that was asked for, `forgiving` the score that forgives another form, of the tracks that have it. `length` is
    the metric whose two parts are the words of an answer and of its references.
    """

    whole: Callable[[Question], str]
    asked: str
    forgiving: str
    length: str


class Scoring(NamedTuple):
    """The fields `score`, `explain` and `matching` of a card."""

    score: Score
    explain: Explain
    matching: Matching | None = None


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


# Texts with their weights, and the settings of the benchmark's predictions, to the ranked answers with theirs, the best
# first. A sampled text has the weight 1.
Ranking = Callable[[Iterable[tuple[str, float]], "PredictBenchmark"], list[tuple[str, float]]]


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
    from a question's parts. The first metric is the main one; `metric_of` names another for a category. `tasks` are
    settings of tasks by their names, `other_tasks` those of all others. `ranked` makes the answers to a question of the
    kind sample.

    A benchmark whose systems train on its own data has `training`, the questions of the training and dev sides with
    their references; `reranking` and `reading` are the texts of a reranker and of a reader. `target` is the text that a
    language model learns to write after the prompt of such a question; None if recipes cannot train on them.

    For the report: `right` is the part that is 1 for a right answer and less for another (empty: none is), `published`
    are rows of papers, shown beside the systems, `tables` those papers' tables, and `collection` describes the dataset.
    `compared` names the system whose differences from the others come first (empty: the report's own rule), and
    `consistency` has the published label consistency of passages by track, in percent.
    `average` is a number of several tasks together; no instance has the part of its metric.
    `explain` adds what a line of `nightjar score --details` has of a question and its answers. `matching` says which
    clusters answers are matched to. `labels` are labels that questions may have, in `labels` of their parts, and what
    each means. `form` describes prompts and answers beside the score. `curves` are published results at several values
    of a setting, which studies of it show.

    `by_encoder` makes, from the folder of a sentence encoder, the `score`, `explain` and `matching` that have the
    metrics which need an encoder too; without it these metrics have no values. `analyses` are those of `nightjar
    analyse`, by name.
    """

    __pydantic_config__: ClassVar[ConfigDict]  # of the check in `held`

    name: Item
    version: Count
    title: Name
    source: str
    datasets: tuple[Item, ...]
    metrics: tuple[Metric, ...]
    questions: Callable[[Sources, Any, int], Iterator[Question]]
    prompt: Callable[[Question, Asking], str]
    score: Score
    files: Files
    query: Callable[[Mapping[str, Any]], str] = lambda parts: str(parts["question"])
    settings: type[Model] = NoSettings
    load: Callable[..., Iterator[Record | Refused]] | None = None
    encodings: bool = False
    tasks: Mapping[str, Task] = field(default_factory=dict)
    other_tasks: Task = Task()
    ranked: Ranking | None = None
    tracks: Mapping[str, str] = field(default_factory=dict)
    levels: tuple[Level, ...] = ("overall", "category", "task")
    metric_of: Callable[[str], str] | None = None
    baselines: Callable[[Any], Mapping[str, Baseline]] = _no_baselines
    details: Callable[[Sequence[Any], Any], dict[str, Any]] = _no_details
    right: str = ""
    published: tuple[Published, ...] = ()
    tables: tuple[PublishedTable, ...] = ()
    training: Callable[[Sources, Any, int], Iterator[tuple[Literal["train", "dev"], Question]]] | None = None
    target: Callable[[Question], str] | None = None
    reranking: Reranking | None = None
    reading: Reading | None = None
    compared: str = ""
    consistency: tuple[Published, ...] = ()
    collection: Collection | None = None
    average: Average | None = None
    explain: Explain | None = None
    by_encoder: Callable[[Path], Scoring] | None = None
    analyses: Mapping[str, Analysis] = field(default_factory=dict)
    matching: Matching | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    form: Form | None = None
    curves: tuple[PublishedCurve, ...] = ()

    def task(self, task_id: str) -> Task:
        """The settings of a task."""
        return self.tasks.get(task_id, self.other_tasks)

    def metric(self, name: str) -> Metric:
        """The metric of that name. Raises NightjarError if there is none."""
        if name not in self._metrics:
            known = ", ".join(self._metrics)
            raise NightjarError(f"no metric {name!r}", f"the card {self.name}", f"its metrics are {known}")
        return self._metrics[name]

    def with_encoder(self, folder: Path | None) -> Card:
        """The card that scores with the sentence encoder in `folder` too; itself for None.

        Raises NightjarError if no metric needs an encoder, or it cannot be loaded.
        """
        if folder is None:
            return self
        if self.by_encoder is None:
            raise NightjarError(f"no metric of {self.name} needs an encoder", folder, "leave the encoder out")
        return replace(self, **self.by_encoder(folder)._asdict())

    @cached_property
    def _metrics(self) -> dict[str, Metric]:
        return {metric.name: metric for metric in self.metrics}

    def main_metric(self, category: str = "") -> Metric:
        """The metric that is published for a category, or for the whole."""
        return self.metric(self.metric_of(category)) if self.metric_of and category else self.metrics[0]

    def track_title(self, track: str) -> str:
        """The title of a track; its name if it has none."""
        return self.tracks.get(track, track)
