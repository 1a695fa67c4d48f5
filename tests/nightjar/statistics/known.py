"""Made parts of two systems for every statistic, and what scipy 1.17.1 gives for them.

`p` is scipy.stats.permutation_test(permutation_type="samples", n_resamples=inf) over the first 12 instances;
`interval` and `difference` are scipy.stats.bootstrap(method="percentile", n_resamples=100_000, confidence_level=0.9)
over all 60, paired; `error` is the bootstrap standard error of the difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nightjar.statistics.statistic import Floats, Statistic, geometric_mean, matthews, mean, perplexity


@dataclass(frozen=True)
class Known:
    statistic: Statistic
    a: Floats
    b: Floats
    p: float
    interval: tuple[float, float]
    difference: tuple[float, float]
    error: float


def known(n: int = 60) -> list[Known]:
    i = np.arange(n)
    gold = i * 7 % 3
    one = np.where(i * 13 % 10 < 6, gold, i * 5 % 3)
    two = np.where(i * 17 % 10 < 5, gold, i * 11 % 3)
    labels = [np.stack([each, gold], axis=1).astype(float) for each in (one, two)]
    first = (i[:, None] * np.array([37, 59, 83]) + 11) % 101 / 100
    second = (i[:, None] * np.array([41, 67, 29]) + 5) % 97 / 140
    tokens = 5 + i * 23 % 40
    losses = [tokens * (0.5 + i * 31 % 50 / 25), tokens * (0.6 + i * 43 % 50 / 25)]
    texts = [np.stack([loss, tokens], axis=1) for loss in losses]
    return [
        Known(matthews, *labels, 0.078125, (0.4508, 0.7393), (-0.149, 0.3478), 0.15),
        Known(geometric_mean, first, second, 0.013671875, (0.4713, 0.5429), (0.1333, 0.211), 0.0236),
        Known(perplexity, *texts, 0.5908203125, (3.8895, 5.0893), (-1.4443, -0.0419), 0.425),
        Known(mean, first[:, :1], second[:, :1], 0.2138671875, (0.442, 0.566), (0.0971, 0.2366), 0.0424),
    ]
