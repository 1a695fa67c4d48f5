"""The clusters of people's answers to a question, and what each system's ranked answers match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightjar.benchmarks.benchmark import Benchmark, Match
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.sections import Evaluated, cut
from nightjar.core import contracts, paths, tables
from nightjar.core.display import printable

# What is shown at most: clusters of a question, strings of a cluster, and answers of a list.
CLUSTERS, STRINGS, ANSWERS = 40, 40, 30
# Characters of a string.
_STRING = 80
# A match: the answer has a cluster; another answer of the list has the cluster that it is similar to; it has none.
HAS, REPEATS, NONE = "has", "repeats", "none"

Matches = Mapping[str, Sequence[Match]]


@dataclass(frozen=True)
class Clusters:
    """The matches of every list: by system, task and id those of each similarity, whose `titles` are given."""

    benchmark: Benchmark
    systems: Sequence[str]
    matches: Mapping[tuple[str, str, str], Matches]
    present: Sequence[str]

    @classmethod
    def read(cls, evaluated: Evaluated) -> Clusters | None:
        """Read the matches of a benchmark with clusters, None for another. Raises NightjarError without the table."""
        benchmark = evaluated.card
        if not benchmark.similarities:
            return None
        matches: dict[tuple[str, str, str], dict[str, list[Match]]] = {}
        # The rows of a list are in the order of their ranks.
        for row in tables.read_rows(evaluated.folder / paths.SCORES / evaluated.card.name, contracts.MATCHES):
            similarity_matches = matches.setdefault((row["system"], row["task_id"], row["id"]), {})
            similarity_matches.setdefault(row["similarity"], []).append(Match(row["cluster"], row["closest"]))
        present = [name for name in benchmark.similarities if any(name in it for it in matches.values())]
        return cls(benchmark, evaluated.systems, matches, present)

    @property
    def titles(self) -> list[str]:
        """The titles of the similarities that are present, the main one first."""
        return [self.benchmark.similarities[name] for name in self.present]

    def of(self, question: Question) -> dict[str, Any]:
        """The clusters, the largest first, and the matches of each system's list.

        A match is its state and the number of the cluster, 0 for none. `counted` says how many answers of a list the
        main metric counts.
        """
        clusters = sorted(question.parts["clusters"], key=lambda it: -it["count"])
        places = {it["id"]: place for place, it in enumerate(clusters, start=1)}
        lists = [self.matches.get((system, *question.key), {}) for system in self.systems]
        main = [cluster_list.get(self.present[0], ()) if self.present else () for cluster_list in lists]
        return {
            "labels": list(question.parts.get("labels", ())),
            "people": f"{sum(it['count'] for it in clusters):,g}",
            "clusters": [
                {
                    "count": it["count"],
                    "strings": [
                        printable(cut(text, _STRING)) or "(blank)" for text in it["answers"][:STRINGS]
                    ],
                    "more": max(0, len(it["answers"]) - STRINGS),
                }
                for it in clusters[:CLUSTERS]
            ],
            "smaller": max(0, len(clusters) - CLUSTERS),
            "counted": [self.benchmark.counted_answers(cluster_list) for cluster_list in main],
            "matches": [
                [
                    [_match(rank_match, places) for rank_match in cluster_list[name][:ANSWERS]]
                    for name in self.present
                    if name in cluster_list
                ]
                for cluster_list in lists
            ],
        }


def _match(match: Match, places: Mapping[str, int]) -> tuple[str, int]:
    id = match.cluster if match.cluster is not None else match.closest
    state = HAS if match.cluster is not None else NONE if id is None else REPEATS
    return state, 0 if id is None else places[id]
