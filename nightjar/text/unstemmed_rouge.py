"""ROUGE-1, ROUGE-2 and ROUGE-L of one answer without stemming, as the rouge_score package computes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from rapidfuzz.distance import LCSseq
from rouge_score.tokenize import tokenize

from nightjar.text.f1 import f_measure

ROUGE = ("rouge1", "rouge2", "rougeL")


def rouge(answer: str, references: Sequence[str]) -> tuple[float, float, float]:
    """F-measures of ROUGE-1, ROUGE-2 and ROUGE-L of rouge-score without stemming, each the maximum over references."""
    predicted = _words(answer)
    unigram, bigram, longest = zip(
        *(_rouge(predicted, _words(reference)) for reference in references), strict=True
    )
    return max(unigram), max(bigram), max(longest)


def _words(text: str) -> list[str]:
    return list(tokenize(text, None))


def _rouge(predicted: Sequence[str], gold: Sequence[str]) -> tuple[float, float, float]:
    if not predicted or not gold:
        return 0.0, 0.0, 0.0
    numbers = {word: number for number, word in enumerate(dict.fromkeys((*predicted, *gold)))}
    common = LCSseq.similarity([numbers[word] for word in predicted], [numbers[word] for word in gold])
    return (
        _overlap(Counter(predicted), Counter(gold)),
        _overlap(Counter(pairwise(predicted)), Counter(pairwise(gold))),
        f_measure(common, len(predicted), len(gold)),
    )


def _overlap(predicted: Counter, gold: Counter) -> float:
    return f_measure((predicted & gold).total(), predicted.total(), gold.total())
