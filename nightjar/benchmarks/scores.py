"""The scores of one system: the parts of its metrics, an array each, and the instances they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks import registry
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.question import Question
from nightjar.core.arguments import check_list
from nightjar.core.errors import NightjarError
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats

# Of a part: sums of larger numbers would be infinite.
LARGEST = 1e100

Places = Sequence[int] | NDArray[np.int64]


class InstanceKey(NamedTuple):
    """The groups that an instance is counted under, and its name."""

    track: str
    category: str
    task_id: str
    id: str

    @property
    def instance(self) -> tuple[str, str]:
        """(task_id, id), unique in a benchmark."""
        return self.task_id, self.id


@dataclass(frozen=True)
class SystemScores:
    """`parts` are arrays of shape (len(keys),), NaN where a part does not apply to an instance."""

    system: str
    keys: Sequence[InstanceKey]
    parts: Mapping[str, Floats]

    def of(self, metric: Metric, places: Places | None = None) -> Floats:
        """The parts of a metric, shape (instances, parts), of the instances at `places` (None: all) that have them."""
        if any(name not in self.parts for name in metric.parts):
            return np.empty((0, len(metric.parts)))
        chosen = slice(None) if places is None else places
        values = np.stack([self.parts[name][chosen] for name in metric.parts], axis=1)
        lacking = np.isnan(values).any(axis=1)
        return values[~lacking] if lacking.any() else values

    def both(self, reference: SystemScores, metric: Metric, places: Places) -> tuple[Floats, Floats]:
        """The parts of a metric of the instances at `places` of which both systems have them; instances as in `of`."""
        present = [one.parts[name] for one in (self, reference) for name in metric.parts if name in one.parts]
        if len(present) < 2 * len(metric.parts):
            return self.of(metric, []), self.of(metric, [])
        places_of_both = np.asarray(places, dtype=np.int64)
        places_of_both = places_of_both[~np.isnan(np.stack(present)[:, places_of_both]).any(axis=0)]
        return self.of(metric, places_of_both), reference.of(metric, places_of_both)

    def tracks(self) -> list[str]:
        """The tracks of the instances, sorted."""
        return sorted({key.track for key in self.keys})

    def rows(self, benchmark: str) -> Iterator[dict[str, Any]]:
        """Rows of contracts.INSTANCE_SCORES, by instance."""
        columns = [(name, values.tolist()) for name, values in self.parts.items()]
        for place, key in enumerate(self.keys):
            instance = {"benchmark": benchmark, "system": self.system, **key._asdict()}
            for name, values in columns:
                if values[place] == values[place]:
                    yield {**instance, "part": name, "unscaled": values[place]}


def score(
    benchmark: Benchmark, system: str, questions: Sequence[Question], answers: Sequence[Sequence[str] | None]
) -> SystemScores:
    """The scores of the answers to all questions, one list of answers a question.

    None is no prediction: it scores as an empty list, or is NaN where the benchmark leaves such questions out. NaN is
    left out of every number (`SystemScores.of`). Raises NightjarError if an answer is not a list of texts, or the
    benchmark gives other than one number a question and part; NaN where a part does not apply.
    """
    for texts in answers:
        check_list(texts, "answers")
    if len(answers) != len(questions):
        what = f"{len(answers)} lists of answers for {len(questions)} questions"
        raise NightjarError(what, "answers", "give one for each question")
    parts = _checked_parts(
        benchmark, questions, benchmark.score(questions, [texts or [] for texts in answers])
    )
    if benchmark.files.unanswered == "left out":
        missing = [place for place, texts in enumerate(answers) if texts is None]
        for values in parts.values():
            values[missing] = np.nan
    keys = list(map(InstanceKey, *(map(attrgetter(name), questions) for name in InstanceKey._fields)))
    return SystemScores(system, keys, parts)


def nothing_to_score(
    benchmark: Benchmark, questions: Sequence[Question], predictions: str = ""
) -> NightjarError | None:
    """Return the error of questions without a reference, as in a test set whose references are not published; or None.

    `predictions` is what the fix hands in, with the further options of `nightjar submission`.
    """
    if not questions or any(question.references for question in questions):
        return None
    fix = "ask questions with references"
    if submission := benchmark.submission:
        output = f"{benchmark.name}{submission.endings[0]}"
        options = f" --predictions {predictions} --output {output}" if predictions else ""
        fix = f"hand the predictions in: nightjar submission --benchmark {benchmark.name}{options}"
    return NightjarError("nothing to score: no question has a reference", benchmark.name, fix)


def _checked_parts(benchmark: Benchmark, questions: Sequence[Question], arrays: Any) -> dict[str, Floats]:
    """Return the arrays that a benchmark's `score` gives as floats."""

    def refuse(what: str, fix: str) -> NoReturn:
        raise NightjarError(f"score gives {what}", registry.place(benchmark.name), fix)

    names = dict.fromkeys(part for metric in benchmark.metrics for part in metric.parts)
    each_part = f"give an array for each of {', '.join(names)}"
    if not isinstance(arrays, Mapping):
        refuse(f"a {type(arrays).__name__}", each_part)
    parts = {}
    for name, array in arrays.items():
        values = np.asarray(array)
        if values.dtype.kind not in "buif" or values.shape != (len(questions),):
            what = f"an array of {values.dtype} of the shape {values.shape} for {name}"
            refuse(what, f"give an array of {len(questions)} numbers")
        parts[name] = values.astype(np.float64)
        if (infinite := np.abs(parts[name]) > LARGEST).any():
            first = questions[int(np.flatnonzero(infinite)[0])]
            what = f"{parts[name][infinite][0]:g} for {name} of {first.task_id} {first.id}"
            refuse(what, f"give numbers up to {LARGEST:g}, and NaN where a part does not apply")
    missing = [metric.name for metric in benchmark.metrics if not parts.keys() >= set(metric.parts)]
    # Without an encoder some metrics are missing, and no instance has the part of an average.
    allowed = {benchmark.average.name} if benchmark.average else set()
    if len(missing) == len(benchmark.metrics) or (
        not benchmark.has_encoder_metrics and set(missing) - allowed
    ):
        refuse(f"no values for {missing[0]}, but for {', '.join(parts)[:200] or 'none'}", each_part)
    return parts


