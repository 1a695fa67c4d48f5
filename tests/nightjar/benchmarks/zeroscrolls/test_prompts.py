"""Prompts equal the golden vectors; what is trimmed, and what is not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from nightjar.benchmarks.zeroscrolls.prompts import (
    REQUEST,
    LongExample,
    built,
    of_parts,
    prompt,
    untrimmed,
)
from nightjar.benchmarks.zeroscrolls.tasks import TASKS
from nightjar.core.errors import NightjarError
from nightjar.models.tokenizer import Tokenizer
from tests.nightjar.benchmarks.zeroscrolls.words import Words

QUERY = "Who did it and why?"


def example(task: str, words: int, query: str = QUERY) -> LongExample:
    document = " ".join(f"w{number}" for number in range(words))
    return built(TASKS[task], document, query if TASKS[task].query else "")


def test_prompts_equal_the_golden_vectors(golden: Path) -> None:
    cases = json.loads((golden / "zeroscrolls_trimming.json").read_text(encoding="utf-8"))["cases"]
    for case in cases:
        ours = example(case["task"], case["document_words"])
        if case["example"]:
            assert ours == of_parts(case["example"])
        tokenizer = Words()
        style = "chat" if case["is_chat"] else "completion"
        found = prompt(TASKS[case["task"]], ours, tokenizer, case["total_budget"] - case["reserved"], style)
        if case["prompt"]:
            assert found == case["prompt"]
        assert found.startswith(case["prompt_head"])
        assert found.endswith(case["prompt_tail"])
        assert len(tokenizer.encode(found)) == case["prompt_tokens"]
    assert len(cases) >= 35


@given(
    st.sampled_from(list(TASKS)),
    st.integers(1, 300),
    st.integers(150, 400),
    st.sampled_from(["completion", "chat", "claude"]),
    st.booleans(),
)
def test_a_prompt_fits_and_keeps_its_instruction_and_its_query(
    task: str, words: int, limit: int, style: str, encoder_decoder: bool
) -> None:
    ours, tokenizer = example(task, words), Words()
    found = prompt(TASKS[task], ours, tokenizer, limit, style, encoder_decoder)
    # Claude's form keeps the nine characters of "\n\nHuman: " more, as published.
    assert len(tokenizer.encode(found)) <= limit + 9 * (style == "claude")
    assert ours.input.partition("\n\n")[0] in found
    assert ours.query.strip() in found
    uncut = found.count(f"w{words - 1}\n\n") == 1
    assert uncut != (ours.truncation_seperator in found)
    assert uncut == (found == untrimmed(TASKS[task], ours, style))


@pytest.mark.parametrize("task", list(TASKS))
def test_chat_requests_the_answer_alone_but_for_summaries(task: str) -> None:
    found = prompt(TASKS[task], example(task, 5), Words(), 1000, "chat")
    instruction = found.partition("\n\n")[0]
    assert instruction.endswith(f" {REQUEST}") != TASKS[task].summary
    assert TASKS[task].response not in found.splitlines()


def test_claude_has_turns_and_tags() -> None:
    summary = prompt(TASKS["squality"], example("squality", 3), Words(), 1000, "claude")
    assert summary.startswith("\n\nHuman: You are given a story and a question. Answer")
    assert summary.endswith("Who did it and why?\n\n\n\nAssistant:")
    share = prompt(TASKS["space_digest"], example("space_digest", 3), Words(), 1000, "claude")
    tag = "percentage_of_positive_reviews"
    assert (
        "Do not provide any explanation, and please highlight your final percentage of positive reviews "
        f"with <{tag}></{tag}> tags.\n\nReviews:\nw0 w1 w2\n\n" in share
    )
    assert share.endswith(f"\n\nAssistant: Percentage of Positive Reviews: <{tag}>")


def test_claude_cuts_at_the_place_of_the_token_in_the_whole_prompt() -> None:
    ours, tokenizer = example("musique", 400), Words()
    found = prompt(TASKS["musique"], ours, tokenizer, 260, "claude")
    head, _, tail = found.partition(ours.truncation_seperator)
    assert tail == "Question:\nWho did it and why?\n\n\n\nAssistant: Answer: <answer>"
    uncut = prompt(TASKS["musique"], ours, tokenizer, 10_000, "claude")
    keep = 260 - len(tokenizer.encode(f"\n\nHuman: {ours.truncation_seperator}{tail}")) - 1
    place = len(tokenizer.decode(tokenizer.encode(uncut)[:keep]))
    assert head == uncut[: len("\n\nHuman: ") + place]


def test_an_encoder_decoder_cuts_the_document_apart_and_counts_its_end_token() -> None:
    ours, tokenizer = example("gov_report", 400), Words()
    size = len(tokenizer.encode(ours.input))
    assert prompt(TASKS["gov_report"], ours, tokenizer, size + 1, encoder_decoder=True) == ours.input
    found = prompt(TASKS["gov_report"], ours, tokenizer, size, encoder_decoder=True)
    assert len(tokenizer.encode(found)) + 1 == size
    assert found.endswith(f"{ours.truncation_seperator}Summary:\n")


def t5_tokenizer(texts: list[str]) -> Tokenizer:
    """A tokenizer of T5's kind: words with the blank before them, blanks and line ends as one, an end token; it lacks
    braces, as T5's does."""
    pieces = sorted({f"\u2581{word}" for text in texts for word in re.sub("[{}]", " ", text).split()})
    vocabulary = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("\u2581", -9.0)]
    vocabulary += [(piece, -1.0) for piece in pieces]
    backend = tokenizers.Tokenizer(models.Unigram(vocabulary, unk_id=2, byte_fallback=False))
    backend.normalizer = normalizers.Replace(tokenizers.Regex(r"\s+"), " ")
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    backend.decoder = decoders.Metaspace()
    backend.add_special_tokens(["<pad>", "</s>", "<unk>"])
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return Tokenizer(backend, 1, encoder_decoder=True)


