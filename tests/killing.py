"""A stage that is killed once some units are in its checkpoint, without the seconds of another process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from stages._runtime.checkpoint import Checkpoint


class Killed(BaseException):
    """What no part of a stage catches."""


@contextmanager
def units_added(kill_after: int | None = None) -> Iterator[list[int]]:
    """The units that are added to checkpoints; after so many the stage is killed, which ends the block."""
    add, added = Checkpoint.add, list[int]()

    def adding(self: Checkpoint, unit: int, value: Any) -> None:
        add(self, unit, value)
        added.append(unit)
        if len(added) == kill_after:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "add", adding)
        if kill_after is None:
            yield added
        else:
            with pytest.raises(Killed):
                yield added
