"""A benchmark is a card: what prediction, scoring, intervals, paired tests, files and the report need to know of it.

Everything generic works from the card and names no benchmark. A benchmark is one folder in nightjar/benchmarks, or a
module of another package, and one registration (`registry`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import ConfigDict

from nightjar.benchmarks.capabilities import (
    Average,
    Capability,
    Choices,
    EncoderMetrics,
    Level,
    Query,
    Score,
    Tracks,
)
from nightjar.benchmarks.papers import Papers
from nightjar.benchmarks.question import Asking, Question, Record, Refused, Sources
from nightjar.core.config import Count, Item, Limit, Model, Name
from nightjar.core.errors import NightjarError
from nightjar.statistics.paired import Metric as Metric

# How a task is answered.
# generate: by a text that the model writes.
# perplexity: by the log-likelihood of a given text. The answer is "NLL TOKENS", the sum of -ln p of the text's tokens
# and their number; nothing is written and no tool is called.
# choose: by one of the task's choices, the one whose text is likeliest after the prompt; nothing is written.
# sample: by a ranked list, which the card makes of many texts that are sampled from the model; no tool is called.
Kind = Literal["generate", "perplexity", "choose", "sample"]


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
    `choices`, or its questions have (`capabilities.Choices`): the answer is one of theirs. Of equally likely ones it is
    the first.
    """

    title: str = ""
    kind: Kind = "generate"
    max_new_tokens: Limit = None
    stop: tuple[str, ...] = ()
    forbidden_tools: frozenset[str] = frozenset()
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True)
class Files:
    """The JSON Lines that `nightjar score` reads for a benchmark, unless it has readers of its own (`Readers`).

    `prediction` and `reference` say in a message what a line should be. `category`: None if references have none.
    `by_task`: each task is a track with its own scores, answers name their task, and ids are unique within a task;
    otherwise ids are unique. `shown`: the parts that `nightjar references` writes beside the references. `unanswered`:
    whether a question without a prediction is scored as an empty answer or left out of the scores; it is counted as
    missing in both cases.
    """

    prediction: str = ""
    reference: str = ""
    task: Name = "task"
    category: Name | None = None
    by_task: bool = True
    shown: tuple[str, ...] = ()
    unanswered: Literal["empty", "left out"] = "empty"

    def __post_init__(self) -> None:
        text, texts, track = '"..."', '"references": ["..."]', '"track": "default"'
        key, task = f'"id": {text}', f'"{self.task}": {text}'
        category = [f'"{self.category}": {text}'] if self.category else []
        if self.by_task:
            key, reference = f"{task}, {key}", [texts, *category]
        else:
            reference = [texts, task, *category, track]
        forms = {"prediction": [f'"prediction": {text}'], "reference": reference}
        for name, parts in forms.items():
            line = "{" + ", ".join([key, *parts]) + "}"
            object.__setattr__(self, name, getattr(self, name) or f"write {line}")


# A question and a seed to the answer that a baseline gives without a model. The report shows the first line of its
# docstring: what the answer is.
Baseline = Callable[[Question, int], str]

# In `tasks`, the settings of all tasks that are not named there.
OTHERS = "*"
_PAPERS, _ANY = Papers(), Task()
C = TypeVar("C", bound=Capability)


def _no_baselines(settings: Model) -> Mapping[str, Baseline]:
    return {}


class NoSettings(Model):
    """The settings of a card that has none."""


