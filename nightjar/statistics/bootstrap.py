"""Means in percent and their bootstrap intervals.

Every interval has its own random stream, derived from what it is the interval of, so that no result depends on the
order of work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DECIMALS = 4
# Draws at a time: 32 MB of indices and values.
_DRAWS = 2_000_000


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are made: `samples` resamples, percentiles that enclose `confidence` of them."""

    seed: int
    samples: int
    confidence: float

    def interval(self, values: NDArray[np.float64], *of: str) -> tuple[float, float]:
        """Low and high end for the mean of `values`, resampled with replacement; `of` names the cell."""
        rng = self.stream(*of)
        n = len(values)
        means = np.empty(self.samples)
        step = max(1, _DRAWS // n)
        for start in range(0, self.samples, step):
            count = min(step, self.samples - start)
            means[start : start + count] = values[rng.integers(0, n, size=(count, n))].mean(axis=1)
        return self.ends(means)

    def stream(self, *of: str) -> np.random.Generator:
        """The random numbers of the cell that `of` names."""
        name = "\x1f".join([str(self.seed), *of])
        return np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "big"))

    def ends(self, resampled: NDArray[np.float64]) -> tuple[float, float]:
        """The percentiles that enclose `confidence` of the resampled values."""
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(resampled, [tail, 1 - tail])
        return float(low), float(high)


def percent(values: Sequence[float] | NDArray[np.float64]) -> float:
    """100 x mean, rounded to 4 decimals; summed one after another, as the published evaluator does."""
    return round(100.0 * sum(np.asarray(values).tolist()) / len(values), DECIMALS)


def percentage(fraction: float) -> float:
    """In percent, rounded to 4 decimals."""
    return round(100.0 * fraction, DECIMALS)
