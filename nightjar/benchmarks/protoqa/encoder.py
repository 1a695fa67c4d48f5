"""The encoder similarity: Gaussian processes decide from an answer's states which cluster it belongs to (ProtoQA).

The vector of a string is the mean of its tokens' states after the question, less the mean of the strings of the
question's clusters, at unit length. For each cluster a Gaussian process with an RBF kernel learns from all these
strings which of them are in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.capabilities import Floats
from nightjar.benchmarks.protoqa.clusters import Cluster, cleaned, clusters_of
from nightjar.benchmarks.question import Question
from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.search.encoders import RECORD

if TYPE_CHECKING:
    from nightjar.search.encoder import SentenceEncoder

# An answer belongs to the best cluster only above this probability (Boratko et al. 2020).
LEAST_PROBABILITY = 0.1
# Of the kernel, for vectors of unit length. The paper gives none. With these, 71% of the strings of every third
# development question are assigned to their own cluster by the other three quarters of its strings; with values that
# maximise the marginal likelihood 56%, in six times the time, and with a variance of 1 55%.
_VARIANCE, _LENGTH_SCALE = 10.0, 1.0


class Fitted(NamedTuple):
    """What the strings of a question's clusters give: their mean, and a classifier for each cluster.

    A cluster without a classifier, which is None, has no string or all strings.
    """

    mean: Floats
    classifiers: tuple[Any, ...]


class EncoderSimilarity:
    """Which cluster of its question each answer belongs to, by a sentence encoder.

    The classifiers of a question are made once and kept, and so are the probabilities of each list.
    """

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._encoder = encoder

    def probabilities(self, question: Question, answers: Sequence[str]) -> Floats:
        """The probability of each answer, cleaned already, to belong to each cluster: shape (answers, clusters).

        A string of a cluster, cleaned as well, belongs to each cluster that has it with 1, to others with
        0. A blank answer belongs to none. A cluster that has all strings of the question, such as the only
        cluster, has only its strings: nothing distinguishes them from others.
        """
        text, clusters = str(question.parts["question"]), clusters_of(question.parts)
        distinct = tuple(dict.fromkeys(answers))
        rows = dict(zip(distinct, self._probabilities(text, clusters, distinct), strict=True))
        return np.array([rows[answer] for answer in answers]).reshape(len(answers), len(clusters))

    @cache  # noqa: B019 - one similarity a process
    def _probabilities(self, text: str, clusters: tuple[Cluster, ...], answers: tuple[str, ...]) -> Floats:
        strings = [frozenset(map(cleaned, it.answers)) - {""} for it in clusters]
        found = np.array([[float(one in it) for it in strings] for one in answers])
        found = found.reshape(len(answers), len(clusters))
        others = [row for row, one in enumerate(answers) if one and not found[row].any()]
        if not others:
            return found
        fitted = self._fit(text, clusters)
        vectors = _unit(self._encode(text, [answers[row] for row in others]) - fitted.mean)
        for column, classifier in enumerate(fitted.classifiers):
            if classifier is not None:
                found[others, column] = classifier.predict_proba(vectors)[:, 1]
        return found

    @cache  # noqa: B019
    def _fit(self, text: str, clusters: tuple[Cluster, ...]) -> Fitted:
        strings = tuple(dict.fromkeys(one for it in clusters for one in it.answers if one.strip()))
        vectors = self._encode(text, strings)
        mean = vectors.mean(axis=0) if strings else np.zeros(1)
        inside = (np.array([one in it.answers for one in strings]) for it in clusters)
        return Fitted(mean, tuple(_classifier(_unit(vectors - mean), members) for members in inside))

    def _encode(self, text: str, strings: Sequence[str]) -> Floats:
        return self._encoder.encode_in_context([text] * len(strings), strings).astype(np.float64)


def assigned(probabilities: Floats) -> Floats:
    """The similarity: 1.0 for the most probable cluster of each answer, or several equally probable ones, if it has
    more than LEAST_PROBABILITY, else 0.0. Both of shape (answers, clusters).
    """
    best = probabilities.max(axis=1, keepdims=True, initial=0.0)
    return ((probabilities == best) & (best > LEAST_PROBABILITY)).astype(np.float64)


@lru_cache(maxsize=1)
def encoder_similarity(folder: Path) -> EncoderSimilarity:
    """The similarity with the encoder in `folder`, loaded once; in float32 on every machine, so that scores are equal.

    Raises NightjarError if there is none, or it gives vectors of whole texts only.
    """
    # Here, not above: models take long to load, and scores by strings do without them.
    from nightjar.search.encoder import SentenceEncoder

    if (folder / RECORD).exists():
        what = "an encoder of another package, which gives vectors of whole texts, not of an answer in its context"
        raise NightjarError(what, folder, f"give the folder of a model, such as {paths.SENTENCE_ENCODER}")
    return EncoderSimilarity(SentenceEncoder(folder, device="cpu"))


def _classifier(vectors: Floats, inside: NDArray[np.bool_]) -> Any:
    """A Gaussian process for one cluster; None where all strings are in it, or none is."""
    # Here, not above: scikit-learn takes long to load.
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    if inside.all() or not inside.any():
        return None
    kernel = ConstantKernel(_VARIANCE) * RBF(_LENGTH_SCALE)
    return GaussianProcessClassifier(kernel, optimizer=None).fit(vectors, inside)


def _unit(vectors: Floats) -> Floats:
    """The vectors at unit length; one of zeros remains."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)
