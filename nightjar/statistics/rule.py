"""The rule that decides what is shown of few instances, and which differences count as seen."""

from __future__ import annotations

# Below so many instances percentiles of resamples are too narrow to be shown as an interval: the resamples repeat the
# few values that were drawn. `nightly.minimum_instances` has the same default.
MINIMUM = 20


def enough(n: int) -> bool:
    """Whether `n` instances are enough for an interval, and for a difference to count as seen."""
    return n >= MINIMUM


def seen(p: float, n: int, confidence: float) -> bool:
    """Whether a difference with two-sided `p` over `n` instances counts as seen: p <= 1 - confidence, n >= MINIMUM.

    `confidence` is that of the intervals shown beside it, such as 0.95.
    """
    # 1 - 0.95 is a little above 0.05, 1 - 0.99 a little below 0.01.
    return enough(n) and p <= 1 - confidence + 1e-12


def too_few(n: int) -> str:
    """What tables show in place of the interval over `n` instances, fewer than MINIMUM."""
    return f"n = {n}, too few"
