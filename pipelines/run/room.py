"""Room on the machine for stages: jobs, memory and the one GPU, as a counting condition.

Each stage asks for itself, in its own thread, and waits until there is room. Of those that wait, the one with the
longest way to go is first: with m jobs, and neither memory nor GPU in the way, the stages take at most
sum/m + (1 - 1/m) · longest way (Graham, SIAM J. Appl. Math. 17, 1969).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

# How often a stage that waits looks again: the GPU may be in use by another process.
LOOK_SECONDS = 0.5
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


class Room:
    """The stages that run and those that wait.

    A stage that does not fit into the memory left waits, with all that have less way to go and need memory; one that
    needs more than there is runs beside none of them. A stage that waits for the GPU takes nothing from others.
    """

    def __init__(
        self,
        limits: Limits,
        way: Mapping[str, float],
        take_gpu: Callable[[str], bool] = lambda name: True,
        give_gpu: Callable[[str], None] = lambda name: None,
    ) -> None:
        """`way`: see `longest_way`; of equals, the first is first. `take_gpu` is asked last, for a stage that has room
        but for the GPU, whether it was had; `give_gpu` gives it back.
        """
        self._limits, self._take_gpu, self._give_gpu = limits, take_gpu, give_gpu
        self._rank = {name: at for at, name in enumerate(sorted(way, key=lambda name: -way[name]))}
        self._changed = threading.Condition()
        self._waiting: dict[str, Needs] = {}
        self._running: dict[str, Needs] = {}

    @contextlib.contextmanager
    def taken(self, name: str, needs: Needs, stop: threading.Event) -> Iterator[bool]:
        """Wait for room, and hold it in the block. False, without room, if `stop` is set first."""
        with self._changed:
            self._waiting[name], had = needs, False
            try:
                while not stop.is_set() and not (had := self._starts(name)):
                    self._changed.wait(LOOK_SECONDS)
            finally:
                del self._waiting[name]
                if had:
                    self._running[name] = needs
                self._changed.notify_all()
        try:
            yield had
        finally:
            with self._changed:
                if self._running.pop(name, None) and needs.gpu and self._limits.one_gpu:
                    self._give_gpu(name)
                self._changed.notify_all()

    def _starts(self, name: str) -> bool:
        """Whether a stage that waits is the first of those for which there is room."""
        full = False
        if len(self._running) >= self._limits.jobs:
            return False
        for other in sorted(self._waiting, key=self._rank.__getitem__):
            needs = self._waiting[other]
            if needs.memory_gb and (full := full or not self._fits(needs)):
                continue
            # The stage itself asks for the GPU; one that waits for it takes nothing from others.
            if needs.gpu and self._limits.one_gpu and not (other == name and self._had(name)):
                continue
            return other == name
        return False

    def _had(self, name: str) -> bool:
        return not any(needs.gpu for needs in self._running.values()) and self._take_gpu(name)

    def _fits(self, needs: Needs) -> bool:
        used = sum(other.memory_gb for other in self._running.values())
        # A little more than the sum: 0.1 + 0.2 is not to be over 0.3.
        return not used or used + needs.memory_gb <= self._limits.memory_gb + 1e-9


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
    return {name: way[name] for name in upstream}
