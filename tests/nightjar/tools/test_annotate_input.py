"""Annotation of texts and with tools that are not as they should be, on a tiny random model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightjar.models.engine.language_model import LanguageModel
from nightjar.tools import Text, Tool, Toolbox, ToolRequest, insert, make, remove
from nightjar.tools.annotate import HAS_CALL, LONG_CONTEXT, Annotated, Annotator
from nightjar.tools.filter import Tokens, weighted_loss
from nightjar.tools.syntax import find, write
from nightjar.tools.windows import Window, windows
from tests import plain_annotation as plain
from tests.nightjar.tools.conftest import Script


@pytest.fixture()
def scripted(script: Script) -> None:
    script("Calculator(8 * 12)")


class Bad(Tool):
    """Fails in the ways that its input names."""

    name, version, instructions = "Bad", "1", "Add calls.\n\n"

    def run(self, asked: Sequence[ToolRequest]) -> list[str | None]:
        return [self.one(request.input) for request in asked]

    def one(self, way: str) -> str | None:
        if way == "raises":
            raise RuntimeError("no")
        return {"markers": "]] [Bad(x)] -> → \\]", "wide": "w" * 900, "nothing": None}.get(way, way)


def annotate(lm: LanguageModel, text: Text | str, **changes: object) -> Annotated:
    annotator = Annotator(lm, make("calculator"), replace(plain.SETTINGS, **changes))  # type: ignore[arg-type]
    return annotator.annotate([Text(text) if isinstance(text, str) else text], ["seed"])[0]


def undone(text: str, found: Annotated) -> None:
    """The text with all its calls, less its calls, is the text."""
    calls = [(one.offset, one.call, one.result) for one in found.candidates if one.call]
    assert remove(insert(f" {text}", calls)) == f" {text}"


STRANGE = {
    "one token": ".",
    "blanks": " \n\t ",
    "brackets": "[[]]][ ][[ ]",
    "begun call": "A [Calculator( of 12 is ) 4 ]",
    "arrow": "from 8 -> 12, and 12 → 96 ]",
    "right to left": "\u202eשלום 12 + 4 = 16 عدد\u202c",
    "combining": "e\u0301t a\u0308 12 = 3 * 4 \u0e01\u0e33",
    "signs of several tokens": "南京 12 👩\u200d🚀 4",
    "backslashes": "a \\ [ \\] 12 \\",
}


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("context", ["", "How many?"])
def test_strange_texts(lm: LanguageModel, text: str, context: str) -> None:
    found = annotate(lm, Text(text, context))
    tokens = Tokens.of(lm.tokenizer, Text(text))
    assert found.refused is None and found.windows == 1
    # Every token but those before the first word and inside of a character.
    left = len(tokens.body) - found.inside - found.left_out
    assert len(found.candidates) == left and (found.left_out == 0) == bool(context)
    assert all(one.losses is not None for one in found.candidates)
    undone(text, found)


@pytest.mark.usefixtures("scripted")
@given(text=st.text(st.sampled_from('[]()\\ "→->a8é\u0301ש南Calculator(\n'), max_size=30))
@settings(max_examples=40)
def test_a_text_less_its_calls_is_the_text(lm: LanguageModel, text: str) -> None:
    found = annotate(lm, text)
    if find(text):
        assert found.refused == HAS_CALL
    undone(text, found)


def test_an_empty_text_has_no_windows(lm: LanguageModel) -> None:
    assert annotate(lm, "") == Annotated()


@pytest.mark.parametrize("call", ["[Calculator(1 + 2)]", '[QA("Who?") -> He]', "[Calendar() → Today]"])
def test_a_text_with_a_call_is_refused(lm: LanguageModel, call: str) -> None:
    assert annotate(lm, f"It is {call} 3.") == Annotated(refused=HAS_CALL)
    # A function of another name is no call, and what is only read may have one.
    assert annotate(lm, "x[f(3)] = 3").refused is None
    assert annotate(lm, Text("It is 3.", f"What? {call}")).refused is None


def test_a_context_that_leaves_no_room_is_refused(lm: LanguageModel) -> None:
    limit = lm.model.config.max_position_embeddings
    assert annotate(lm, Text("a long text of words", "word " * limit)).refused == LONG_CONTEXT
    # Windows become shorter where the context is long.
    annotator = Annotator(
        lm, make("calculator"), replace(plain.SETTINGS, max_text_tokens=limit, samples=1, positions=1)
    )
    annotator.limit = len(annotator.head.ids) + 200
    (found,) = annotator.annotate([Text("8 boxes of 12 pens, " * 8, "How many?")], ["seed"])
    assert found.refused is None and found.windows > 2


def test_a_text_several_times_as_long_as_the_model_reads(lm: LanguageModel) -> None:
    body = "12 ; " * 4_000
    tokens = Tokens.of(lm.tokenizer, Text(body))
    assert len(tokens.body) > 3 * lm.model.config.max_position_embeddings
    # Short instructions save time.
    few = replace(plain.SETTINGS, positions=1, max_call_tokens=1, max_text_tokens=200, batch_texts=64)
    (found,) = Annotator(lm, Bad(), few).annotate([Text(body)], ["seed"])
    assert found.windows == len(windows(len(tokens.body), 200)) > 64
    assert len(found.candidates) == 1, "of the text, not of each window"
    assert [one.offset for one in found.candidates] == [tokens.offsets[one.token] for one in found.candidates]


@given(st.integers(0, 500), st.integers(1, 60))
def test_windows_cover_every_token_once(count: int, most: int) -> None:
    found = windows(count, most)
    assert [n for one in found for n in range(one.first, one.last)] == list(range(count))
    assert all(one.last - one.begin <= most and one.begin <= one.first < one.last for one in found)
    assert all(one.begin == one.first - most // 4 for one in found[1:])
    assert windows(count, 500) == ([Window(0, 0, count)] if count else [])


@pytest.mark.usefixtures("scripted")
def test_a_call_in_a_window_is_measured_on_the_window(lm: LanguageModel) -> None:
    """Its loss is conditioned on the window, and looks at the tokens behind it."""
    body = "8 boxes of 12 pens hold 96 pens, and 3 boxes hold 36 pens."
    found, tokens = annotate(lm, body, max_text_tokens=24), Tokens.of(lm.tokenizer, Text(body))
    cut = windows(len(tokens.body), 24)
    assert found.windows == len(cut) > 2
    assert [one.token for one in found.candidates] == list(range(2, len(tokens.body)))
    for one in found.candidates:
        window = next(window for window in cut if window.first <= one.token < window.last)
        assert one.call and one.losses
        before = lm.tokenizer.encode(write(one.call, one.result))
        ids = [lm.tokenizer.end, *before, *tokens.body[window.begin : one.token + 5]]
        table = plain._logits(lm, ids).log_softmax(-1)
        start = 1 + len(before) + one.token - window.begin
        wanted = weighted_loss([float(table[n - 1, ids[n]]) for n in range(start, len(ids))])
        assert one.losses.with_result == pytest.approx(wanted, rel=1e-4)


def test_the_positions_are_the_likeliest_of_the_whole_text(lm: LanguageModel) -> None:
    """k of the paper is of a text: with windows, of the candidates at all positions those at the k likeliest remain."""
    body = "8 boxes of 12 pens hold 96 pens, and 3 boxes hold 36 pens."
    every = annotate(lm, body, max_text_tokens=24, positions=1000, samples=2).candidates
    likely = {one.token: one.probability for one in every}
    best = sorted(likely, key=lambda token: (-likely[token], token))[:4]
    found = annotate(lm, body, max_text_tokens=24, positions=4, samples=2)
    assert found.windows > 2 and len({token // 24 for token in best}) > 1
    assert [(one.token, one.written) for one in found.candidates] == [
        (one.token, one.written) for one in every if one.token in best
    ]


def test_texts_together_are_as_texts_alone(lm: LanguageModel) -> None:
    texts = [
        Text("8 boxes of 12 pens are 96 pens, " * n, context) for n, context in ((1, ""), (4, "Q"), (2, ""))
    ]
    texts.insert(1, Text(""))
    changes = replace(plain.SETTINGS, positions=3, samples=3, batch_texts=3)
    annotator = Annotator(lm, make("calculator"), changes)
    together = annotator.annotate(texts, list("abcd"))
    for text, seed, found in zip(texts, "abcd", together, strict=True):
        (alone,) = annotator.annotate([text], [seed])
        assert (alone.windows, alone.left_out, alone.inside) == (found.windows, found.left_out, found.inside)
        for one, other in zip(alone.candidates, found.candidates, strict=True):
            assert (one.token, one.offset, one.written) == (other.token, other.offset, other.written)
            assert one.probability == pytest.approx(other.probability, rel=1e-4)


def test_a_tool_that_fails_costs_its_calls_alone(lm: LanguageModel, script: Script) -> None:
    """In which ways it can fail: see the tests of the toolbox."""
    ways = ["raises", "markers", "nothing", "good"]
    script(*(f"Bad({way})" for way in ways))
    toolbox = Toolbox([Bad()])
    text = Text("8 boxes of 12 pens are 96 pens.")
    annotator = Annotator(lm, Bad(), replace(plain.SETTINGS, positions=2, samples=len(ways)), toolbox)
    (found,) = annotator.annotate([text], ["seed"])
    results = {one.written[4:-1]: one.result for one in found.candidates}
    markers = "]] [Bad(x)] -> → \\]"
    assert results == {"raises": None, "markers": markers, "nothing": None, "good": "good"}
    assert toolbox.problems == {"Bad: failed": 1}
    for one in found.candidates:
        assert (one.losses is None) == (one.result is None)
        if one.result is not None and one.call:
            inserted = insert(f" {text.body}", [(one.offset, one.call, one.result)])
            (read,) = find(inserted, ["Bad"])
            assert (read.call, read.result) == (one.call, one.result)
            assert remove(inserted, ["Bad"]) == f" {text.body}"


def test_a_result_that_the_model_cannot_read_is_none(lm: LanguageModel, script: Script) -> None:
    """The windows leave room for a call, but not for any result."""
    script("Bad(wide)")
    annotator = Annotator(lm, Bad(), plain.SETTINGS)
    annotator.limit = 250
    (found,) = annotator.annotate([Text("8 boxes of 12 pens are 96 pens.")], ["s"])
    assert found.refused is None and {one.result for one in found.candidates} == {None}
    assert annotator.toolbox.problems == {"Bad: too long for the model": len(found.candidates)}
    annotator.limit = None
    (found,) = annotator.annotate([Text("8 boxes of 12 pens are 96 pens.")], ["s"])
    assert {one.result for one in found.candidates} == {"w" * 900}
