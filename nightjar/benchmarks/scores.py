"""The scores of one system: the parts of its metrics, an array each, and the instances they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks import registry
from nightjar.benchmarks.capabilities import EncoderMetrics, Floats, Leaderboard, Matching
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.question import Question
from nightjar.core.arguments import check_lists
from nightjar.core.errors import NightjarError
from nightjar.core.plugins import calling
from nightjar.statistics import mean

# Of a part: sums of larger numbers would be infinite.
LARGEST = 1e100

Places = Sequence[int] | NDArray[np.int64]


class Key(NamedTuple):
    """What an instance is counted under, and its name."""

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
    keys: Sequence[Key]
    parts: Mapping[str, Floats]

    def of(self, metric: Metric, places: Places | None = None) -> Floats:
        """The parts of a metric, shape (instances, parts), of the instances at `places` (None: all) that have them."""
        if any(name not in self.parts for name in metric.parts):
            return np.empty((0, len(metric.parts)))
        chosen = slice(None) if places is None else places
        values = np.stack([self.parts[name][chosen] for name in metric.parts], axis=1)
        lacking = np.isnan(values).any(axis=1)
        return values[~lacking] if lacking.any() else values

    def both(self, other: SystemScores, metric: Metric, places: Places) -> tuple[Floats, Floats]:
        """The parts of a metric of the instances at `places` of which both systems have them; instances as in `of`."""
        known = [one.parts[name] for one in (self, other) for name in metric.parts if name in one.parts]
        if len(known) < 2 * len(metric.parts):
            return self.of(metric, []), self.of(metric, [])
        chosen = np.asarray(places, dtype=np.int64)
        chosen = chosen[~np.isnan(np.stack(known)[:, chosen]).any(axis=0)]
        return self.of(metric, chosen), other.of(metric, chosen)

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
    card: Card, system: str, questions: Sequence[Question], answers: Sequence[Sequence[str] | None]
) -> SystemScores:
    """The scores of the answers to all questions, one list of answers a question.

    None is no prediction: it scores as an empty list, or is NaN where the card leaves such questions out. NaN is left
    out of every number (`SystemScores.of`). Raises NightjarError if an answer is not a list of texts, or the card gives
    other than one number a question and part, within the range of its metric; NaN where a part does not apply.
    """
    check_lists([given or [] for given in answers], "answers")
    if len(answers) != len(questions):
        what = f"{len(answers)} lists of answers for {len(questions)} questions"
        raise NightjarError(what, "answers", "give one for each question")
    with calling(registry.place(card.name), "score fails"):
        parts = _checked(card, questions, answers, card.score(questions, [given or [] for given in answers]))
    if card.files.unanswered == "left out":
        missing = [place for place, given in enumerate(answers) if given is None]
        for values in parts.values():
            values[missing] = np.nan
    keys = list(map(Key, *(map(attrgetter(name), questions) for name in Key._fields)))
    return SystemScores(system, keys, parts)


def nothing_to_score(
    card: Card, questions: Sequence[Question], predictions: str = ""
) -> NightjarError | None:
    """What is wrong if no question has a reference, as in a test set whose references are not published; else None.

    `predictions` is what the fix hands in, with the further options of `nightjar submission`.
    """
    if not questions or any(question.references for question in questions):
        return None
    fix = "ask questions with references"
    if form := card.capability(Leaderboard):
        given = f" --predictions {predictions} --output {card.name}{form.ending}" if predictions else ""
        fix = f"hand the predictions in: nightjar submission --benchmark {card.name}{given}"
    return NightjarError("nothing to score: no question has a reference", card.name, fix)


def _checked(
    card: Card, questions: Sequence[Question], answers: Sequence[Sequence[str] | None], found: Any
) -> dict[str, Floats]:
    """What a card's `score` gives, as floats; `registry.validated` has checked that these are arrays by names.

    Raises NightjarError naming its package, and what is wrong.
    """

    def refuse(what: str, fix: str) -> NoReturn:
        raise NightjarError(f"score gives {what}", registry.place(card.name), fix)

    known = dict.fromkeys(part for metric in card.metrics for part in metric.parts)
    by_part = f"give an array for each of {', '.join(known)}"
    parts = {}
    for name, values in found.items():
        wanted = f"give an array of {len(questions)} numbers"
        if values.dtype.kind not in "buif":
            refuse(f"an array of {values.dtype} for {name}", wanted)
        if values.shape != (len(questions),):
            refuse(f"an array of the shape {values.shape} for {name}", wanted)
        parts[name] = values.astype(np.float64)
        if (infinite := np.abs(parts[name]) > LARGEST).any():
            what = f"{parts[name][infinite][0]:g} for {name} of {_first(questions, infinite)}"
            refuse(what, f"give numbers up to {LARGEST:g}, and NaN where a part does not apply")
    made = [metric for metric in card.metrics if all(part in parts for part in metric.parts)]
    # Without an encoder a card may lack metrics, and no instance has the part of an average.
    lacking = (
        []
        if card.capability(EncoderMetrics)
        else [metric.name for metric in card.metrics if metric not in made]
    )
    average = card.average.name if card.average else ""
    if (lacking and lacking != [average]) or not made:
        refuse(
            f"no values for {(lacking or ['any metric'])[0]}, but for {', '.join(parts)[:200] or 'none'}",
            by_part,
        )
    answered = [
        bool(question.references) and given is not None
        for question, given in zip(questions, answers, strict=True)
    ]
    if any(answered) and all(np.isnan(values[answered]).all() for values in parts.values()):
        refuse("NaN alone: no part applies to any question", by_part)
    for metric in made:
        values = np.stack([parts[part] for part in metric.parts], axis=1)
        nan = np.isnan(values)
        if (some := nan.any(axis=1) & ~nan.all(axis=1)).any():
            what = f"NaN for some parts of {metric.name} of {_first(questions, some)}, and numbers for others"
            refuse(what, "give NaN for all parts of a metric that does not apply")
        _check_range(card, metric, questions, values, ~nan.any(axis=1))
    return parts


def _check_range(
    card: Card, metric: Metric, questions: Sequence[Question], values: Floats, there: NDArray[np.bool_]
) -> None:
    """Raise NightjarError if the number that is reported, or of a mean any that it is made of, is out of range."""
    if not there.any():
        return
    low, high = metric.range
    slack = 1e-9 * max(1.0, abs(metric.scale))
    with np.errstate(all="ignore"):
        each = metric.scale * values[:, 0] if metric.statistic is mean else np.array([])
        reported = metric.scale * float(metric.statistic(values[None, there])[0])
    outside = (each < low - slack) | (each > high + slack)
    if outside.any():
        number, of = each[outside][0], _first(questions, outside)
    elif not low - slack <= reported <= high + slack:
        number, of = reported, "all questions"
    else:
        return
    what = f"{metric.name} = {number:g} of {of}, out of range: the metric has {low:g} to {high:g}"
    fix = f"give parts that are within the range when they are multiplied by {metric.scale:g}, or correct it"
    raise NightjarError(what, registry.place(card.name), fix)


def _first(questions: Sequence[Question], chosen: NDArray[np.bool_]) -> str:
    question = questions[int(np.flatnonzero(chosen)[0])]
    return f"{question.task_id} {question.id}"


def from_rows(rows: Iterable[Mapping[str, Any]]) -> list[SystemScores]:
    """The scores of every system from rows of contracts.INSTANCE_SCORES, in the order in which they come."""
    found: dict[str, dict[Key, dict[str, float]]] = {}
    for row in rows:
        key = Key(row["track"], row["category"], row["task_id"], row["id"])
        found.setdefault(row["system"], {}).setdefault(key, {})[row["part"]] = row["unscaled"]
    scores = []
    for system, instances in found.items():
        names = dict.fromkeys(name for values in instances.values() for name in values)
        parts = {
            name: np.array([values.get(name, np.nan) for values in instances.values()]) for name in names
        }
        scores.append(SystemScores(system, list(instances), parts))
    return scores


def match_rows(
    card: Card, system: str, questions: Sequence[Question], answers: Sequence[Sequence[str] | None]
) -> Iterator[dict[str, Any]]:
    """Rows of contracts.MATCHES for one system, by question; none for a card without the capability Matching.

    `answers` has a list for each question, None for one without a prediction.
    """
    if (matching := card.capability(Matching)) is None:
        return
    for question, given in zip(questions, answers, strict=True):
        key = {"benchmark": card.name, "system": system, "task_id": question.task_id, "id": question.id}
        for similarity, found in matching.matches(question, given or ()).items():
            for rank, match in enumerate(found, start=1):
                yield {**key, "similarity": similarity, "rank": rank, **match._asdict()}