@pytest.mark.parametrize("task", ["gov_report", "squality", "musique"])
def test_a_t5_prompt_is_as_long_as_allowed_and_keeps_what_its_tokenizer_lacks(task: str) -> None:
    document = " ".join(f"w{number}" + "{x}\n" * (number % 7 == 0) for number in range(400))
    ours = built(TASKS[task], document, QUERY if TASKS[task].query else "")
    suffix = ours.truncation_seperator + ours.input[ours.query_start_index :]
    tokenizer = t5_tokenizer([ours.input, suffix])
    ids = tokenizer.encode(ours.input)
    assert ids.count(tokenizer.end) == 1
    # The end token counts once: a prompt of as many tokens as allowed is whole.
    assert prompt(TASKS[task], ours, tokenizer, len(ids), encoder_decoder=True) == ours.input
    for limit in range(len(ids) - 12, len(ids)):
        found = prompt(TASKS[task], ours, tokenizer, limit, encoder_decoder=True)
        # As published: the ids of what is before the query, cut, and those of the omission message and the query.
        tail = tokenizer.encode(suffix)
        head = tokenizer.encode(ours.input[: ours.query_start_index])[:-1][: limit - len(tail)]
        assert tokenizer.encode(found) == head + tail
        before, _, after = found.partition(ours.truncation_seperator)
        assert ours.input.startswith(before.removesuffix(" ")) and "w7{x}\n" in before
        assert suffix.endswith(after)


@pytest.mark.parametrize("style", ["completion", "chat", "claude"])
@pytest.mark.parametrize("encoder_decoder", [False, True])
def test_a_query_longer_than_the_budget_is_an_error(style: str, encoder_decoder: bool) -> None:
    ours = example("qmsum", 400, "why " * 300)
    with pytest.raises(NightjarError, match=r"the query and the omission message take 3\d\d tokens"):
        prompt(TASKS["qmsum"], ours, Words(), 256, style, encoder_decoder)
