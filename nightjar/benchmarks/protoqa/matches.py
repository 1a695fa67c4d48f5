"""Which cluster each answer of a ranked list is matched to, for the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from nightjar.benchmarks.capabilities import Floats, Match
from nightjar.benchmarks.protoqa.encoder import EncoderSimilarity
from nightjar.benchmarks.protoqa.formats import Cluster, clusters_of
from nightjar.benchmarks.protoqa.scoring import ENCODER, Rule, assigned_by, counted, matched, similarities
from nightjar.benchmarks.protoqa.similarity import SIMILARITIES, Kind
from nightjar.benchmarks.question import Question

# What one place earlier in the list is worth beside the counts, which are whole numbers: only ties depend on it.
_FIRST = 1e-9


def matches(
    question: Question,
    answers: Sequence[str],
    kinds: Mapping[str, Kind] = SIMILARITIES,
    encoder: EncoderSimilarity | None = None,
) -> dict[str, list[Match]]:
    """The cluster of each answer by each of the similarities `kinds` and by `encoder`, as the whole list is matched.

    Of answers that could have a cluster equally well, the first has it. The closest cluster is the largest of those
    that the answer is similar to, unless the matching gives it another.
    Raises NightjarError if WordNet is not installed.
    """
    clusters = clusters_of(question.parts)
    matrices = {name: similarities(answers, clusters, kind.rounded()) for name, kind in kinds.items()}
    if encoder:
        matrices[ENCODER] = assigned_by(encoder, question, answers)
    return {name: list(of_rows(matrix, clusters)) for name, matrix in matrices.items()}


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


def counted_answers(found: Sequence[Match], rule: Rule) -> int:
    """How many of the first answers of a list count by a rule, from the matches of the list."""
    similar = np.array([float(match.closest is not None) for match in found])
    return len(counted(similar.reshape(len(found), 1), rule))
