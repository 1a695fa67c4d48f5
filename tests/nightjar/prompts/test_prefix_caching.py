"""Ids from remembered parts against those of the whole text, and the tokenizers for which parts cannot be joined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nightjar.benchmarks.task_file import read_task
from nightjar.prompts.encoding import CUE
from nightjar.prompts.encodings import named, variants
from nightjar.prompts.gpt2_bpe import Gpt2Bpe, load
from nightjar.prompts.model_text import model_input
from nightjar.prompts.prefix_caching import PrefixCachingTokenizer, with_prefix_cache
from tests.nightjar.prompts.options import options

# What the parts begin with, what may stand before them, and whatever merges, splits or is cut out beforehand.
PARTS = [" Positive Example ", " Negative Example ", "Evidence 1 - ", f"{CUE}\n", "Output: ", "Output:"]
BLANKS = ["\n", "\n\n", " ", "  ", "\t", "\r\n", "\u3000", "\u00a0"]
OTHERS = ["\u0301", "é", "日本", "。", "🙂", "7", "'s", "<|endoftext|>", "the", "N", ".", "..."]
PIECES = st.sampled_from([*PARTS, *BLANKS, *OTHERS])
TEXTS = st.one_of(st.lists(PIECES, max_size=30).map("".join), st.text(max_size=40))
KEPT = with_prefix_cache(Gpt2Bpe(), load())


@settings(max_examples=500, deadline=None)
@given(TEXTS)
@example("")
@example("\nOutput: ")
@example("a\n\n \n Positive Example 1 -\n\nOutput:")
def test_the_ids_are_those_of_the_whole_text(text: str) -> None:
    assert isinstance(KEPT, PrefixCachingTokenizer)
    assert KEPT.encode(text) == Gpt2Bpe().encode(text)
    assert KEPT.decode(KEPT.encode(text)) == Gpt2Bpe().decode(Gpt2Bpe().encode(text))


@settings(max_examples=100, deadline=None)
@given(
    TEXTS, TEXTS, st.lists(st.tuples(TEXTS, TEXTS), max_size=2), TEXTS, st.integers(30, 300), st.booleans()
)
def test_prompts_are_the_same(
    definition: str, text: str, examples: list[tuple[str, str]], passage: str, limit: int, trim: bool
) -> None:
    task = {
        "task_id": "task1_x",
        "definition": definition,
        "positive_examples": [{"input": a, "output": b, "explanation": b + a} for a, b in examples],
        "negative_examples": [{"input": b, "output": a, "explanation": a} for a, b in examples],
    }
    mixed = options(mixed=True, trim_input=trim, max_source_length=limit)
    for passages in ((), [{"title": "T", "text": passage}]):
        for chosen in variants(mixed):
            arguments = task, text, chosen
            made = model_input(*arguments, KEPT, passages, encoder_decoder=False)
            assert made == model_input(*arguments, Gpt2Bpe(), passages, encoder_decoder=False)
            assert KEPT.encode(made) == Gpt2Bpe().encode(made)


def test_prompts_of_tasks(task_files: list[Path]) -> None:
    """The longest inputs and a few others of tasks, in every mixed variant."""
    mixed = named(options(), "tk_instruct")
    for file in task_files[::4]:
        read = read_task(file.read_bytes(), "natural_instructions", file.name, file.stem)
        task = read.head
        inputs = sorted(read.instances["input"].to_pylist(), key=len)
        for text in {inputs[0], inputs[len(inputs) // 2], inputs[-1]}:
            for chosen in variants(mixed):
                made = model_input(task, text, chosen, KEPT, (), encoder_decoder=False)
                assert made == model_input(task, text, chosen, Gpt2Bpe(), (), encoder_decoder=False)
                assert KEPT.encode(made) == Gpt2Bpe().encode(made)


class Counting(Gpt2Bpe):
    """Counts the characters that are read."""

    characters = 0

    def encode(self, text: str) -> list[int]:
        self.characters += len(text)
        return super().encode(text)


def test_shared_parts_are_read_once() -> None:
    counting = Counting()
    kept = with_prefix_cache(counting, load())
    head = "Definition: " + "word " * 500 + "\n\n"
    for number in range(20):
        kept.encode(f"{head}{CUE}\nInput: {number}.\nOutput: ")
    assert counting.characters < 2 * len(head)


def _metaspace(backend: tokenizers.Tokenizer) -> None:
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()


def _prefix_space(backend: tokenizers.Tokenizer) -> None:
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)


def _own_pattern(backend: tokenizers.Tokenizer) -> None:
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def _normalizer(backend: tokenizers.Tokenizer) -> None:
    backend.normalizer = tokenizers.normalizers.NFC()


def _token_with_a_line_end(backend: tokenizers.Tokenizer) -> None:
    backend.add_tokens(["\nOutput"])


def _token_that_takes_blanks(backend: tokenizers.Tokenizer) -> None:
    backend.add_tokens([tokenizers.AddedToken("<x>", rstrip=True)])


@pytest.mark.parametrize(
    "change",
    [_metaspace, _prefix_space, _own_pattern, _normalizer, _token_with_a_line_end, _token_that_takes_blanks],
)
def test_other_rules_are_not_remembered(change: Any) -> None:
    backend = tokenizers.Tokenizer.from_str(load().to_str())
    plain = Gpt2Bpe()
    assert isinstance(with_prefix_cache(plain, backend), PrefixCachingTokenizer)
    change(backend)
    assert with_prefix_cache(plain, backend) is plain
