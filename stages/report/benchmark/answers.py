"""Answers of a benchmark's systems: some right and wrong ones of every category."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from nightjar.benchmarks.capabilities import Form, Matching
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.sections import cut, initial
from nightjar.core import contracts, tables
from stages.report import numbers
from stages.report.read.results import Rows, category_title

# Instances of a category that are shown, at most; and so many where nothing says which answers are right.
MOST, UNJUDGED = 4, 2
# Characters of a text that are shown.
_INPUT, _ANSWER = 280, 160
_REFERENCES = 3
# Answers of a ranked list that are shown.
_LISTED = 5

# An instance is identified by its task and id.
Key = tuple[str, str]
# (system, task, id) to the parts of its scores.
Scores = Mapping[tuple[str, str, str], Mapping[str, float]]


@dataclass(frozen=True)
class Answers:
    """The chosen instances by track and category, in order, with the answers of all systems and their scores.

    `given` is by system and instance; `asked` holds the rows of contracts.QUESTIONS of the chosen instances. `called`
    holds, by system, the predictions with a call, in an order that the seed draws; `counts` the number of answers.
    """

    chosen: Mapping[tuple[str, str], Sequence[Key]]
    scores: Scores
    given: Mapping[str, Mapping[Key, Mapping[str, Any]]]
    asked: Mapping[Key, Mapping[str, Any]]
    called: Mapping[str, Rows]
    counts: Mapping[str, int]


def read(
    card: Card, systems: Sequence[str], predicted: Path, scored: Path, asked: Path, seed: int
) -> Answers:
    """The answers of `systems`, whose predictions are folders in `predicted`.

    `scored` and `asked` are artifacts of the stages evaluate and questions. Raises NightjarError if a table is missing.
    """
    part = _deciding(card)
    chosen = choose(_rows(scored, part), systems, seed, part)
    wanted = {key for keys in chosen.values() for key in keys}
    given, called, counts = {}, {}, {}
    for system in systems:
        columns = ["task_id", "id", "answers", "calls"]
        found = tables.read_rows(predicted / system, contracts.PREDICTIONS, columns)
        given[system] = {_key(row): row for row in found if _key(row) in wanted}
        with_call = [row for row in found if row["calls"]]
        called[system] = sorted(with_call, key=lambda row: _order(_key(row), seed))
        counts[system] = len(found)
    shown = wanted | {_key(row) for some in called.values() for row in some}
    columns = ["task_id", "id", "parts", "references"]
    questions = tables.read(asked, contracts.QUESTIONS, columns, _among(wanted)).to_pylist()
    by_key = {_key(row): row for row in questions}
    return Answers(chosen, _scores(scored, systems, shown), given, by_key, called, counts)


def choose(rows: Rows, systems: Sequence[str], seed: int, right: str) -> dict[tuple[str, str], list[Key]]:
    """By track and category at most MOST instances, so that each system has a right and a wrong answer among them.

    `rows` are of contracts.INSTANCE_SCORES with one metric; it is 1 for a right answer where it is `right`. One after
    the other, the instance is taken that shows most of what is still missing (a system right, a system wrong); of
    equal ones the first in an order that the seed draws. Without `right` they are the first UNJUDGED in that order.
    The order of `rows` does not matter.
    """
    shows: dict[tuple[str, str], dict[Key, set[tuple[str, bool]]]] = {}
    for row in rows:
        if row["system"] in systems:
            instances = shows.setdefault((row["track"], row["category"]), {})
            instances.setdefault(_key(row), set()).add((row["system"], row["value"] == 1))
    chosen = {}
    for category in sorted(shows):
        instances = shows[category]
        order = sorted(instances, key=lambda key: _order(key, seed))
        chosen[category] = _covering(order, instances) if right else order[:UNJUDGED]
    return chosen


def _covering(order: Sequence[Key], shows: Mapping[Key, set[tuple[str, bool]]]) -> list[Key]:
    missing = set().union(*shows.values())
    taken: list[Key] = []
    while missing and len(taken) < MOST:
        best = max(order, key=lambda key: len(shows[key] & missing))  # the first of equal ones
        taken.append(best)
        missing -= shows[best]
    return taken


def context(card: Card, found: Answers) -> dict[str, Any]:
    """What the templates show: the examples, a block a track and category."""
    return {
        "judged": bool(card.right),
        "formed": card.capability(Form) is not None,
        "blocks": [
            {
                "title": category_title(category) if category else initial(card.track_title(track)),
                "track": card.track_title(track) if category else "",
                "metric": metric.title if (metric := _metric(card, keys, found.scores)) else "",
                "examples": [_example(key, found, card, metric) for key in keys],
            }
            for (track, category), keys in sorted(found.chosen.items(), key=lambda it: _place(card, it[0][0]))
        ],
    }


def _place(card: Card, track: str) -> int:
    """The place of a track in the order of the card's; others come after them."""
    listed = list(card.tracks)
    return listed.index(track) if track in listed else len(listed)


