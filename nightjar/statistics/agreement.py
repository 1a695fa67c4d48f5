"""Agreement of several judges on nominal labels (raw, Krippendorff's alpha), and of two clusterings (BLANC)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence


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


def blanc(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """BLANC of two clusterings of the same items, each given as the cluster of every item (Recasens & Hovy 2011).

    A pair of items is a link of a clustering that has both in one cluster, else a non-link. If a pairs are links of
    one, b of the other and c of both, F1 of the links is 2c / (a + b); for non-links likewise. BLANC is the mean of
    both, 1.0 for equal clusterings. If neither clustering has links, or neither has non-links, it is the F1 of the
    other kind; a kind that only one of them has has F1 0. None for fewer than two items.
    """
    cells = Counter(zip(first, second, strict=True))
    pairs = _pairs([len(first)])
    if not pairs:
        return None
    first_links, second_links = _pairs(Counter(first).values()), _pairs(Counter(second).values())
    both = _pairs(cells.values())
    # Pairs that are links of neither: all, less those of one or of the other.
    neither = pairs - first_links - second_links + both
    links = _f1(both, first_links, second_links)
    others = _f1(neither, pairs - first_links, pairs - second_links)
    defined = [f1 for f1 in (links, others) if f1 is not None]
    return sum(defined) / len(defined)


def _pairs(sizes: Iterable[int]) -> int:
    return sum(size * (size - 1) // 2 for size in sizes)


def _f1(common: int, first_pairs: int, second_pairs: int) -> float | None:
    return 2 * common / (first_pairs + second_pairs) if first_pairs + second_pairs else None