def from_rows(rows: Iterable[Mapping[str, Any]]) -> list[SystemScores]:
    """Make the scores of every system from rows of contracts.INSTANCE_SCORES, in the order in which they come."""
    by_system: dict[str, dict[InstanceKey, dict[str, float]]] = {}
    for row in rows:
        key = InstanceKey(row["track"], row["category"], row["task_id"], row["id"])
        by_system.setdefault(row["system"], {}).setdefault(key, {})[row["part"]] = row["unscaled"]
    scores = []
    for system, instances in by_system.items():
        names = dict.fromkeys(name for values in instances.values() for name in values)
        parts = {
            name: np.array([values.get(name, np.nan) for values in instances.values()]) for name in names
        }
        scores.append(SystemScores(system, list(instances), parts))
    return scores


def match_rows(
    benchmark: Benchmark, system: str, questions: Sequence[Question], answers: Sequence[Sequence[str] | None]
) -> Iterator[dict[str, Any]]:
    """Yield rows of contracts.MATCHES for one system, by question; none for a benchmark without `similarities`.

    `answers` has a list for each question, None for one without a prediction.
    """
    if not benchmark.similarities:
        return
    for question, texts in zip(questions, answers, strict=True):
        key = {"benchmark": benchmark.name, "system": system, "task_id": question.task_id, "id": question.id}
        for similarity, matches in benchmark.match_answers(question, texts or ()).items():
            for rank, match in enumerate(matches, start=1):
                yield {**key, "similarity": similarity, "rank": rank, **match._asdict()}
