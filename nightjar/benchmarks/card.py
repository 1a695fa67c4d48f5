"""A benchmark is a card: what prediction, scoring, intervals, paired tests, files and the report need to know of it.

Everything generic works from the card and names no benchmark. A benchmark is one folder in nightjar/benchmarks, or a
module of another package, and one registration (`registry`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path

from nightjar.benchmarks.capabilities import Average, Capability, EncoderMetrics, Level, Score, Tracks
from nightjar.benchmarks.papers import Papers
from nightjar.benchmarks.question_card import OTHERS as OTHERS
from nightjar.benchmarks.question_card import Baseline as Baseline
from nightjar.benchmarks.question_card import Choice as Choice
from nightjar.benchmarks.question_card import Files as Files
from nightjar.benchmarks.question_card import NoSettings as NoSettings
from nightjar.benchmarks.question_card import QuestionCard
from nightjar.benchmarks.question_card import Task as Task
from nightjar.core.errors import NightjarError
from nightjar.statistics.metric import Metric as Metric

_PAPERS = Papers()


@dataclass(frozen=True, kw_only=True)
class Card(QuestionCard):
    """A benchmark: what asks its questions, and what scores the answers.

    `score` makes the parts of the metrics from questions and each question's answers: one array a part, NaN where a
    part does not apply. The first metric is the main one.
    """

    metrics: tuple[Metric, ...]
    score: Score

    @classmethod
    def of(
        cls,
        asks: QuestionCard,
        *,
        metrics: tuple[Metric, ...],
        score: Score,
        capabilities: tuple[Capability, ...] = (),
    ) -> Card:
        """The card of a benchmark, of the half that asks, and what scores."""
        values = {field.name: getattr(asks, field.name) for field in fields(QuestionCard)}
        values["capabilities"] = (*asks.capabilities, *capabilities)
        return cls(**values, metrics=metrics, score=score)

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

    def is_mean(self, track: str) -> bool:
        """Return whether a track of a table of scores is the mean of tasks: it has the name of a metric."""
        return track in self._metrics and track not in self.tasks

    def track_title(self, track: str) -> str:
        """The title of a track; its name if it has none."""
        return self.tracks.get(track, "mean of tasks" if self.is_mean(track) else track)

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
