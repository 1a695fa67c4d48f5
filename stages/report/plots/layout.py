"""Place the nodes of a small acyclic graph in layers, top to bottom, with few crossings.

The usual three steps: a layer for every node (as late as its readers allow, so that edges are short),
places on the way for edges that skip layers, and an order in every layer by the mean place of the
neighbours.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from nightjar.core.errors import NightjarError

_SWEEPS = 12


@dataclass(frozen=True)
class Layout:
    """x of the middle, and the number of the layer; a way is the places that an edge runs through."""

    places: dict[str, tuple[float, int]]
    ways: list[list[tuple[float, int]]]
    width: float
    layers: int


def layers(sources: dict[str, set[str]]) -> dict[str, int]:
    """Each node as low as its readers allow, counted from the top. Raises NightjarError on a circle."""
    readers: dict[str, set[str]] = {name: set() for name in sources}
    for name, direct in sources.items():
        for one in direct:
            readers[one].add(name)
    heights: dict[str, int] = {}
    waiting = set(sources)
    while waiting:
        ready = {name for name in waiting if not readers[name] & waiting}
        if not ready:
            raise NightjarError(
                "the stages read from one another in a circle", sorted(waiting), "mend dvc.yaml"
            )
        for name in ready:
            heights[name] = 1 + max((heights[reader] for reader in readers[name]), default=-1)
        waiting -= ready
    top = max(heights.values(), default=0)
    return {name: top - height for name, height in heights.items()}


def layout(sources: dict[str, set[str]], node_width: float, gap: float, way_width: float) -> Layout:
    """Places for nodes `node_width` wide and `gap` apart; an edge that passes takes `way_width`."""
    level = layers(sources)
    rows: list[list[str]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for name in sorted(level):
        rows[level[name]].append(name)
    ups: dict[str, list[str]] = {}
    downs: dict[str, list[str]] = {}
    chains: list[list[str]] = []
    for name in sorted(sources):
        for one in sorted(sources[name]):
            between = [f"{one}\x1f{name}\x1f{number}" for number in range(level[one] + 1, level[name])]
            for number, place in enumerate(between, start=level[one] + 1):
                rows[number].append(place)
            chain = [one, *between, name]
            chains.append(chain)
            for upper, lower in itertools.pairwise(chain):
                downs.setdefault(upper, []).append(lower)
                ups.setdefault(lower, []).append(upper)
    best, fewest = [list(row) for row in rows], _crossings(rows, downs)
    for sweep in range(_SWEEPS):
        _sweep(rows, ups if sweep % 2 == 0 else downs, forward=sweep % 2 == 0)
        crossed = _crossings(rows, downs)
        if crossed < fewest:
            best, fewest = [list(row) for row in rows], crossed
    return _place(best, chains, set(sources), (node_width, gap, way_width))


def _sweep(rows: list[list[str]], neighbours: dict[str, list[str]], forward: bool) -> None:
    ordered = range(1, len(rows)) if forward else range(len(rows) - 2, -1, -1)
    for number in ordered:
        before = {name: at for at, name in enumerate(rows[number - 1 if forward else number + 1])}
        middle = {}
        for at, name in enumerate(rows[number]):
            near = [before[other] for other in neighbours.get(name, [])]
            middle[name] = sum(near) / len(near) if near else float(at)
        rows[number].sort(key=lambda name: middle[name])


def _crossings(rows: list[list[str]], downs: dict[str, list[str]]) -> int:
    count = 0
    for upper, lower in itertools.pairwise(rows):
        at = {name: place for place, name in enumerate(lower)}
        ends = [at[other] for name in upper for other in sorted(downs.get(name, []), key=lambda one: at[one])]
        count += sum(a > b for number, a in enumerate(ends) for b in ends[number + 1 :])
    return count


def _place(
    rows: list[list[str]], chains: list[list[str]], real: set[str], sizes: tuple[float, float, float]
) -> Layout:
    node_width, gap, way_width = sizes
    widths = [[node_width if name in real else way_width for name in row] for row in rows]
    total = max((sum(row) + gap * (len(row) - 1) for row in widths), default=0.0)
    places: dict[str, tuple[float, int]] = {}
    for number, (row, across) in enumerate(zip(rows, widths, strict=True)):
        left = (total - sum(across) - gap * (len(row) - 1)) / 2
        for name, width in zip(row, across, strict=True):
            places[name] = (left + width / 2, number)
            left += width + gap
    ways = [[places[name] for name in chain] for chain in chains]
    return Layout({name: place for name, place in places.items() if name in real}, ways, total, len(rows))