def is_right(card: Card, parts: Mapping[str, float]) -> str:
    """`right` or `wrong` by the scores of an answer; empty where the card does not say."""
    if card.right not in parts:
        return ""
    return "right" if parts[card.right] == 1 else "wrong"


def _in_form(card: Card, parts: Mapping[str, float]) -> str:
    """`as asked` or `other` by the form of an answer; empty where the card does not say."""
    form = card.capability(Form)
    if form is None or form.asked not in parts:
        return ""
    return "as asked" if parts[form.asked] == 1 else "other"


def _metric(card: Card, keys: Iterable[Key], scores: Scores) -> Metric | None:
    """The first metric with one number an instance, other than the one of right and wrong."""
    there = {name for (_, *key), parts in scores.items() if tuple(key) in set(keys) for name in parts}
    for metric in card.metrics:
        if len(metric.parts) == 1 and metric.parts[0] in there - {card.right}:
            return metric
    return None


def _example(key: Key, found: Answers, card: Card, metric: Metric | None) -> dict[str, Any]:
    question = found.asked.get(key)
    references = question["references"] if question else []
    more, ranked = len(references) - _REFERENCES, card.capability(Matching)
    answers = []
    for system, given in found.given.items():
        if (parts := found.scores.get((system, *key))) is None:
            continue
        value = parts.get(metric.parts[0]) if metric else None
        row = given.get(key, {"answers": (), "calls": ()})
        answers.append(
            {
                "system": system,
                "text": cut(" | ".join(row["answers"][:_LISTED]) if ranked else first(row["answers"])),
                "right": is_right(card, parts),
                "form": _in_form(card, parts),
                "value": _value(metric, value) if metric and value is not None else "–",
                "calls": len(row["calls"]),
            }
        )
    return {
        "task": key[0],
        "id": key[1],
        "input": cut(card.query(json.loads(question["parts"])), _INPUT) if question else "",
        "references": [cut(text) for text in references[:_REFERENCES]]
        + ([f"{more} more"] if more > 0 else []),
        "answers": answers,
    }


def _value(metric: Metric, value: float) -> str:
    """The number of one instance: without decimals for percentages, two decimals for numbers from 0 to 1."""
    return numbers.value(metric, metric.scale * value, more=-1)


def first(answers: Sequence[str]) -> str:
    """The answer that is shown; empty if there is none."""
    return answers[0] if answers else ""


def _deciding(card: Card) -> str:
    """The part that decides which answers are shown: that of right and wrong, else that of the form; or none."""
    form = card.capability(Form)
    return card.right or (form.asked if form else "")


def _rows(scored: Path, part: str) -> Rows:
    """A row an instance and system: this part, or any part."""
    columns = ["system", "track", "category", "task_id", "id", "metric", "value"]
    where = pc.field("metric") == part if part else None
    rows: Rows = tables.read(scored, contracts.INSTANCE_SCORES, columns, where).to_pylist()
    return rows


def _scores(scored: Path, systems: Sequence[str], shown: set[Key]) -> Scores:
    columns = ["system", "task_id", "id", "metric", "value"]
    rows = tables.read(scored, contracts.INSTANCE_SCORES, columns, _among(shown)).to_pylist()
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in rows:
        if row["system"] in systems and _key(row) in shown:
            found.setdefault((row["system"], *_key(row)), {})[row["metric"]] = row["value"]
    return found


def _among(keys: Iterable[Key]) -> pc.Expression:
    return tables.among(contracts.INSTANCE_SCORES, "id", (id for _, id in keys))


def _key(row: Mapping[str, Any]) -> Key:
    return row["task_id"], row["id"]


def _order(key: Key, seed: int) -> str:
    return hashlib.sha256("\x1f".join((str(seed), *key)).encode()).hexdigest()
