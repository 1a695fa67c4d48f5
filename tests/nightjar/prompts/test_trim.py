"""Trimming the instance input instead of losing the answer cue: the order of what goes, and the length."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from nightjar.params.inputs import Encoding
from nightjar.prompts.encoding import CUE, encode
from nightjar.prompts.gpt2_bpe import Gpt2Bpe
from nightjar.prompts.model_text import model_input
from tests.nightjar.prompts import options as published

TASK = {
    "task_id": "task7",
    "definition": ["a b c d e f"],
    "positive_examples": [{"input": "p", "output": "q", "explanation": ""}] * 2,
    "negative_examples": [{"input": "n", "output": "o", "explanation": ""}] * 2,
}


class Characters:
    """A character is a token: lengths can be seen, and nothing merges."""

    def encode(self, text: str) -> list[int]:
        return [ord(character) for character in text]

    def decode(self, ids: list[int]) -> str:
        return "".join(map(chr, ids))


def options(**changes: Any) -> Encoding:
    return published.options(**{"negative_examples": 2, "trim_input": True, **changes})


def frame(text: str) -> str:
    return f"{CUE}\nInput: {text}\nOutput: "


def test_the_end_of_the_input_goes_first() -> None:
    head = "Definition: a b c d e f.\n\n"
    limit = len(head + frame("one two.")) + 1
    encoded = encode(TASK, "one two three", options(max_source_length=limit), Characters())
    # "one two t." would be one too many with its full stop; the blank before "t" is not kept.
    assert (encoded.prefix, encoded.suffix, encoded.truncated) == (head, frame("one two."), True)
    longer = encode(TASK, "one two three", options(max_source_length=limit + 1), Characters())
    assert longer.suffix == frame("one two t.")


def test_then_examples_from_the_last_the_definition_and_the_task_name() -> None:
    """The task name is not in the published check, so examples can be there that leave too little room."""
    whole = encode(TASK, "", options(task_name=True), Characters()).source
    assert whole.count("Example ") == 4
    seen: list[tuple[bool, str, int, int]] = []
    for limit in range(len(whole), len(frame(".")) - 1, -1):
        chosen = options(task_name=True, max_source_length=limit)
        encoded = encode(TASK, "", chosen, Characters())
        assert len(encoded.source) <= limit
        assert encoded.source.endswith(frame("."))
        assert encoded.positive_examples == encoded.source.count("Positive Example ")
        assert encoded.negative_examples == encoded.source.count("Negative Example ")
        definition = encoded.source.partition("Definition: ")[2].partition("\n")[0]
        state = (
            encoded.source.startswith("task7. "),
            definition,
            encoded.positive_examples,
            encoded.negative_examples,
        )
        if not seen or seen[-1] != state:
            seen.append(state)
    everything = "a b c d e f."
    assert seen == [
        (True, everything, 2, 2),
        (True, everything, 2, 1),
        (True, everything, 2, 0),
        (True, everything, 1, 0),
        (True, everything, 0, 0),
        (True, "a b c d e.", 0, 0),
        (True, "a b c d.", 0, 0),
        (True, "a b c.", 0, 0),
        (True, "a b.", 0, 0),
        (True, "a.", 0, 0),
        (True, "", 0, 0),
        (False, "", 0, 0),
    ]


def test_no_room_for_the_cue() -> None:
    least = len(frame("."))
    with pytest.raises(NightjarError, match=f"at least {least}"):
        encode(TASK, "x", options(max_source_length=least - 1), Characters())
    assert encode(TASK, "xyz", options(max_source_length=least), Characters()).source == frame(".")
    # What the task name leaves is the input's again.
    chosen = options(definition=False, task_name=True, max_source_length=least + 3)
    assert encode(TASK, "xyz", chosen, Characters()).source == frame("xyz.")


# Pieces that merge, split bytes, and end in blanks or punctuation where a cut may fall.
PIECES = st.sampled_from(
    ["the ", "cat", "  ", "\n", "日本語。", "🙂", "é", "...", "'s", "1999", "\u0301", "x!"]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=120).map("".join))


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS, st.integers(20, 160), st.booleans(), st.booleans(), st.integers(0, 2), st.integers(0, 2))
def test_ends_with_the_cue_within_the_limit(
    text: str, definition: str, limit: int, task_name: bool, has_definition: bool, pos: int, neg: int
) -> None:
    task, tokenizer = {**TASK, "definition": definition}, Gpt2Bpe()
    chosen = options(
        definition=has_definition,
        positive_examples=pos,
        negative_examples=neg,
        task_name=task_name,
        max_source_length=limit,
    )
    encoded = encode(task, text, chosen, tokenizer)
    assert encoded.source.endswith("\nOutput: ")
    assert len(tokenizer.encode(encoded.source)) <= limit
    kept = encoded.suffix.removeprefix(f"{CUE}\nInput: ").removesuffix("\nOutput: ")
    assert text.strip().startswith(kept) or text.strip().startswith(kept.removesuffix("."))
    published = encode(task, text, chosen.model_copy(update={"trim_input": False}), tokenizer)
    assert encoded.truncated == published.truncated
    if not published.truncated:
        assert encoded == published


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(20, 120))
def test_no_other_beginning_is_much_longer(text: str, limit: int) -> None:
    """Against every beginning there is: tokens that merge may cost a few characters, never more."""
    task, tokenizer = {**TASK, "definition": "Do."}, Gpt2Bpe()
    chosen = options(positive_examples=0, negative_examples=0, max_source_length=limit)
    kept = encode(task, text, chosen, tokenizer)
    plain = chosen.model_copy(update={"trim_input": False, "max_source_length": 10_000})
    beginnings = {text.strip()[:end].strip() for end in range(len(text.strip()) + 1)}
    sources = [encode(task, beginning, plain, tokenizer).source for beginning in beginnings]
    best = max(len(source) for source in sources if len(tokenizer.encode(source)) <= limit)
    assert kept.source in sources and len(kept.source) >= best - 12


@settings(max_examples=100, deadline=None)
@given(TEXTS, TEXTS, st.integers(40, 200), st.booleans())
def test_evidence_with_trimming(text: str, passage: str, limit: int, encoder_decoder: bool) -> None:
    tokenizer = Gpt2Bpe()
    passages = [{"title": "T", "text": passage}]
    chosen = options(max_source_length=limit)
    made = model_input(TASK, text, chosen, tokenizer, passages, encoder_decoder)
    assert made.endswith("\nOutput: " if encoder_decoder else "\nOutput:")
    assert len(tokenizer.encode(made)) <= limit
    plain = model_input(TASK, text, chosen, tokenizer, (), encoder_decoder)
    # Evidence is there whole and beside an uncut instance, or not at all.
    if made != plain:
        assert f"Evidence 1 - T: {passage}\n\n{CUE}\nInput: {text.strip()}" in made