@dataclass(frozen=True)
class Card:
    """A benchmark: what every benchmark has, and `capabilities`, which some have.

    `questions` makes its questions from artifacts, `prompt` the text that a model reads, `score` the parts of its
    metrics from questions and each question's answers: one array a part, NaN where a part does not apply. `load` reads
    the dataset's own files, in the stage ingest; None if another stage reads them. The first metric is the main one.
    `tasks` are settings of tasks by their names, those of all others by OTHERS. `baselines` makes from the settings
    the answers by name that are scored beside the systems' own.
    """

    __pydantic_config__: ClassVar[ConfigDict] = Capability.__pydantic_config__

    name: Item
    version: Count
    title: Name
    source: str
    datasets: tuple[Item, ...]
    metrics: tuple[Metric, ...]
    questions: Callable[[Sources, Any, int], Iterator[Question]]
    prompt: Callable[[Question, Asking], str]
    score: Score
    files: Files = Files()
    settings: type[Model] = NoSettings
    load: Callable[[Path], Iterator[Record | Refused]] | None = None
    tasks: Mapping[str, Task] = field(default_factory=dict)
    baselines: Callable[[Any], Mapping[str, Baseline]] = _no_baselines
    capabilities: tuple[Capability, ...] = ()

    def capability(self, kind: type[C]) -> C | None:
        """The first capability of a type; None if the card has none."""
        return next(iter(self.capabilities_of(kind)), None)

    def capabilities_of(self, kind: type[C]) -> list[C]:
        """All capabilities of a type."""
        return [one for one in self.capabilities if isinstance(one, kind)]

    def task(self, task_id: str) -> Task:
        """The settings of a task."""
        return self.tasks.get(task_id) or self.tasks.get(OTHERS, _ANY)

    def choices(self, question: Question) -> tuple[Choice, ...]:
        """The choices of a question, those of its task or its own; none if it is not answered by a choice."""
        found = self.capability(Choices)
        return self.task(question.task_id).choices or (found.choices(question) if found else ())

    def metric(self, name: str) -> Metric:
        """The metric of that name. Raises NightjarError if there is none."""
        if name not in self._metrics:
            known = ", ".join(self._metrics)
            raise NightjarError(f"no metric {name!r}", f"the card {self.name}", f"its metrics are {known}")
        return self._metrics[name]

    def main_metric(self, category: str = "") -> Metric:
        """The metric that is published for a category, or for the whole."""
        found = self.capability(Tracks)
        return (
            self.metric(found.metric_of(category))
            if category and found and found.metric_of
            else self.metrics[0]
        )

    @cached_property
    def _metrics(self) -> dict[str, Metric]:
        return {metric.name: metric for metric in self.metrics}

    @cached_property
    def right(self) -> str:
        """The part that is 1 for a right answer and less for another; empty if there is none."""
        return next((metric.parts[0] for metric in self.metrics if metric.right), "")

    @cached_property
    def papers(self) -> Papers:
        """What papers say of the benchmark; nothing if the card has none."""
        return self.capability(Papers) or _PAPERS

    @cached_property
    def average(self) -> Average | None:
        """The mean of tasks that the card publishes."""
        return self.capability(Average)

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The levels of the tables of scores."""
        found = self.capability(Tracks)
        return found.levels if found else ("overall",)

    @cached_property
    def tracks(self) -> Mapping[str, str]:
        """The titles of the tracks, in their order: those of the tasks if each is a track."""
        if found := self.capability(Tracks):
            return found.titles
        if not self.files.by_task:
            return {}
        titles = {name: task.title or name for name, task in self.tasks.items() if name != OTHERS}
        return titles | ({self.average.name: self.metric(self.average.name).title} if self.average else {})

    def track_title(self, track: str) -> str:
        """The title of a track; its name if it has none."""
        return self.tracks.get(track, track)

    def query(self, parts: Mapping[str, Any]) -> str:
        """The text that evidence is searched by, from a question's parts."""
        found = self.capability(Query)
        return found.text(parts) if found else str(parts["question"])

    def shown(self, parts: Mapping[str, Any]) -> str:
        """What pages show of a question, from its parts."""
        found = self.capability(Query)
        return found.shown(parts) if found and found.shown else self.query(parts)

    def with_capabilities(self, *made: Capability) -> Card:
        """The card with these capabilities, in place of those of their types."""
        replaced = {type(one) for one in made}
        kept = (one for one in self.capabilities if type(one) not in replaced)
        return replace(self, capabilities=(*made, *kept))

    def with_encoder(self, folder: Path | None) -> Card:
        """The card that scores with the sentence encoder in `folder` too; itself for None.

        Raises NightjarError if no metric needs an encoder, or it cannot be loaded.
        """
        if folder is None:
            return self
        if (metrics := self.capability(EncoderMetrics)) is None:
            raise NightjarError(f"no metric of {self.name} needs an encoder", folder, "leave the encoder out")
        score, made = metrics.scoring(folder)
        return replace(self, score=score).with_capabilities(*made)
