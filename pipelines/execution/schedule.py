"""Which stages may start now: a list schedule over the graph, within jobs, memory and the one GPU.

Pure: it starts nothing and asks no clock. A driver tells it what has ended and asks it what to start; `simulate` does
the same with expected seconds. It is list scheduling, the longest way to go first: with m jobs, and neither memory nor
GPU in the way, at most sum/m + (1 - 1/m) · longest way (Graham, SIAM J. Appl. Math. 17, 1969).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

# Expected seconds of a stage of which no time is known.
UNKNOWN_SECONDS = 1.0


@dataclass(frozen=True)
class Needs:
    """What a stage needs of the machine: memory in GB, the GPU, how often it may be tried, and whether its work may be
    shared.
    """

    memory_gb: float = 0.0
    gpu: bool = False
    attempts: int = 1
    shards: bool = False


@dataclass(frozen=True)
class Limits:
    """What may be used at once: stages, GB of memory (of those that need any), and stages that need the GPU (one, or
    with `one_gpu` false, as on a machine without, as many as there are).
    """

    jobs: int
    memory_gb: float = float("inf")
    one_gpu: bool = False


NOTHING = Needs()


class Schedule:
    """The stages that wait and those that run.

    A stage that does not fit into the memory left waits, with all that have less way to go and need memory; one that
    needs more than there is runs beside none of them. A stage whose needs are not known starts with none; `again` makes
    it wait with those that were found.
    """

    def __init__(
        self,
        upstream: Mapping[str, Collection[str]],
        needs: Mapping[str, Needs],
        limits: Limits,
        seconds: Mapping[str, float] | None = None,
    ) -> None:
        """`upstream` names, for every stage, what it needs (others than its keys are taken to be there)."""
        self.limits = limits
        self.running: dict[str, Needs] = {}
        self.way = longest_way(upstream, seconds or {})
        self._order = sorted(upstream, key=lambda name: -self.way[name])
        self._needs = dict(needs)
        self._waiting = {
            name: {other for other in before if other in upstream} for name, before in upstream.items()
        }

    @property
    def waiting(self) -> list[str]:
        """Stages that have not started."""
        return list(self._waiting)

    @property
    def ready(self) -> list[str]:
        """Waiting stages whose upstream stages have all ended, the longest way to go first."""
        return [name for name in self._order if self._waiting.get(name) == set()]

    def done(self, name: str) -> None:
        """Take note that a running stage has ended, well or not."""
        del self.running[name]
        for before in self._waiting.values():
            before.discard(name)

    def again(self, name: str, needs: Needs) -> None:
        """Make a running stage wait again, now for `needs`."""
        del self.running[name]
        self._needs[name], self._waiting[name] = needs, set()

    def start(self, take_gpu: Callable[[str], bool] = lambda name: True) -> list[str]:
        """The stages to start now, which count as running from here on, the longest way to go first.

        `take_gpu` is asked last, for a stage that may start but for the GPU: whether it was had. A stage that has to
        wait for it takes nothing from others.
        """
        started: list[str] = []
        full = False
        for name in self.ready:
            if len(self.running) >= self.limits.jobs:
                break
            needs = self._needs.get(name)
            if needs is None:
                self._run(name, NOTHING, started)
                continue
            if needs.memory_gb and (full := full or not self._fits(needs)):
                continue
            if needs.gpu and self.limits.one_gpu and not (self._gpu_is_free() and take_gpu(name)):
                continue
            self._run(name, needs, started)
        return started

    def _run(self, name: str, needs: Needs, started: list[str]) -> None:
        del self._waiting[name]
        self.running[name] = needs
        started.append(name)

    def _fits(self, needs: Needs) -> bool:
        used = sum(other.memory_gb for other in self.running.values())
        # A little more than the sum: 0.1 + 0.2 is not to be over 0.3.
        return not used or used + needs.memory_gb <= self.limits.memory_gb + 1e-9

    def _gpu_is_free(self) -> bool:
        return not any(needs.gpu for needs in self.running.values())


def longest_way(upstream: Mapping[str, Collection[str]], seconds: Mapping[str, float]) -> dict[str, float]:
    """Seconds from the start of each stage to the end of the last that needs it. `upstream` has every stage after
    those it needs.
    """
    way: dict[str, float] = {}
    after = dict.fromkeys(upstream, 0.0)
    for name in reversed(list(upstream)):
        way[name] = seconds.get(name, UNKNOWN_SECONDS) + after[name]
        for other in upstream[name]:
            if other in after:
                after[other] = max(after[other], way[name])
    return way


def simulate(
    upstream: Mapping[str, Collection[str]],
    seconds: Mapping[str, float],
    limits: Limits,
    needs: Mapping[str, Needs] | None = None,
) -> float:
    """Expected seconds by the clock until all stages are done, with nobody else on the GPU."""
    times = {name: seconds.get(name, UNKNOWN_SECONDS) for name in upstream}
    schedule = Schedule(upstream, dict.fromkeys(upstream, NOTHING) | dict(needs or {}), limits, times)
    now = 0.0
    ends: list[tuple[float, str]] = []
    while schedule.waiting or ends:
        for name in schedule.start():
            heapq.heappush(ends, (now + times[name], name))
        now, name = heapq.heappop(ends)
        schedule.done(name)
    return now
