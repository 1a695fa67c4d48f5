"""When Python looks for garbage.

Torch, transformers, DVC and Prefect make half a million objects while they are imported, and nearly all of those stay
to the end: looking for garbage among them, again and again and once more at the exit, takes a third of the import's
seconds.
"""

from __future__ import annotations

import atexit
import gc

_USUAL = gc.get_threshold()


def seldom() -> None:
    """Look for garbage seldom from now on, and not at the exit: for a process that begins with large imports."""
    gc.set_threshold(100_000, 20, 20)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def as_usual() -> None:
    """Look for it as often as Python does: what is kept alive in vain may be a tensor from now on."""
    gc.set_threshold(*_USUAL)
