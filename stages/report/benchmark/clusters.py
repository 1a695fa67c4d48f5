"""A page with every question of a benchmark with clusters: the clusters, and what each system's answers match."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from nightjar.benchmarks.capabilities import Match, Matching
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.question import Question, drawn
from nightjar.benchmarks.scores import SystemScores
from nightjar.benchmarks.sections import Evaluated, cut
from nightjar.core import contracts, paths, tables
from stages.report import numbers
from stages.report.read.results import HEADLINE

# What is shown at most: questions, clusters of a question, strings of a cluster, answers of a list.
QUESTIONS, CLUSTERS, STRINGS, ANSWERS = 200, 40, 40, 30
# Characters of a question, a string or an answer, and the name of a cluster beside an answer.
_QUESTION, _STRING, _NAME = 280, 80, 16
# A match: the answer has a cluster; another answer of the list has the cluster that it is similar to; it has none.
HAS, REPEATS, NONE = "has", "repeats", "none"
SIGNS = {HAS: "✓", REPEATS: "=", NONE: "✗"}

Key = tuple[str, str]
T = TypeVar("T")


@dataclass(frozen=True)
class Clustered:
    """The answers of every system by question, and their matches by system, question and similarity."""

    answers: Mapping[str, Mapping[Key, Sequence[str]]]
    matches: Mapping[tuple[str, Key], Mapping[str, Sequence[Match]]]


def _read(found: Evaluated) -> Clustered:
    answers = {
        system: {
            (row["task_id"], row["id"]): row["answers"]
            for row in found.predictions(system, ["task_id", "id", "answers"])
        }
        for system in found.systems
    }
    matches: dict[tuple[str, Key], dict[str, list[Match]]] = {}
    # The rows of a list are in the order of their ranks.
    for row in tables.read_rows(found.folder / paths.SCORES / found.card.name, contracts.MATCHES):
        some = matches.setdefault((row["system"], (row["task_id"], row["id"])), {})
        some.setdefault(row["similarity"], []).append(Match(row["cluster"], row["closest"]))
    return Clustered(answers, matches)


def file(card: Card) -> str:
    """The name of the page."""
    return f"{card.name}-questions.html"


def context(matching: Matching, evaluated: Evaluated) -> dict[str, Any]:
    """What the template shows: at most QUESTIONS questions, which the seed draws.

    Raises NightjarError if a table is missing.
    """
    card, found = evaluated.card, _read(evaluated)
    chosen = drawn(evaluated.questions, QUESTIONS, evaluated.params.seed, attrgetter("key"))
    metrics = [metric for metric in card.metrics if len(metric.parts) == 1][:HEADLINE]
    values = {one.system: _values(one, metrics) for one in evaluated.scores}
    present = [name for name in matching.titles if any(name in it for it in found.matches.values())]
    return {
        "name": card.name,
        "total": len(evaluated.questions),
        "systems": list(found.answers),
        "metrics": [numbers.heading(metric) for metric in metrics],
        "similarities": [matching.titles[name] for name in present],
        "signs": SIGNS,
        "questions": [
            _question(card, matching, found, question, values, present) | {"number": number}
            for number, question in enumerate(chosen, start=1)
        ],
    }


def _values(one: SystemScores, metrics: Sequence[Metric]) -> dict[Key, list[str]]:
    """The scores of each question, a dash where it has none."""
    none = np.full(len(one.keys), np.nan)
    columns = [(metric, one.parts.get(metric.parts[0], none).tolist()) for metric in metrics]
    return {
        key.instance: [
            "–" if math.isnan(of[at]) else numbers.value(metric, metric.scale * of[at])
            for metric, of in columns
        ]
        for at, key in enumerate(one.keys)
    }


def _question(
    card: Card,
    matching: Matching,
    found: Clustered,
    question: Question,
    values: Mapping[str, Mapping[Key, Sequence[str]]],
    similarities: Sequence[str],
) -> dict[str, Any]:
    clusters = sorted(question.parts["clusters"], key=lambda cluster: -cluster["count"])
    places = {cluster["id"]: place for place, cluster in enumerate(clusters, start=1)}
    names = {cluster["id"]: cut(cluster["answers"][0], _NAME) for cluster in clusters}
    most = max((cluster["count"] for cluster in clusters), default=0) or 1
    lists = [
        _list(matching, found, system, question.key, places, names, similarities)
        | {"scores": values.get(system, {}).get(question.key, ["–"])}
        for system in found.answers
    ]
    ranks = [_ranks(found.matches.get((one["system"], question.key), {}), similarities) for one in lists]
    shown, more = _first(clusters, CLUSTERS)
    return {
        "id": cut(question.id, _STRING),
        "text": cut(card.query(question.parts), _QUESTION),
        "labels": list(question.parts.get("labels", ())),
        "total": f"{sum(cluster['count'] for cluster in clusters):,g}",
        "count": len(clusters),
        "more": more,
        "clusters": [
            {
                "place": places[cluster["id"]],
                "count": f"{cluster['count']:,g}",
                "share": f"{cluster['count'] / most:.3g}",
                "strings": " | ".join(cut(text, _STRING) or "(blank)" for text in strings),
                "more": rest,
                "ranks": [rank.get(cluster["id"], "–") for rank in ranks],
            }
            for cluster in shown
            for strings, rest in [_first(cluster["answers"], STRINGS)]
        ],
        "lists": lists,
    }


def _list(
    matching: Matching,
    found: Clustered,
    system: str,
    key: Key,
    places: Mapping[str, int],
    names: Mapping[str, str],
    similarities: Sequence[str],
) -> dict[str, Any]:
    answers = found.answers[system].get(key)
    matches = found.matches.get((system, key), {})
    shown, more = _first(answers or (), ANSWERS)
    return {
        "system": system,
        "missing": answers is None,
        "counted": matching.counted(matches.get(similarities[0], ())) if similarities else len(shown),
        "more": more,
        "rows": [
            {
                "answer": cut(answer, _STRING) or "(blank)",
                "matches": [_match(matches[name][at], places, names) for name in similarities],
            }
            for at, answer in enumerate(shown)
        ],
    }


def _match(match: Match, places: Mapping[str, int], names: Mapping[str, str]) -> dict[str, Any]:
    id = match.cluster if match.cluster is not None else match.closest
    state = HAS if match.cluster is not None else NONE if id is None else REPEATS
    return {
        "state": state,
        "sign": SIGNS[state],
        "place": "" if id is None else places[id],
        "name": "" if id is None else names[id],
    }


def _ranks(matches: Mapping[str, Sequence[Match]], similarities: Sequence[str]) -> dict[str, int]:
    """The rank of the answer that has each cluster, by the main similarity."""
    main = matches.get(similarities[0], ()) if similarities else ()
    return {match.cluster: rank for rank, match in enumerate(main, start=1) if match.cluster is not None}


def _first(members: Sequence[T], most: int) -> tuple[Sequence[T], int]:
    """The first `most` members, and how many more there are."""
    return members[:most], max(0, len(members) - most)
