"""Wu-Palmer similarity of synsets, as NLTK computes it (wup_similarity): how deep their lowest common hypernym lies."""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from itertools import product

from nightjar.benchmarks.protoqa.wordnet import WordNet

# The root above all synsets, where one of two is no noun: only nouns have a common root. Its name is before all others.
ROOT = "*ROOT*"


class WuPalmer:
    """2 d / (a + b), where d is the depth of the lowest common hypernym, and a and b those of the synsets below it."""

    def __init__(self, database: WordNet) -> None:
        self.database = database
        self._depths: dict[tuple[str, bool], int] = {}

    @lru_cache(maxsize=1_000_000)  # noqa: B019 - one object a process
    def strings(self, one: str, other: str) -> float:
        """The largest similarity of a synset of the one string and one of the other; 0.0 if there are none."""
        pairs = product(
            dict.fromkeys(self.database.synsets(one)), dict.fromkeys(self.database.synsets(other))
        )
        return max((self.synsets(*pair) for pair in pairs), default=0.0)

    @lru_cache(maxsize=1_000_000)  # noqa: B019
    def synsets(self, one: str, other: str) -> float:
        """The similarity of two synsets; 0.0 without a common hypernym. The order may matter, as in NLTK."""
        rooted = one[0] != "n" or other[0] != "n"
        above, beside = self._above(one), self._above(other)
        common = [ROOT] * rooted + [synset for synset in above if synset in beside]
        if not common:
            return 0.0
        deepest = max(self._depth(synset, False) for synset in common)
        lowest = [synset for synset in common if self._depth(synset, False) == deepest]
        chosen = one if one in lowest else min(lowest, key=self._name) if len(lowest) > 1 else lowest[0]
        depth = self._depth(chosen, True) + 1
        distances = self._distance(above, chosen, rooted) + self._distance(beside, chosen, rooted)
        return 2.0 * depth / (distances + 2 * depth)

    @lru_cache(maxsize=100_000)  # noqa: B019
    def _above(self, synset: str) -> dict[str, int]:
        """The synset and its hypernyms with the shortest distance to each."""
        queue, found = deque([(synset, 0)]), dict[str, int]()
        while queue:
            one, distance = queue.popleft()
            if one not in found:
                found[one] = distance
                queue.extend((it, distance + 1) for it in self.database.hypernyms(one))
        return found

    def _distance(self, above: dict[str, int], to: str, rooted: bool) -> int:
        """The shortest path to `to` by way of a common hypernym; the root is above the most distant one."""
        if to == ROOT:
            return max(above.values()) + 1
        beside = self._above(to)
        paths = [distance + beside[synset] for synset, distance in above.items() if synset in beside]
        if rooted:
            paths.append(max(above.values()) + max(beside.values()) + 2)
        return min(paths)

    def _depth(self, synset: str, longest: bool) -> int:
        """The longest or shortest path up to a synset without hypernyms; a synset that is above itself is skipped."""
        if synset == ROOT:
            return 0
        found = self._depths.get((synset, longest))
        if found is None:
            self._depths[synset, longest] = 0  # what a path meets again
            depths = [self._depth(it, longest) for it in self.database.hypernyms(synset)]
            found = 1 + (max if longest else min)(depths) if depths else 0
            self._depths[synset, longest] = found
        return found

    def _name(self, synset: str) -> str:
        return synset if synset == ROOT else self.database.name(synset)
