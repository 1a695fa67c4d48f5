"""The rule that decides what is shown of few instances, and which differences are significant.

It holds for each number by itself. A number over fewer than MINIMUM instances has no interval and no p; `too_few` is
shown in their place. The mean of several tasks counts the instances of all of them, whatever a single task has.
"""

from __future__ import annotations

# Below so many instances percentiles of resamples are too narrow to be shown as an interval: the resamples repeat the
# few values that were drawn.
MINIMUM = 20


def enough(n: int) -> bool:
    """Whether `n` instances are enough for an interval and a p."""
    return n >= MINIMUM


def seen(p: float | None, n: int, confidence: float) -> bool:
    """Whether a difference is significant: its two-sided `p` over `n` instances is at most 1 - confidence.

    `confidence` is that of the intervals shown beside it, such as 0.95. Fewer than MINIMUM instances never suffice.
    """
    # 1 - 0.95 is a little above 0.05, 1 - 0.99 a little below 0.01.
    return p is not None and enough(n) and p <= 1 - confidence + 1e-12


def too_few(n: int) -> str:
    """What is shown in place of an interval or a p over `n` instances that is missing."""
    return "–" if enough(n) else f"n<{MINIMUM}"
