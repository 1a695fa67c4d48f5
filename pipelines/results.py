"""What becomes of a stage in a run of the graph, and who hears of it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pipelines.run_stage import Outcome

if TYPE_CHECKING:
    from prefect.states import State


@dataclass(frozen=True)
class Result:
    """What became of one stage: ran, cached, failed (itself or a check of what it made), skipped (something before it
    failed) or stopped; on its way there: waiting (for the GPU) or running.

    `moved` says whether its outputs may be others than before, so that what needs them has to be looked at.
    """

    stage: str
    state: str
    seconds: float = 0.0
    why: str = ""
    error: str = ""
    log: str = ""
    moved: bool = False

    @classmethod
    def of(cls, outcome: Outcome, why: str, root: Path, attempts: int = 1) -> Result:
        """The result of a stage that was run because of `why`, in so many attempts, under `root`."""
        moved = outcome.state in ("ran", "restored")
        state = "cached" if outcome.state in ("restored", "unchanged") else outcome.state
        if outcome.state == "restored":
            why = f"restored from the run cache ({why})"
        elif outcome.state == "unchanged":
            why = f"no difference in what it needs ({why})"
        if attempts > 1:
            why = f"after {attempts} attempts ({why})"
        error = outcome.error or ""
        if outcome.state == "failed":
            error = f"exit status {outcome.exit_code}: {error}"
            error += f" ({attempts} attempts)" if attempts > 1 else ""
        log = outcome.log.relative_to(root).as_posix()
        return cls(outcome.stage, state, outcome.seconds, why, error, log, moved)


Listener = Callable[[Result], None]


@dataclass
class Heard:
    """The state in which a rebuild of this process ended, whether or not Prefect's server could be told."""

    state: State[Any] | None = None


T = TypeVar("T")

_log = logging.getLogger("nightjar")


@dataclass(eq=False)
class _Listening(Generic[T]):
    listen: Listener
    outcome: T
    failed: bool = False


class Listeners(Generic[T]):
    """Those in this process who hear what becomes of a flow's stages; each has a `T` that the flow fills at its end."""

    def __init__(self, outcome: Callable[[], T]) -> None:
        self._outcome = outcome
        self._all: list[_Listening[T]] = []

    @contextlib.contextmanager
    def listening(self, listen: Listener) -> Iterator[T]:
        """While the block lasts, hand `listen` what becomes of every stage.

        A stage that runs is told again and again, in state `running`, with the last line it wrote as `why`.
        Calls come from several threads. If `listen` raises, it is not called again, and the run continues.
        """
        listener = _Listening(listen, self._outcome())
        self._all.append(listener)
        try:
            yield listener.outcome
        finally:
            self._all.remove(listener)

    def tell(self, result: Result) -> None:
        """Tell everybody who listens. Raises nothing that they raise, except KeyboardInterrupt."""
        for listener in self._all:
            if listener.failed:
                continue
            try:
                listener.listen(result)
            # SystemExit is what rich makes of a broken pipe.
            except (Exception, SystemExit) as error:
                listener.failed = True
                what = f"{type(error).__name__}: {error}"
                _log.warning("the progress is no longer shown (%s); the run continues", what)

    def outcomes(self) -> list[T]:
        """What is to be filled."""
        return [listener.outcome for listener in self._all]


_rebuilds = Listeners(Heard)
listening, listen = _rebuilds.listening, _rebuilds.tell


def conclude(state: State[Any]) -> None:
    """Tell them the state in which the rebuild ended."""
    for heard in _rebuilds.outcomes():
        heard.state = state
