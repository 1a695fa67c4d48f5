"""Exact match, ROUGE-1 and ROUGE-L of Super-NaturalInstructions (compute_metrics.py), equal to the published values.

English: rouge_score's F-measure with Porter stemming. Cross-lingual: the same over GPT-2 byte-level BPE tokens without
their leading "Ġ", neither lower-cased nor stemmed. The texts of a chunk are cut together (`token_sequences`), and the
subsequences of all its pairs are found in one call of rapidfuzz.
"""

from __future__ import annotations

import itertools
import string
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import LCSseq

from nightjar.core.arguments import check_list
from nightjar.core.errors import NightjarError
from nightjar.text import token_sequences

METRICS = ("exact_match", "rouge1", "rougeL")
XLINGUAL = "xlingual"
# Letters of a chunk, enough that its fixed costs do not count. It needs some 30 bytes a letter.
CHUNK = 1_000_000

_PUNCTUATION = str.maketrans("", "", string.punctuation)
# All bytes but those of lower-case letters and digits.
_OTHERS = bytes(set(range(256)) - set(f"{string.ascii_lowercase}{string.digits}".encode()))


@dataclass(frozen=True)
class Scores:
    """One value from 0 to 1 for every prediction and metric; arrays of float64, all of one length."""

    exact_match: NDArray[np.float64]
    rouge1: NDArray[np.float64]
    rougeL: NDArray[np.float64]  # the metric's published name


def normalise(text: str) -> str:
    """The form that exact match compares: lower case, no ASCII punctuation, single blanks. Articles stay."""
    return " ".join(text.lower().translate(_PUNCTUATION).split())


def score(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    track: str = "default",
    letters: int = CHUNK,
) -> Scores:
    """Scores of predictions against one or more references each, the best reference chosen for each metric.

    `track` "xlingual" takes the cross-lingual tokens, any other the English ones. About `letters` letters are compared
    at a time. Raises NightjarError if a prediction
    has no reference, or one of both is a single text.
    """
    check_list(predictions, "predictions")
    for texts in references:
        check_list(texts, "references")
    if len(predictions) != len(references) or not all(references):
        what = f"{len(predictions)} predictions, and {sum(map(bool, references))} lists of references"
        raise NightjarError(what, "score", "every prediction needs at least one reference")
    chunks = [
        _chunk(predictions[part], references[part], track)
        for part in _parts(predictions, references, letters)
    ]
    return Scores(*np.concatenate([np.empty((len(METRICS), 0)), *chunks], axis=1))


def _parts(
    predictions: Sequence[str], references: Sequence[Sequence[str]], letter_limit: int
) -> Iterator[slice]:
    """Runs of pairs of about `letter_limit` letters."""
    start = letters = 0
    for place, (text, group) in enumerate(zip(predictions, references, strict=True), start=1):
        letters += len(text) + sum(map(len, group))
        if letters >= letter_limit or place == len(predictions):
            yield slice(start, place)
            start, letters = place, 0


def _chunk(
    predictions: Sequence[str], references: Sequence[Sequence[str]], track: str
) -> NDArray[np.float64]:
    """The scores of some pairs, shape (metrics, pairs)."""
    counts = np.fromiter(map(len, references), np.int64, len(references))
    flat = list(itertools.chain.from_iterable(references))
    texts, places = _distinct([*predictions, *flat])
    predicted, gold = np.repeat(places[: len(predictions)], counts), places[len(predictions) :]

    cut = (token_sequences.bpe if track == XLINGUAL else token_sequences.words)(texts)
    sizes = cut.sizes[predicted], cut.sizes[gold]
    in_order = _overlap(cut.sequences(), predicted, gold)
    # What two texts share as multisets is the longest common subsequence of their sorted tokens. It is at least
    # the one in the written order, and nothing if that is nothing.
    shared = in_order.copy()
    open_pairs = np.flatnonzero((in_order > 0) & (in_order < np.minimum(*sizes)))
    if len(open_pairs):
        predicted_places, gold_places = predicted[open_pairs], gold[open_pairs]
        selected = np.zeros(len(texts), np.bool_)
        selected[predicted_places] = selected[gold_places] = True
        shared[open_pairs] = _overlap(cut.sorted_sequences(selected), predicted_places, gold_places)
    values = np.stack([_equal(texts, predicted, gold), _f(shared, *sizes), _f(in_order, *sizes)])
    return np.maximum.reduceat(values, np.cumsum(counts) - counts, axis=1)


def _distinct(all_texts: list[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct texts, plain ASCII first, for those are cut together; and for each text its place there."""
    numbers, texts = token_sequences.numbered(all_texts, len(all_texts))
    plain = np.fromiter(map(str.isascii, texts), np.bool_, len(texts))
    order = np.concatenate([np.flatnonzero(plain), np.flatnonzero(~plain)])
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return [texts[number] for number in order.tolist()], places[numbers]


def _overlap(
    sequences: token_sequences.Sequences, predicted: NDArray[np.int64], gold: NDArray[np.int64]
) -> NDArray[np.int64]:
    lengths: NDArray[np.int64] = process.cpdist(
        [sequences[place] for place in predicted.tolist()],
        [sequences[place] for place in gold.tolist()],
        scorer=LCSseq.similarity,
        dtype=np.int64,
    )
    return lengths


def _equal(texts: list[str], predicted: NDArray[np.int64], gold: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which pairs match exactly. Few have the same letters and digits; only those are looked at more closely."""
    plain_bytes = [text.lower().encode("utf-8", "surrogatepass").translate(None, _OTHERS) for text in texts]
    pairs = zip(predicted.tolist(), gold.tolist(), strict=True)
    return np.array(
        [
            plain_bytes[a] == plain_bytes[b] and (a == b or normalise(texts[a]) == normalise(texts[b]))
            for a, b in pairs
        ]
    )


def _f(
    overlap: NDArray[np.int64], predicted: NDArray[np.int64], gold: NDArray[np.int64]
) -> NDArray[np.float64]:
    """F-measure, the operations in the published order, so that not even the last bit differs."""
    precision = overlap / np.maximum(predicted, 1)
    recall = overlap / np.maximum(gold, 1)
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros(len(total)), where=total > 0)


def score_by_script(
    answers: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact match and ROUGE-L of each answer, by the track whose tokens keep the letters of its references."""
    foreign = np.array([not is_english(texts) for texts in references])
    values = np.empty((2, len(answers)))
    for track, selected in (("default", ~foreign), (XLINGUAL, foreign)):
        places = np.flatnonzero(selected).tolist()
        scores = score(
            [answers[place] for place in places], [list(references[place]) for place in places], track
        )
        values[:, places] = scores.exact_match, scores.rougeL
    return values[0], values[1]


def is_english(texts: Iterable[str]) -> bool:
    """Return whether all letters and digits of the texts are in English tokens, runs of a-z and 0-9; each has one."""
    return all(letters and letters.isascii() for letters in map(_letters, texts))


def _letters(text: str) -> str:
    return "".join(sign for sign in text.lower() if unicodedata.category(sign)[0] in "LMN")
