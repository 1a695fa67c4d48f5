"""The encoder similarity: Gaussian processes decide from an answer's states which cluster it belongs to (ProtoQA).

This is the published procedure (protoqa-evaluator, mlmsim.py), with any encoder in the place of RoBERTa. The vector of
a string is the mean of the states behind the prompt of its question. For each cluster a Gaussian process learns from
all strings of the question which of them are in it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nightjar.benchmarks.protoqa.answer_clusters import Cluster, clusters_of
from nightjar.benchmarks.protoqa.questions import statement
from nightjar.benchmarks.question import Question
from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.search.encoders import RECORD
from nightjar.statistics.statistic import Floats

if TYPE_CHECKING:
    from nightjar.search.encoder import SentenceEncoder

# An answer belongs to the best cluster only above this value, as published.
LEAST_VALUE = 0.1
# Added to the diagonal of the kernel matrix, and further starts of the search for the kernel, as published. The places
# of these starts are random there; a seed makes scores equal in every run.
_ALPHA, _RESTARTS, _SEED = 1e-7, 4, 0


class EncoderSimilarity:
    """Assigns answers to clusters of their question, by a sentence encoder.

    The regressors of a question are fitted once for each length that its texts are padded to.
    """

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._encoder = encoder

    def values(self, question: Question, answers: Sequence[str]) -> Floats:
        """Predict for each answer, cleaned already, how far it is in each cluster: shape (answers, clusters).

        An answer that equals a string of a cluster has 1 for this cluster and 0 for the others; of several clusters
        with the string, the last one counts. Other values may be below 0 or above 1.
        """
        clusters = clusters_of(question.parts)
        distinct = tuple(dict.fromkeys(answers))
        rows = dict(zip(distinct, self._values(question.parts["question"], clusters, distinct), strict=True))
        return np.array([rows[answer] for answer in answers]).reshape(len(answers), len(clusters))

    @cache  # noqa: B019 - one similarity a process
    def _values(self, question: str, clusters: tuple[Cluster, ...], answers: tuple[str, ...]) -> Floats:
        context, columns = statement(question), _columns(clusters)
        values = np.zeros((len(answers), len(clusters)))
        others = []
        for row, answer in enumerate(answers):
            if answer in columns:
                values[row, columns[answer]] = 1.0
            else:
                others.append(row)
        if others:
            # As published: pads affect the states, so the longest text of the list decides about all vectors.
            length = max(self._encoder.count_tokens(_texts(context, (*columns, *answers))))
            vectors = self._encode(context, [answers[row] for row in others], length)
            for column, regressor in enumerate(self._regressors(context, clusters, length)):
                values[others, column] = regressor.predict(vectors)
        return values

    @cache  # noqa: B019
    def _regressors(self, context: str, clusters: tuple[Cluster, ...], length: int) -> tuple[Any, ...]:
        """Fit a Gaussian process for each cluster: 1 for its strings, 0 for those of the others."""
        # Here, not above: scikit-learn takes long to load.
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel

        columns = _columns(clusters)
        vectors, members = self._encode(context, tuple(columns), length), np.array([*columns.values()])
        # scikit-learn's default. It is spelt out because older releases kept both values at 1.
        regressors = [
            GaussianProcessRegressor(
                ConstantKernel() * RBF(), alpha=_ALPHA, n_restarts_optimizer=_RESTARTS, random_state=_SEED
            )
            for _ in range(len(clusters))
        ]
        with warnings.catch_warnings():
            # A cluster of one string has no best length scale.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return tuple(
                regressor.fit(vectors, (members == column).astype(np.float64))
                for column, regressor in enumerate(regressors)
            )

    def _encode(self, context: str, strings: Sequence[str], length: int) -> Floats:
        return self._encoder.encode_after(context, _texts(context, strings), length).astype(np.float64)


def _columns(clusters: Sequence[Cluster]) -> dict[str, int]:
    """The strings of all clusters, each with the number of the last cluster that has it."""
    return {string: column for column, cluster in enumerate(clusters) for string in cluster.answers}


def _texts(context: str, strings: Sequence[str]) -> list[str]:
    return [f"{context} {string}" for string in strings]


def assigned(values: Floats) -> Floats:
    """The similarity: 1.0 for the cluster of each answer, that of its largest value, if it is above LEAST_VALUE.

    Of equal values the last counts, as published. Both arrays have the shape (answers, clusters).
    """
    similarity = np.zeros_like(values)
    if values.size:
        columns = values.shape[1] - 1 - np.argmax(values[:, ::-1], axis=1)
        rows = np.flatnonzero(values.max(axis=1) > LEAST_VALUE)
        similarity[rows, columns[rows]] = 1.0
    return similarity


@lru_cache(maxsize=1)
def encoder_similarity(folder: Path) -> EncoderSimilarity:
    """The similarity with the encoder in `folder`, loaded once; in float32 everywhere, so that scores are equal."""
    # Here, not above: models take long to load, and scores by strings do without them.
    from nightjar.search.encoder import SentenceEncoder

    if (folder / RECORD).exists():
        what = "an encoder of another package, which gives vectors of whole texts, not of an answer in its context"
        raise NightjarError(what, folder, f"give the folder of a model, such as {paths.SENTENCE_ENCODER}")
    return EncoderSimilarity(SentenceEncoder(folder, device="cpu"))
