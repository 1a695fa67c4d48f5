"""The controller's decisions one by one: when a call starts, runs, or is taken back."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
import torch

from nightjar.core.errors import NightjarError
from nightjar.lm.generate import Answer, Row
from nightjar.lm.load import LanguageModel, load, prepare
from nightjar.tools.decode import ATTEMPTS, ToolController, answer


@pytest.fixture(scope="module")
def lm(tiny_model: Path) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(tiny_model)


def opened(lm: LanguageModel, written: str, day: date | None = None) -> tuple[ToolController, Row]:
    """A controller whose row has opened a call and written so far."""
    controller = ToolController(lm, [day], top_k=1, max_calls=1)
    row = Row(0)
    logits = torch.zeros(400)
    logits[controller.marker] = 1
    assert controller.choose(row, logits) == controller.marker
    row.ids = lm.tokenizer.encode(f" [{written}")
    row.text = lm.tokenizer.decode(row.ids)
    return controller, row


@pytest.mark.parametrize(
    ("written", "fed"),
    [
        ("Calculator(3 * 4) ->", " 12]"),
        ("Calculator(3 * 4) →", " 12]"),
        ("Calculator((3 + 1) / 3)->", " 1.33]"),
        ("Calendar() ->", " Today is Friday, March 13, 2026.]"),
    ],
)
def test_at_the_arrow_the_result_is_fed_in(lm: LanguageModel, written: str, fed: str) -> None:
    controller, row = opened(lm, written, date(2026, 3, 13))
    assert controller.holds(row)
    assert controller.after(row) == fed
    assert not controller.holds(row)
    assert controller.states[0].calls == 1


@pytest.mark.parametrize(
    "written",
    [
        "Calculator(1 / 0) ->",
        "Calculator(9**9**9**9) ->",
        "Calculator(__import__('os')) ->",
        "Calculator(" + "9" * 10_000 + ") ->",
        "Calculator(oops ->",
        "Calendar() ->",
        "QA(who?) ->",
        "Tuesday",
        "Calculator(3\n",
    ],
)
def test_what_has_no_result_or_can_be_no_call_is_taken_back(lm: LanguageModel, written: str) -> None:
    controller, row = opened(lm, written)
    assert controller.after(row) is Answer.TAKE_BACK
    assert not controller.holds(row)
    assert (controller.states[0].calls, controller.states[0].failures) == (0, 1)


@pytest.mark.parametrize("written", ["", "Cal", "Calculator", "Calculator(3 *", "Calendar("])
def test_what_may_still_become_a_call_goes_on(lm: LanguageModel, written: str) -> None:
    controller, row = opened(lm, written)
    assert controller.after(row) is None
    assert controller.holds(row)


def test_an_end_token_inside_a_call_takes_it_back(lm: LanguageModel) -> None:
    controller, row = opened(lm, "Calculator(3")
    row.ids.append(lm.tokenizer.end)
    assert controller.after(row) is Answer.TAKE_BACK


def test_the_marker_must_be_among_the_likeliest(lm: LanguageModel) -> None:
    controller = ToolController(lm, [None], top_k=3, max_calls=1)
    logits = torch.zeros(400)
    logits[[1, 2, 3]] = torch.tensor([5.0, 4.0, 3.0])
    logits[controller.marker] = 2.0
    assert controller.choose(Row(0), logits) is None
    logits[3] = 1.0
    assert controller.choose(Row(0), logits) == controller.marker


def test_after_the_last_call_or_attempt_the_marker_is_not_written(lm: LanguageModel) -> None:
    controller, row = opened(lm, "Calculator(3 * 4) ->")
    controller.after(row)
    logits = torch.zeros(400)
    logits[controller.marker], logits[7] = 9.0, 8.0
    assert controller.choose(row, logits) == 7
    failing = ToolController(lm, [None], top_k=1, max_calls=1)
    for _ in range(ATTEMPTS):
        row = Row(0)
        assert failing.choose(row, logits) == failing.marker
        row.ids = lm.tokenizer.encode(" [nothing")
        assert failing.after(row) is Answer.TAKE_BACK
    assert failing.choose(Row(0), logits) == 7


def test_an_encoder_decoder_cannot_call(tiny_t5: Path) -> None:
    lm = load(tiny_t5)
    ids = lm.tokenizer.encode("2 + 2 =")
    with pytest.raises(NightjarError, match="calling tools needs a causal model"):
        answer(lm, [ids], [None], 4, [], top_k=1, max_calls=1)
    assert answer(lm, [ids], [None], 4, [], top_k=0, max_calls=1)[0].calls == ()
