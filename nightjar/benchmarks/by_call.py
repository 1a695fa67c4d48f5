"""The scores of answers with and without a tool call, and which tools they called (Toolformer, table 9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightjar.benchmarks.aggregate import by_track
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.scores import SystemScores
from nightjar.statistics import estimate

# The tools that each answer called, by (task_id, id); answers without a call are left out.
Called = Mapping[tuple[str, str], frozenset[str]]


@dataclass(frozen=True)
class ByCall:
    """The answers of a system to the questions of a track, by the track's first metric, in its unit.

    `with_call` and `without_call` are None where there are no such answers. `called` of `n` answers have a call;
    `tools` counts the answers that called a tool, by its name.
    """

    track: str
    system: str
    metric: Metric
    everything: float
    with_call: float | None
    without_call: float | None
    n: int
    called: int
    tools: Mapping[str, int]

    @property
    def share(self) -> float:
        """Answers with a call, in percent."""
        return 100 * self.called / self.n


def called(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], frozenset[str]]:
    """The tools that each answer called, from rows of contracts.PREDICTIONS."""
    return {
        (row["task_id"], row["id"]): frozenset(call["tool"] for call in row["calls"])
        for row in rows
        if row["calls"]
    }


def split_by_call(card: Card, scores: SystemScores, tools: Called) -> list[ByCall]:
    """A row a track, tracks sorted; questions that are not answered by a text, and tracks without others, are left out.

    The metric of a track is the first of the card's that its answers have.
    """
    found = []
    for track, places in by_track(scores).items():
        written = [at for at in places if card.task(scores.keys[at].task_id).kind == "generate"]
        metric = next((it for it in card.metrics if len(scores.of(it, written))), None)
        if metric is None:
            continue
        with_call = [at for at in written if scores.keys[at].instance in tools]
        without = [at for at in written if scores.keys[at].instance not in tools]
        counts = Counter(name for at in with_call for name in sorted(tools[scores.keys[at].instance]))
        found.append(
            ByCall(
                track=track,
                system=scores.system,
                metric=metric,
                everything=estimate(metric, scores.of(metric, written)),
                with_call=_estimate(metric, scores, with_call),
                without_call=_estimate(metric, scores, without),
                n=len(written),
                called=len(with_call),
                tools=counts,
            )
        )
    return found


def _estimate(metric: Metric, scores: SystemScores, places: Sequence[int]) -> float | None:
    values = scores.of(metric, places)
    return estimate(metric, values) if len(values) else None
