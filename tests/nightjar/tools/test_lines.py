"""Lines after prompts: each is that of its prompt alone, whatever shares the batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightjar.lm.load import load
from nightjar.tools import lines as module
from nightjar.tools.lines import lines

PROMPTS = [f"{number} boxes of {'pens ' * (number % 5)}is" for number in range(7)]


def test_a_line_depends_on_its_own_prompt_alone(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = load(tiny_model)
    alone = [lines(lm, "Input: ", [text], 8)[0] for text in PROMPTS]
    assert len(set(alone)) > 3
    assert lines(lm, "Input: ", PROMPTS, 8) == alone
    assert lines(lm, "Input: ", PROMPTS[::-1], 8) == alone[::-1]
    assert lines(lm, "Input: ", [], 8) == []
    # Every row is close: all of them are decoded again.
    monkeypatch.setattr(module, "NEAR", float("inf"))
    assert lines(lm, "Input: ", PROMPTS[:3], 8) == alone[:3]


def test_close_choices_are_made_again_alone(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise as another batch would bring it changes no line."""
    lm = load(tiny_model)
    alone = [lines(lm, "Input: ", [text], 8)[0] for text in PROMPTS]
    generate = module.generate

    def noisy(lm, ids, *rest, controller=None, base=None):  # type: ignore[no-untyped-def]
        made = generate(lm, ids, *rest, controller=controller, base=base)
        if controller is None or len(ids) == 1:
            return made
        wrong = [margin < module.NEAR for margin in controller.smallest]
        return [
            type(one)("wrong", 1, True) if is_wrong else one
            for one, is_wrong in zip(made, wrong, strict=True)
        ]

    monkeypatch.setattr(module, "generate", noisy)
    monkeypatch.setattr(module, "NEAR", 0.05)
    assert lines(lm, "Input: ", PROMPTS, 8) == alone


def test_an_encoder_decoder_reads_too(tiny_t5: Path) -> None:
    lm = load(tiny_t5)
    alone = [lines(lm, "Input: ", [text], 4)[0] for text in PROMPTS[:3]]
    assert lines(lm, "Input: ", PROMPTS[:3], 4) == alone
    assert all("\n" not in line for line in alone)
