"""Encodings against the published collator's texts, and the rules by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from nightjar.prompts.encoding import PromptTokenizer, encode
from nightjar.prompts.gpt2_bpe import Gpt2Bpe, load
from tests.nightjar.prompts.options import options


class Whitespace:
    """Words as tokens; decoding joins them with single blanks."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def encode(self, text: str) -> list[int]:
        start = len(self.words)
        self.words += text.split()
        return list(range(start, len(self.words)))

    def decode(self, ids: list[int]) -> str:
        return " ".join(self.words[number] for number in ids)


TASK = {
    "task_id": "task7",
    "definition": ["Say how many。", "not used"],
    "positive_examples": [
        {"input": " one two ", "output": "2", "explanation": None},
        {"input": "one " * 60, "output": "60", "explanation": ""},
        {"input": "one", "output": "1!", "explanation": "A word"},
    ],
    "negative_examples": [{"input": "a", "output": "", "explanation": "empty"}],
}


def test_golden(golden: Path) -> None:
    data = json.loads((golden / "sni_encoding.json").read_text())
    tokenizers: dict[str, PromptTokenizer] = {"whitespace": Whitespace(), "gpt2": Gpt2Bpe()}
    for case in data["cases"]:
        task, config = data["tasks"][case["task"]], case["config"]
        encoded = encode(
            {
                "task_id": task["Task"],
                "definition": task["Definition"],
                "positive_examples": task["Positive Examples"],
                "negative_examples": task["Negative Examples"],
            },
            task["Instance"]["input"],
            options(
                definition=config["add_task_definition"],
                positive_examples=config["num_pos_examples"],
                negative_examples=config["num_neg_examples"],
                explanation=config["add_explanation"],
                task_name=config["add_task_name"],
                max_source_length=case["max_source_length"],
            ),
            tokenizers[case["tokenizer"]],
        )
        assert encoded.source == case["source"], case
        assert encoded.truncated == (encoded.suffix == "")


def test_every_rule_by_hand() -> None:
    chosen = options(positive_examples=1, negative_examples=1, explanation=True, task_name=True)
    encoded = encode(TASK, "x ", chosen, Whitespace())
    assert encoded.prefix == (
        "task7. Definition: Say how many。.\n\n"
        " Positive Example 1 -\nInput: one two.\n Output: 2.\n\n"
        " Negative Example 1 -\nInput: a.\n Output: .\n Explanation: empty.\n\n"
    )
    assert encoded.suffix == "Now complete the following example -\nInput: x.\nOutput: "
    assert (encoded.truncated, encoded.positive_examples, encoded.negative_examples) == (False, 1, 1)


def test_the_first_example_that_does_not_fit_ends_its_kind() -> None:
    encoded = encode(
        TASK, "x", options(positive_examples=3, negative_examples=1, max_source_length=40), Whitespace()
    )
    assert (encoded.positive_examples, encoded.negative_examples) == (1, 1)
    assert "Positive Example 2" not in encoded.source and "1!" not in encoded.source


def test_a_long_text_loses_its_end() -> None:
    encoded = encode(TASK, "x " * 50, options(max_source_length=12), Whitespace())
    assert encoded.truncated and encoded.suffix == ""
    assert encoded.source == "Definition: Say how many。. Now complete the following example - Input: x"


@given(st.text(max_size=40), st.integers(1, 60), st.integers(0, 3), st.integers(0, 2))
def test_never_longer_than_allowed_and_split_at_the_instance(
    text: str, limit: int, pos: int, neg: int
) -> None:
    tokenizer = Whitespace()
    chosen = options(positive_examples=pos, negative_examples=neg, max_source_length=limit)
    encoded = encode(TASK, text, chosen, tokenizer)
    assert len(encoded.source.split()) <= limit
    assert encoded.truncated or encoded.suffix.startswith("Now complete the following example -\nInput: ")
    assert encoded.positive_examples <= pos and encoded.negative_examples <= neg


def test_no_definition() -> None:
    task = {**TASK, "definition": []}
    with pytest.raises(NightjarError, match="no definition"):
        encode(task, "x", options(), Whitespace())
    assert encode(task, "x", options(definition=False), Whitespace()).source.startswith(" Positive Example 1")


@given(st.text(max_size=60))
def test_gpt2_bpe_is_lossless(text: str) -> None:
    assert Gpt2Bpe().decode(Gpt2Bpe().encode(text)) == text


def test_gpt2_bpe_known_ids() -> None:
    # The published example of the vocabulary; " world" is one token with its blank.
    assert load().get_vocab_size() == 50257
    assert Gpt2Bpe().encode("Hello world") == [15496, 995]
    assert load().encode("a<|endoftext|> b").tokens == ["a", "<|endoftext|>", "Ġb"]
    assert Gpt2Bpe().decode(Gpt2Bpe().encode("a<|endoftext|> b")) == "a b"
