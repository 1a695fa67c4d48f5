"""Metrics of other harnesses by their names: which statistic makes the published number, and which way is better.

A metric is a mean of one number a document, but for perplexities: exp(total loss / total tokens), whose parts have the
names NAME:loss and NAME:tokens here. Metrics whose values are all from 0 to 1 are in percent, as everywhere in
Nightjar; others are in their own unit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

from nightjar.statistics import Metric, perplexity

LOSS, TOKENS = ":loss", ":tokens"
# lm-evaluation-harness: exp(-mean log-likelihood), and the same for a word or a byte.
PERPLEXITIES = ("perplexity", "word_perplexity", "byte_perplexity")
LOWER_IS_BETTER = frozenset(
    {*PERPLEXITIES, "bits_per_byte", "brier_score", "ter", "wer", "cer", "mae", "mse", "rmse", "loss"}
)
UNBOUNDED = (-math.inf, math.inf)


def loss_parts(name: str, log_likelihood: float, tokens: float) -> dict[str, float]:
    """Return the parts of a perplexity for one document."""
    return {f"{name}{LOSS}": -log_likelihood, f"{name}{TOKENS}": tokens}


def fractions(values: Iterable[tuple[str, float]]) -> set[str]:
    """Return the parts of metrics whose `values`, each with the part's name, are all from 0 to 1."""
    parts: dict[str, bool] = {}
    for part, value in values:
        parts[part] = parts.get(part, True) and 0 <= value <= 1
    return {part for part, within in parts.items() if within}


def metrics_of(
    parts: Collection[str], fractions: Collection[str], higher_is_better: Mapping[str, bool]
) -> list[Metric]:
    """Return the metrics that have these parts. `fractions` are the parts whose values are all from 0 to 1.

    `higher_is_better` decides where it names a metric, and LOWER_IS_BETTER elsewhere.
    """
    metrics = []
    for part in sorted(parts):
        if part.endswith(TOKENS):
            continue
        name = part.removesuffix(LOSS)
        better = higher_is_better.get(name, name not in LOWER_IS_BETTER)
        if name != part:
            pair = (part, f"{name}{TOKENS}")
            metrics.append(
                Metric(name, name, pair, perplexity, (0.0, math.inf), 1.0, higher_is_better=False, decimals=6)
            )
        elif part in fractions:
            metrics.append(Metric(name, name, higher_is_better=better))
        else:
            metrics.append(
                Metric(name, name, range=UNBOUNDED, scale=1.0, higher_is_better=better, decimals=6)
            )
    return metrics
