"""The score of a ranked list of answers in ProtoQA: the best one-to-one matching with the clusters (evaluation.py)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.benchmark import Match
from nightjar.benchmarks.protoqa.answer_clusters import Cluster, best_list, cleaned, clusters_of
from nightjar.benchmarks.protoqa.encoder_similarity import EncoderSimilarity, assigned
from nightjar.benchmarks.protoqa.similarity import SIMILARITIES, Similarity
from nightjar.benchmarks.question import Question
from nightjar.statistics.statistic import Floats

log = logging.getLogger("nightjar")

# The similarity that needs a model.
ENCODER = "encoder"
# By name, what makes a similarity.
Kinds = Mapping[str, Callable[[], Similarity]]
# What one place earlier in the list is worth beside the counts, which are whole numbers: only ties depend on it.
_FIRST = 1e-9


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


def score(
    questions: Sequence[Question],
    answers: Sequence[Sequence[str]],
    kinds: Kinds = SIMILARITIES,
    encoder: EncoderSimilarity | None = None,
) -> Mapping[str, Floats]:
    """The metrics of each question's ranked list, arrays of shape (questions,) from 0 to 1; of an empty list 0.

    `kinds` are the similarities by name; with `encoder` there are the metrics encoder/RULE too.

    NaN where the best list itself scores 0, which happens if its strings are not lower-case or too long; this is
    reported in the log. Raises NightjarError if WordNet is not installed.
    """
    names = [metric_name(kind, rule) for kind in (*kinds, *([ENCODER] if encoder else [])) for rule in RULES]
    columns = {name: np.zeros(len(questions)) for name in names}
    for place, (question, question_answers) in enumerate(zip(questions, answers, strict=True)):
        clusters = clusters_of(question.parts)
        best = compared(question, best_list(clusters), kinds, encoder)
        for name, (_, rounded) in compared(question, question_answers, kinds, encoder).items():
            for rule, value in shares(rounded, best[name][1], clusters).items():
                columns[metric_name(name, rule)][place] = value
    if undefined := sum(bool(np.isnan(values).any()) for values in columns.values()):
        log.warning("warning: %d metrics leave out questions whose best list scores 0", undefined)
    return columns


def compared(
    question: Question,
    answers: Sequence[str],
    kinds: Kinds = SIMILARITIES,
    encoder: EncoderSimilarity | None = None,
) -> dict[str, tuple[Floats, Floats]]:
    """By similarity, how similar each answer is to each cluster, and that rounded to 0.0 or 1.0: shape (answers,
    clusters). Of the encoder it is the predicted value, and 1.0 for the cluster that the answer belongs to.
    """
    clusters, texts = clusters_of(question.parts), list(map(cleaned, answers))
    matrices = {}
    for name, make in kinds.items():
        matrix = similarities(texts, clusters, make())
        matrices[name] = matrix, np.round(matrix)
    if encoder:
        values = encoder.values(question, texts)
        matrices[ENCODER] = values, assigned(values)
    return matrices


def shares(
    matrix: Floats, best: Floats, clusters: Sequence[Cluster], rules: Sequence[Rule] = RULES
) -> dict[Rule, float]:
    """The score of a list by each rule, as a share of the best list's, from the rounded similarities of both."""
    shares_by_rule = {}
    for rule in rules:
        best_total = total(best, clusters, rule)
        shares_by_rule[rule] = total(matrix, clusters, rule) / best_total if best_total else float("nan")
    return shares_by_rule


def similarities(answers: Sequence[str], clusters: Sequence[Cluster], function: Similarity) -> Floats:
    """The similarity of each answer to each cluster, that of its most similar string: shape (answers, clusters).

    Answers are cleaned first, strings of clusters are not.
    """
    rows: dict[str, list[float]] = {}
    for answer in map(cleaned, answers):
        if answer not in rows:
            rows[answer] = [max(function(answer, one) for one in cluster.answers) for cluster in clusters]
    matrix_rows = [rows[cleaned(answer)] for answer in answers]
    return np.array(matrix_rows, dtype=np.float64).reshape(len(matrix_rows), len(clusters))


def total(matrix: Floats, clusters: Sequence[Cluster], rule: Rule) -> float:
    """The value of the matched clusters, from rounded similarities of shape (answers, clusters)."""
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


def explained(
    question: Question, answers: Sequence[str], encoder: EncoderSimilarity | None = None
) -> dict[str, Any]:
    """Each answer as it was compared, with the cluster that it was matched to in the whole list, by similarity.

    {"ranked": [{"answer", SIMILARITY: {"cluster": id or None, "similarity": of the closest cluster, not rounded}}]}
    With `encoder`, "similarity" of "encoder" is the largest predicted value.
    """
    clusters = clusters_of(question.parts)
    lines: list[dict[str, Any]] = [{"answer": cleaned(one)} for one in answers]
    for name, (matrix, rounded) in compared(question, answers, encoder=encoder).items():
        partners = _partners(rounded, clusters)
        for row, line in enumerate(lines):
            line[name] = {"cluster": partners.get(row), "similarity": float(matrix[row].max())}
    return {"ranked": lines}


def _partners(rounded: Floats, clusters: Sequence[Cluster]) -> dict[int, str]:
    """The clusters' ids by the rows of the answers that are matched to them."""
    rewards = rounded * [cluster.count for cluster in clusters]
    pairs = zip(*matched(rewards), strict=True)
    return {int(row): clusters[column].id for row, column in pairs if rewards[row, column] > 0}


def matches(
    question: Question,
    answers: Sequence[str],
    kinds: Kinds = SIMILARITIES,
    encoder: EncoderSimilarity | None = None,
) -> dict[str, list[Match]]:
    """The cluster of each answer by each of the similarities `kinds` and by `encoder`, as the whole list is matched.

    Of answers that could have a cluster equally well, the first has it. The closest cluster is the largest of those
    that the answer is similar to, unless the matching gives it another.
    """
    clusters = clusters_of(question.parts)
    matrices = compared(question, answers, kinds, encoder)
    return {name: list(of_rows(rounded, clusters)) for name, (_, rounded) in matrices.items()}


def of_rows(rounded: Floats, clusters: Sequence[Cluster]) -> Iterator[Match]:
    """The match of each row, from rounded similarities of shape (answers, clusters)."""
    rewards = rounded * [cluster.count for cluster in clusters]
    earlier = _FIRST * np.arange(len(rewards), 0, -1)[:, None]
    pairs = zip(*matched(rewards + (rewards > 0) * earlier), strict=True)
    partners = {row: column for row, column in pairs if rewards[row, column] > 0}
    for row, values in enumerate(rounded):
        if (column := partners.get(row)) is not None:
            yield Match(clusters[column].id, clusters[column].id)
        elif values.any():
            # A cluster of the count 0 can be the closest, but is worth nothing and so matched to no answer.
            largest = int(np.argmax(np.where(values > 0, rewards[row], -1.0)))
            yield Match(None, clusters[largest].id)
        else:
            yield Match(None, None)


def counted_answers(list_matches: Sequence[Match], rule: Rule) -> int:
    """The number of the first answers of a list that count by a rule, from the matches of the list."""
    similar = np.array([float(match.closest is not None) for match in list_matches])
    return len(counted(similar.reshape(len(list_matches), 1), rule))
