"""Statistics of instances: what a benchmark reports, and what is resampled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

# (draws, n, parts) -> (draws,): the parts are the numbers that are kept for each instance.
Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of the only part."""
    means: NDArray[np.float64] = values[:, :, 0].mean(axis=1)
    return means
