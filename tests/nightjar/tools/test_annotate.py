"""Annotation on a tiny random model: losses against plain passes, and what is recorded of every candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest

from nightjar.core.errors import NightjarError
from nightjar.models.engine.language_model import LanguageModel
from nightjar.tools import Call, Text, Tool, ToolRequest, call_losses, make
from nightjar.tools.annotate import Annotated, Annotator, Candidate
from nightjar.tools.filter import Tokens
from tests import plain_annotation as plain
from tests.nightjar.tools.conftest import Script

DAY = date(2023, 1, 30)
TEXT = Text("A box holds 12 pens, so 8 boxes hold 96 pens.", day=DAY)
TARGET = Text("There are 96 pens.", "Input: 8 boxes of 12 pens.\nOutput:")
SETTINGS = replace(plain.SETTINGS, positions=3, samples=4)


def annotator(lm: LanguageModel, tool: str = "calculator", **changes: object) -> Annotator:
    return Annotator(lm, make(tool), replace(SETTINGS, **changes))  # type: ignore[arg-type]


def annotated(annotator: Annotator, text: Text, seed: str = "seed") -> Annotated:
    return annotator.annotate([text], [seed])[0]


@pytest.mark.parametrize("text", [TEXT, TARGET])
def test_losses_are_those_of_plain_passes_over_the_written_out_texts(
    lm: LanguageModel, script: Script, text: Text
) -> None:
    script("Calculator(8 * 12)", "Calculator(oops)", "Calendar()", "no call")
    found = annotated(annotator(lm), text, "seed").candidates
    offsets = Tokens.of(lm.tokenizer, text).offsets
    written = {(one.written, one.call is None, one.result) for one in found}
    assert written == {
        ("Calculator(8 * 12)", False, "96"),
        ("Calculator(oops)", False, None),
        ("Calendar()", True, None),
        ("no call", True, None),
    }
    measured = [one for one in found if one.result == "96"]
    assert len(measured) == 3
    for one in measured:
        assert one.offset == offsets[one.token]
        losses = one.losses
        assert losses is not None
        assert losses.no_call == pytest.approx(plain.loss(lm, text, one.token, ""), rel=1e-4)
        without = plain.loss(lm, text, one.token, " [Calculator(8 * 12) -> ]")
        assert losses.without_result == pytest.approx(without, rel=1e-4)
        result = plain.loss(lm, text, one.token, " [Calculator(8 * 12) -> 96]")
        assert losses.with_result == pytest.approx(result, rel=1e-4)
    assert all(one.losses is None for one in found if one.result is None)


def test_calls_of_a_text_by_their_offsets(lm: LanguageModel) -> None:
    """The library's filter: a call is before the token that has the character, or the blank before it."""
    call = Call("Calculator", "8 * 12")
    blank = TEXT.body.index(" 96")
    place = len(lm.tokenizer.encode(f" {TEXT.body[:blank]}"))
    (losses,) = call_losses(lm, TEXT, [(blank, call, "96")])
    assert losses.no_call == pytest.approx(plain.loss(lm, TEXT, place, ""), rel=1e-4)
    with_result = plain.loss(lm, TEXT, place, " [Calculator(8 * 12) -> 96]")
    assert losses.with_result == pytest.approx(with_result, rel=1e-4)
    several = [(0, call, "96"), (blank + 1, call, "96"), (blank + 2, call, "96")]
    first, same, inside = call_losses(lm, TEXT.body, several)
    assert first.no_call == pytest.approx(plain.loss(lm, TEXT, 0, ""), rel=1e-4)
    assert same.gain == pytest.approx(losses.gain, abs=1e-4)
    within = len(lm.tokenizer.encode(f" {TEXT.body[: blank + 2]}"))
    assert inside.no_call == pytest.approx(plain.loss(lm, TEXT, within, ""), rel=1e-4)
    for wrong in (-1, len(TEXT.body)):
        with pytest.raises(NightjarError, match=f"offset {wrong} is outside"):
            call_losses(lm, TEXT, [(wrong, call, "96")])


def test_two_spellings_of_a_call_are_one_candidate(lm: LanguageModel, script: Script) -> None:
    script("Calculator(8 * 12)", "Calculator( 8 * 12 )")
    found = annotated(annotator(lm), TEXT, "seed").candidates
    assert [one.call for one in found] == [Call("Calculator", "8 * 12")] * 3
    assert len({one.token for one in found}) == 3


def test_sampling_depends_on_the_text_and_the_seed_alone(lm: LanguageModel) -> None:
    first, second = annotator(lm), annotator(lm)
    annotated(second, TARGET, "x")
    found = annotated(first, TEXT)
    assert found.candidates and found == annotated(second, TEXT)
    other = annotated(annotator(lm), TEXT, "another seed")
    assert [one.written for one in other.candidates] != [one.written for one in found.candidates]


def test_a_tool_is_run_once_for_a_text_and_sees_its_context(lm: LanguageModel, script: Script) -> None:
    class Spy(Tool):
        name, version, instructions = "Spy", "1", "Add calls.\n\n"
        uses = frozenset({"day", "text"})

        def __init__(self) -> None:
            self.asked: list[ToolRequest] = []

        def run(self, asked: Sequence[ToolRequest]) -> list[str | None]:
            self.asked += asked
            return ["r"] * len(asked)

    script("Spy(a)", "Spy(b)", "Spy(a)", "Calculator(1)")
    spy = Spy()
    text = replace(TARGET, day=DAY)
    annotated(Annotator(lm, spy, SETTINGS), text)
    shown = f"{text.context} {text.body}"
    assert sorted(spy.asked, key=str) == [ToolRequest("a", DAY, shown), ToolRequest("b", DAY, shown)]
    spy.instructions = ""
    with pytest.raises(NightjarError, match="has no instructions"):
        Annotator(lm, spy, SETTINGS)


def places(found: list[Candidate]) -> list[int]:
    return sorted({one.token for one in found})


def test_before_the_first_word_of_a_document_there_is_no_call(lm: LanguageModel, script: Script) -> None:
    """There the loss is conditioned on nothing. A target has its context; the published form allows all places."""
    script("Calculator(8 * 12)")
    # Here a number begins with a blank of its own: the second token, too, has no word before it.
    text = Text("8 boxes of 12 pens are 96 pens.")
    tokens = Tokens.of(lm.tokenizer, text)
    assert tokens.offsets[:3] == [0, 1, 2]
    every = list(range(len(tokens.body)))
    found = annotated(annotator(lm, positions=99), text, "seed")
    assert (places(found.candidates), found.left_out) == (every[2:], 2)
    found = annotated(annotator(lm, positions=99, before_first_word=True), text, "seed")
    assert (places(found.candidates), found.left_out) == (every, 0)
    found = annotated(annotator(lm, positions=99), replace(text, context="How many?"), "seed")
    assert (places(found.candidates), found.left_out) == (every, 0)
    # Only places that are likely enough are counted.
    found = annotated(annotator(lm, sampling_threshold=1.0), text, "seed")
    assert found == Annotated(windows=1)


def test_calls_only_before_names_and_numbers(lm: LanguageModel, script: Script) -> None:
    script("Calculator(8 * 12)")
    text = Text("Every box of Ann holds 12 pens, and Bob has 96.")
    spaced = f" {text.body}"
    candidates = annotated(annotator(lm, positions=99, before_names=True), text).candidates
    assert [spaced[one.offset :].split()[0] for one in candidates] == ["Ann", "12", "Bob", "96."]
