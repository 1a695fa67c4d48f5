"""Counts what a language model computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_ident
from typing import Any

from nightjar.models.load import LanguageModel


@dataclass
class Work:
    """Forward passes, and the tokens that they computed: those of all rows, padding included."""

    passes: int = 0
    tokens: int = 0


@contextmanager
def counted(lm: LanguageModel) -> Iterator[Work]:
    """Count the passes of `lm` within the block that this thread starts: tools may use the model in theirs."""
    work, thread = Work(), get_ident()

    def count(model: Any, args: Any, given: dict[str, Any]) -> None:
        if get_ident() == thread:
            work.passes += 1
            work.tokens += given["input_ids"].numel()

    hook = lm.model.register_forward_pre_hook(count, with_kwargs=True)
    try:
        yield work
    finally:
        hook.remove()
