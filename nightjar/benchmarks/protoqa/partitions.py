"""The best matching of two token lists over all their partitions, without listing the partitions (ProtoQA).

The published score of x and y is the maximum, over the partitions P of x and Q of y into contiguous groups, of
M(P, Q) / max(|P|, |Q|), where M is the size of the largest one-to-one matching of groups. Groups without a partner only
enlarge P and Q, so that all groups between two matched ones may be joined. The maximum is therefore, over all choices
of c matched spans, c / (c + max(gaps of x, gaps of y)), where a gap is a run of tokens in no span. A search from the
left of x keeps for each set of used tokens of y the states that can still exceed the best score found. Strings have few
spans that match at all, and so few states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# A longer list has 2**20 partitions or more.
MOST_TOKENS = 20
# States at one place of x, for two lists of many equal tokens.
MOST_STATES = 50_000
_BEAM = 40


class Edge(NamedTuple):
    """A span of x, from `start` to before `end`, that matches a span of y, a bit for each token."""

    start: int
    end: int
    mask: int


class _State(NamedTuple):
    mask: int
    in_gap: bool
    gaps: int
    matched: int


class TooManyStates(Exception):
    """The search had more than `most` states; `best` is the largest score that it found."""

    def __init__(self, best: float, state_limit: int) -> None:
        self.best = best
        super().__init__(f"more than {state_limit} states")


def best_score(n: int, m: int, edges: Sequence[Edge], state_limit: int = MOST_STATES) -> float:
    """The score of lists of n and m tokens whose spans match as `edges` say.

    Raises TooManyStates for lists whose parts match in so many ways that a place has more than `state_limit` states.
    """
    if not edges:
        return 0.0
    search = _Search(n, m, edges, state_limit)
    best = search.run(0.0, _BEAM)
    return best if best == 1.0 else search.run(best, None)


class _Search:
    def __init__(self, n: int, m: int, edges: Sequence[Edge], state_limit: int) -> None:
        self.n, self.m, self.full, self.state_limit = n, m, (1 << m) - 1, state_limit
        self.by_start: list[list[Edge]] = [[] for _ in range(n)]
        for edge in edges:
            self.by_start[edge.start].append(edge)
        # From each place of x: the tokens of y that can still be used, and how many spans may still begin.
        self.reach, self.spans_left = [0] * (n + 1), [0] * (n + 1)
        for place in range(n - 1, -1, -1):
            place_edges = self.by_start[place]
            self.spans_left[place] = self.spans_left[place + 1] + bool(place_edges)
            self.reach[place] = self.reach[place + 1]
            for edge in place_edges:
                self.reach[place] |= edge.mask

    def run(self, best: float, width: int | None) -> float:
        """The largest score above `best`, or `best`; with a width only the most promising states are kept."""
        # Dictionaries and not sets, for their order.
        levels: list[dict[_State, None]] = [{} for _ in range(self.n + 1)]
        levels[0][_State(0, False, 0, 0)] = None
        for place in range(self.n):
            states, levels[place] = levels[place], {}
            bounded = {state: self._bound(place, state) for state in states}
            candidates = [state for state, bound in bounded.items() if bound > best]
            if width is not None:
                candidates = sorted(candidates, key=lambda state: -bounded[state])[:width]
            elif len(candidates) > self.state_limit:
                raise TooManyStates(best, self.state_limit)
            for state in candidates:
                mask, in_gap, gaps, matched = state
                levels[place + 1][_State(mask, True, gaps + (not in_gap), matched)] = None
                for edge in self.by_start[place]:
                    if not edge.mask & mask:
                        levels[edge.end][_State(mask | edge.mask, False, gaps, matched + 1)] = None
        return max([best, *map(self._score, levels[self.n])])

    def _score(self, state: _State) -> float:
        groups = state.matched + max(state.gaps, _runs(self.full & ~state.mask))
        return state.matched / groups if state.matched else 0.0

    def _bound(self, place: int, state: _State) -> float:
        """No completion of the state has a larger score: another match never lowers it."""
        unused = self.full & ~state.mask
        more = min(self.spans_left[place], (unused & self.reach[place]).bit_count())
        size = state.matched + max(state.gaps, _runs_with(unused, unused & ~self.reach[place]))
        return (state.matched + more) / (size + more) if size + more else 1.0


def _runs(bits: int) -> int:
    """The number of runs of ones."""
    return (bits & ~(bits << 1)).bit_count()


def _runs_with(bits: int, mask: int) -> int:
    """The number of runs of ones in `bits` of which at least one bit is in `mask`."""
    # Adding the lowest bit of a run carries through it: the runs that are left have none of it.
    count = 0
    while bits:
        low = bits & -bits
        remaining_bits = bits & (bits + low)
        count += bool((bits ^ remaining_bits) & mask)
        bits = remaining_bits
    return count
