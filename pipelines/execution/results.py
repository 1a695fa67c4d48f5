"""What becomes of a stage in a run of the graph, and who hears of it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pipelines.execution.run_stage import Outcome

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


class Listeners(Generic[T]):
    """Those in this process who hear what becomes of a flow's stages; each has a `T` that the flow fills at its end."""

    def __init__(self, outcome: Callable[[], T]) -> None:
        self._outcome = outcome
        self._all: list[tuple[Listener, T]] = []
        self._failed: list[Listener] = []

    @contextlib.contextmanager
    def listening(self, listen: Listener) -> Iterator[T]:
        """While the block lasts, hand `listen` what becomes of every stage.

        A stage that runs is reported again and again, in state `running`, with the last line it wrote as `why`.
        Calls come from several threads. What `listen` raises is logged.
        """
        listener = (listen, self._outcome())
        self._all.append(listener)
        try:
            yield listener[1]
        finally:
            self._all.remove(listener)
            if listen in self._failed:
                self._failed.remove(listen)

    def tell(self, result: Result) -> None:
        """Tell everybody who listens. One that fails fails no stage: its first failure is logged."""
        for listen, _ in list(self._all):
            try:
                listen(result)
            except (Exception, SystemExit) as error:
                if listen not in self._failed:
                    self._failed.append(listen)
                    _log().warning("the display of results failed", exc_info=error)

    def outcomes(self) -> list[T]:
        """What is to be filled."""
        return [outcome for _, outcome in self._all]


def _log() -> Any:
    """The log of the run, where there is one: Prefect keeps it, and prints nothing."""
    from prefect.exceptions import MissingContextError
    from prefect.logging import get_run_logger

    try:
        return get_run_logger()
    except MissingContextError:
        return logging.getLogger("nightjar")


_rebuilds = Listeners(Heard)
listening, listen = _rebuilds.listening, _rebuilds.tell


def conclude(state: State[Any]) -> None:
    """Tell them the state in which the rebuild ended."""
    for heard in _rebuilds.outcomes():
        heard.state = state
