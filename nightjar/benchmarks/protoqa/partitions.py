"""The best matching of two token lists over all their partitions, without listing the partitions (ProtoQA).

The published score of x and y is the maximum, over the partitions P of x and Q of y into contiguous groups, of
M(P, Q) / max(|P|, |Q|), where M is the weight of the best one-to-one matching of groups. Groups without a partner only
enlarge P and Q, so that all groups between two matched ones may be joined. The maximum is therefore, over all choices
of matched spans, W / (c + max(gaps of x, gaps of y)): W is the sum of their weights and c their number, and a gap is a
run of tokens in no span. A search from the left of x keeps for each set of used tokens of y the states that can still
exceed the best score found. Strings have few spans that match at all, and so few states.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

# A longer list has 2**20 partitions or more.
MOST_TOKENS = 20
# States at one place of x, for two lists of many equal tokens.
MOST_STATES = 50_000
_BEAM = 40


class Edge(NamedTuple):
    """A span of x, from `start` to before `end`, that matches a span of y, a bit for each token, with a weight."""

    start: int
    end: int
    mask: int
    weight: float


class _State(NamedTuple):
    mask: int
    in_gap: bool
    gaps: int
    matched: int


class TooManyStates(Exception):
    """The search was too large; `best` is the largest score that it found."""

    def __init__(self, best: float) -> None:
        self.best = best
        super().__init__(f"more than {MOST_STATES} states")


def best_score(n: int, m: int, edges: Sequence[Edge]) -> float:
    """The score of lists of n and m tokens whose spans match as `edges` say; weights are above 0 and at most 1.

    Raises TooManyStates for lists of which too many parts match in too many ways.
    """
    if not edges:
        return 0.0
    search = _Search(n, m, edges)
    best = search.run(0.0, _BEAM)
    return best if best == 1.0 else search.run(best, None)


class _Search:
    def __init__(self, n: int, m: int, edges: Sequence[Edge]) -> None:
        self.n, self.m, self.full = n, m, (1 << m) - 1
        self.by_start: list[list[Edge]] = [[] for _ in range(n)]
        for edge in edges:
            self.by_start[edge.start].append(edge)
        # From each place of x: the tokens of y that can still be used.
        # `gains`: the largest weights of the spans that begin later, summed up from the largest.
        self.reach, self.gains = [0] * (n + 1), [[0.0]] * (n + 1)
        largest: list[float] = []
        for place in range(n - 1, -1, -1):
            here = self.by_start[place]
            if here:
                largest = sorted([*largest, max(edge.weight for edge in here)], reverse=True)
            self.gains[place] = list(accumulate(largest, initial=0.0))
            self.reach[place] = self.reach[place + 1]
            for edge in here:
                self.reach[place] |= edge.mask

    def run(self, best: float, width: int | None) -> float:
        """The largest score above `best`, or `best`; with a width only the most promising states are kept."""
        levels: list[dict[_State, float]] = [{} for _ in range(self.n + 1)]
        levels[0][_State(0, False, 0, 0)] = 0.0
        for place in range(self.n):
            states, levels[place] = levels[place], {}
            bounded = {state: self._bound(place, state, weight) for state, weight in states.items()}
            kept = [state for state, bound in bounded.items() if bound > best]
            if width is not None:
                kept = sorted(kept, key=lambda state: -bounded[state])[:width]
            elif len(kept) > MOST_STATES:
                raise TooManyStates(best)
            for state in kept:
                self._extend(levels, place, state, states[state])
        return max([best, *(self._score(state, weight) for state, weight in levels[self.n].items())])

    def _extend(
        self, levels: Sequence[dict[_State, float]], place: int, state: _State, weight: float
    ) -> None:
        mask, in_gap, gaps, matched = state
        _keep(levels[place + 1], _State(mask, True, gaps + (not in_gap), matched), weight)
        for edge in self.by_start[place]:
            if not edge.mask & mask:
                after = _State(mask | edge.mask, False, gaps, matched + 1)
                _keep(levels[edge.end], after, weight + edge.weight)

    def _score(self, state: _State, weight: float) -> float:
        return weight / (state.matched + max(state.gaps, _runs(self.full & ~state.mask))) if weight else 0.0

    def _bound(self, place: int, state: _State, weight: float) -> float:
        """No completion of the state has a larger score."""
        unused, gains = self.full & ~state.mask, self.gains[place]
        more = min(len(gains) - 1, (unused & self.reach[place]).bit_count())
        size = state.matched + max(state.gaps, _runs_with(unused, unused & ~self.reach[place]))
        # With weights of 1 another match never lowers the score.
        least = more if gains[more] == more else 0
        return max(
            (weight + gains[count]) / (size + count) if size + count else 1.0
            for count in range(least, more + 1)
        )


def _keep(level: dict[_State, float], state: _State, weight: float) -> None:
    if level.get(state, -1.0) < weight:
        level[state] = weight


def _runs(bits: int) -> int:
    """The number of runs of ones."""
    return (bits & ~(bits << 1)).bit_count()


def _runs_with(bits: int, some: int) -> int:
    """The number of runs of ones in `bits` of which at least one bit is in `some`."""
    # Adding the lowest bit of a run carries through it: the runs that are left have none of it.
    count = 0
    while bits:
        low = bits & -bits
        rest = bits & (bits + low)
        count += bool((bits ^ rest) & some)
        bits = rest
    return count
