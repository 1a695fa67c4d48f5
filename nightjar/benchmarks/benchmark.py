"""The class of a benchmark, on which prediction, scoring, intervals, paired tests, files and the report work.

No generic code names a benchmark. A benchmark is one folder in nightjar/benchmarks and one line of its table
(`folders`), or a class of another package that an entry point names (`registry`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nightjar.benchmarks.papers import Papers
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.question_set import OTHERS, QuestionSet, overrides
from nightjar.core.errors import NightjarError
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats

if TYPE_CHECKING:
    from nightjar.benchmarks.scores import SystemScores
    from nightjar.benchmarks.sections import Evaluated, Section
    from nightjar.statistics.bootstrap import Bootstrap

Level = Literal["overall", "category", "task"]
# Is called with the bytes of the file that are read, and with all.
Progress = Callable[[int, int], None] | None


class Match(NamedTuple):
    """The clusters of its question that one answer of a ranked list matches; both are ids or None.

    `cluster` is the one that the matching of the whole list gives the answer. `closest` is one that the answer is
    similar enough to, even if the matching gives that cluster to another answer.
    """

    cluster: str | None
    closest: str | None


@dataclass(frozen=True)
class Average:
    """The mean of the main metrics of `tracks`, each a task. Its name is that of a metric of the benchmark.

    In tables of scores it is a track of its own. It exists only where all the tracks have scores, and no instance has
    the part of its metric.
    """

    name: str
    tracks: tuple[str, ...]


@dataclass(frozen=True)
class Analysis:
    """An analysis of questions that is no score of predictions: what `nightjar score --analysis` runs by its `name`.

    `run` computes it from the questions, a file, the folder of a sentence encoder or None, and a report of progress. It
    returns plain JSON values: "rows", a table, and facts beside it. `encoder`: whether it uses one.
    """

    name: str
    title: str
    run: Callable[[Sequence[Question], Path, Path | None, Progress], dict[str, Any]]
    encoder: bool = False


class Benchmark(QuestionSet):
    """A benchmark: its questions (`QuestionSet`), and the scores of answers.

    The first of the `metrics` is the main one. `levels` are those of the tables of scores. `average` is a mean of tasks
    that the benchmark publishes, and `form_metric` the metric whose part is 1 for an answer in the form that the prompt
    asks for. `similarities` are the titles of those by which ranked lists are matched to clusters, the main one first;
    such questions have `clusters` in their parts: [{"id", "count", "answers": [string]}].
    """

    metrics: tuple[Metric, ...]
    levels: tuple[Level, ...] = ("overall",)
    average: Average | None = None
    form_metric: str = ""
    similarities: Mapping[str, str] = {}
    analyses: tuple[Analysis, ...] = ()
    papers: Papers = Papers()

    @abstractmethod
    def score(self, questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
        """Compute the parts of the metrics from questions and the answers to each.

        The result has one array a part, with a number for each question; NaN where the part does not apply.
        """

    def with_encoder(self, folder: Path) -> Benchmark:
        """Return the benchmark that scores with the sentence encoder in `folder` too.

        Without an encoder, a benchmark that has this method may lack metrics.
        """
        raise NightjarError(f"no metric of {self.name} needs an encoder", folder, "leave the encoder out")

    def main_metric(self, category: str = "") -> Metric:
        """Return the metric that is published for a category, or without a category for all questions."""
        return self.metrics[0]

    def details(self, question: Question, answers: Sequence[str]) -> Mapping[str, Any]:
        """Return what a line of `nightjar score --details` has beside the scores of a question."""
        return {}

    def match_answers(self, question: Question, answers: Sequence[str]) -> Mapping[str, Sequence[Match]]:
        """Match a ranked list to the clusters of its question, by each of the `similarities`."""
        return {}

    def counted_answers(self, matches: Sequence[Match]) -> int:
        """Count the first answers of a list that its main metric counts, from their matches by the main similarity."""
        return len(matches)

    def evaluation_facts(self, scores: Sequence[SystemScores], bootstrap: Bootstrap) -> dict[str, Any]:
        """Return the facts that the stage evaluate adds, as plain JSON values."""
        return {}

    def report_sections(self, evaluated: Evaluated) -> Sequence[Section]:
        """Make the sections that the benchmark adds to its page of the report."""
        return ()

    # What the generic code asks.

    @property
    def tracks(self) -> Mapping[str, str]:
        """The titles of the tracks, in their order: those of the tasks if each is a track."""
        if not self.files.by_task:
            return {}
        titles = {name: task.title or name for name, task in self.tasks.items() if name != OTHERS}
        return titles | ({self.average.name: self.metric(self.average.name).title} if self.average else {})

    def track_title(self, track: str) -> str:
        """Return the title of a track; its name if it has none."""
        return self.tracks.get(track, "mean of tasks" if self.is_mean(track) else track)

    def is_mean(self, track: str) -> bool:
        """Tell whether a track of a table of scores is the mean of tasks: it has the name of a metric."""
        return track not in self.tasks and any(track == metric.name for metric in self.metrics)

    def metric(self, name: str) -> Metric:
        """Return the metric of that name."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        names = ", ".join(metric.name for metric in self.metrics)
        raise NightjarError(f"no metric {name!r}", f"the benchmark {self.name}", f"its metrics are {names}")

    @property
    def right(self) -> str:
        """The part that is 1 for a right answer and less for another; empty if there is none."""
        return next((metric.parts[0] for metric in self.metrics if metric.right), "")

    @property
    def has_encoder_metrics(self) -> bool:
        """Tell whether some metrics need a sentence encoder."""
        return overrides(self, Benchmark.with_encoder)
