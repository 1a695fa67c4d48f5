"""What a block of code computes is counted, but not what other threads do beside it."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest

from nightjar.models.load import LanguageModel, Work, counted, load, prepare
from nightjar.models.score import logprobs_at


@pytest.fixture(scope="module")
def lm(tiny_model: Path) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(tiny_model)


def test_tokens_and_passes_of_this_thread_are_counted(lm: LanguageModel) -> None:
    rows = [([1, 2, 3, 4], [3]), ([5, 6], [1])]
    with counted(lm) as work:
        logprobs_at(lm, rows)
        beside = Thread(target=logprobs_at, args=(lm, rows))
        beside.start()
        beside.join()
        with counted(lm) as inner:
            logprobs_at(lm, rows[:1])
    # Two rows of three tokens, padding included; then one.
    assert inner == Work(passes=1, tokens=3)
    assert work == Work(passes=2, tokens=9)
    logprobs_at(lm, rows)
    assert work == Work(passes=2, tokens=9)
    with pytest.raises(ZeroDivisionError), counted(lm):
        _ = 1 / 0
    assert not lm.model._forward_pre_hooks
