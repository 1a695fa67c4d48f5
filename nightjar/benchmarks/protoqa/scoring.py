"""How ProtoQA scores a ranked list of answers: by the best one-to-one matching with the clusters (facts 2.2)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.card import Floats, Question
from nightjar.benchmarks.protoqa.formats import Cluster, best_list, clusters_of
from nightjar.benchmarks.protoqa.similarity import SIMILARITIES, Kind, Similarity

log = logging.getLogger("nightjar")

# Characters of an answer that are compared.
MOST_CHARACTERS = 50


class Rule(NamedTuple):
    """Which answers of a list count, and whether a matched cluster is worth its count or 1."""

    name: str
    max_answers: int | None = None
    max_incorrect: int | None = None
    by_count: bool = True


RULES = (
    *(Rule(f"max_answers@{k}", max_answers=k) for k in (1, 3, 5, 10)),
    *(Rule(f"max_incorrect@{k}", max_incorrect=k) for k in (1, 3, 5)),
    Rule("unlimited"),
    Rule("set_intersection", by_count=False),
)


def metric_name(similarity: str, rule: Rule) -> str:
    """The name of a metric, such as wordnet/max_incorrect@3."""
    return f"{similarity}/{rule.name}"


def cleaned(answer: str) -> str:
    """An answer as it is compared: lower-case, then cut to 50 characters, then without blanks around it."""
    return answer.lower()[:MOST_CHARACTERS].strip()


def score(
    questions: Sequence[Question],
    answers: Sequence[Sequence[str]],
    kinds: Mapping[str, Kind] = SIMILARITIES,
) -> Mapping[str, Floats]:
    """The metrics of each question's ranked list, arrays of shape (questions,) from 0 to 1; of an empty list 0.

    `kinds` are the similarities by name.

    NaN where the best list itself scores 0, which happens if its strings are not lower-case or too long; this is
    reported in the log. Raises NightjarError if WordNet is not installed.
    """
    names = [metric_name(kind, rule) for kind in kinds for rule in RULES]
    found = {name: np.zeros(len(questions)) for name in names}
    functions = {name: kind.rounded() for name, kind in kinds.items()}
    for place, (question, given) in enumerate(zip(questions, answers, strict=True)):
        clusters = clusters_of(question.parts)
        for name, function in functions.items():
            for rule, value in list_scores(given, clusters, function).items():
                found[metric_name(name, rule)][place] = value
    if lacking := sum(bool(np.isnan(values).any()) for values in found.values()):
        log.warning("warning: %d metrics leave out questions whose best list scores 0", lacking)
    return found


def list_scores(
    answers: Sequence[str], clusters: Sequence[Cluster], function: Similarity, rules: Sequence[Rule] = RULES
) -> dict[Rule, float]:
    """The score of a list by each rule, as a share of the best list's; NaN where that scores 0.

    `function` is a rounded similarity. All rules share the similarities of the list and of the best list.
    """
    matrix = similarities(answers, clusters, function)
    best = similarities(best_list(clusters), clusters, function)
    found = {}
    for rule in rules:
        whole = total(best, clusters, rule)
        found[rule] = total(matrix, clusters, rule) / whole if whole else float("nan")
    return found


def similarities(answers: Sequence[str], clusters: Sequence[Cluster], function: Similarity) -> Floats:
    """The similarity of each answer to each cluster, that of its most similar string: shape (answers, clusters).

    Answers are cleaned first, strings of clusters are not.
    """
    rows: dict[str, list[float]] = {}
    for answer in map(cleaned, answers):
        if answer not in rows:
            rows[answer] = [max(function(answer, one) for one in cluster.answers) for cluster in clusters]
    found = [rows[cleaned(answer)] for answer in answers]
    return np.array(found, dtype=np.float64).reshape(len(found), len(clusters))


def total(matrix: Floats, clusters: Sequence[Cluster], rule: Rule) -> float:
    """What the matched clusters are worth, from rounded similarities of shape (answers, clusters)."""
    rewards = counted(matrix, rule)
    if rule.by_count:
        rewards = rewards * [cluster.count for cluster in clusters]
    rows, columns = matched(rewards)
    return float(rewards[rows, columns].sum())


def counted(matrix: Floats, rule: Rule) -> Floats:
    """The rows that count: the first `max_answers`, or those up to the answer that is the last incorrect one allowed.

    An answer is incorrect if it matches no cluster; one that matches a cluster that is used already is not.
    """
    if rule.max_answers is not None:
        return matrix[: rule.max_answers]
    if rule.max_incorrect is not None and len(matrix):
        wrong = np.flatnonzero(matrix.max(axis=1) == 0)
        if len(wrong) >= rule.max_incorrect:
            return matrix[: wrong[rule.max_incorrect - 1] + 1]
    return matrix


def matched(rewards: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows and columns of the one-to-one matching with the largest sum."""
    # Here, not above: scipy takes long to load, and other benchmarks do without it.
    from scipy.optimize import linear_sum_assignment

    if not rewards.size:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing
    rows, columns = linear_sum_assignment(rewards, maximize=True)
    return rows, columns


def explained(question: Question, answers: Sequence[str]) -> dict[str, Any]:
    """Each answer as it was compared, with the cluster that it was matched to in the whole list, by similarity.

    {"ranked": [{"answer", SIMILARITY: {"cluster": id or None, "similarity": of the closest cluster, not rounded}}]}
    """
    clusters = clusters_of(question.parts)
    lines: list[dict[str, Any]] = [{"answer": cleaned(answer)} for answer in answers]
    for name, kind in SIMILARITIES.items():
        matrix = similarities(answers, clusters, kind.raw())
        for line, (cluster, similarity) in zip(lines, _closest(matrix, clusters), strict=True):
            line[name] = {"cluster": cluster, "similarity": similarity}
    return {"ranked": lines}


def _closest(matrix: Floats, clusters: Sequence[Cluster]) -> Iterator[tuple[str | None, float]]:
    rewards = np.round(matrix) * [cluster.count for cluster in clusters]
    partners = {
        row: column for row, column in zip(*matched(rewards), strict=True) if rewards[row, column] > 0
    }
    for row, values in enumerate(matrix):
        column = partners.get(row)
        yield (None if column is None else clusters[column].id), float(values.max())
