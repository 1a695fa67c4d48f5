"""Agreement of several judges on nominal labels: raw agreement and Krippendorff's alpha."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def raw_agreement(items: Sequence[Sequence[str]]) -> float | None:
    """Share of the pairs of judges that gave an item the same label, as a mean over items with two judges or more.

    None if there is no such item.
    """
    shares = []
    for labels in items:
        n = len(labels)
        if n > 1:
            same = sum(count * (count - 1) for count in Counter(labels).values())
            shares.append(same / (n * (n - 1)))
    return sum(shares) / len(shares) if shares else None


def nominal_alpha(items: Sequence[Sequence[str]]) -> float | None:
    """Krippendorff's alpha for nominal labels: 1 - observed / expected disagreement; items may lack judges.

    1 is full agreement, 0 what chance gives, less is worse than chance. None where it is not defined: no item has
    two labels, or all labels are the same.
    """
    together = [Counter(labels) for labels in items if len(labels) > 1]
    totals: Counter[str] = Counter()
    observed = 0.0
    for counts in together:
        totals.update(counts)
        n = counts.total()
        observed += (n * n - sum(count * count for count in counts.values())) / (n - 1)
    n = totals.total()
    expected = n * n - sum(count * count for count in totals.values())
    if not expected:
        return None
    return 1.0 - (n - 1) * observed / expected
