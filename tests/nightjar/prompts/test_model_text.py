"""What models read and write: the same running text for both kinds, evidence between examples and instance."""

from __future__ import annotations

import pytest

from nightjar.prompts.encoding import encode
from nightjar.prompts.gpt2_bpe import Gpt2Bpe
from nightjar.prompts.model_text import evidence_block, model_input, model_target
from tests.nightjar.prompts.options import options
from tests.nightjar.prompts.test_encoding import Whitespace

TASK = {
    "task_id": "task001_x",
    "definition": ["Say whether it is true"],
    "positive_examples": [
        {"input": "Ice is cold", "output": "yes", "explanation": "It is."},
        {"input": "Fish fly", "output": "no", "explanation": "They swim."},
    ],
    "negative_examples": [],
}
PASSAGES = [{"title": "Snow", "text": "Snow is white."}, {"title": "Coal", "text": "Coal is black."}]
KINDS = pytest.mark.parametrize("encoder_decoder", [False, True])


def test_causal_prompt_and_target_make_the_published_text() -> None:
    published = encode(TASK, "Snow is black", options(), Whitespace()).source
    prompt = model_input(TASK, "Snow is black", options(), Whitespace(), (), encoder_decoder=False)
    assert prompt.endswith("Output:")
    assert prompt + model_target(" no\n", encoder_decoder=False) == published + "no"


def test_encoder_decoders_get_the_published_source_and_the_raw_label() -> None:
    published = encode(TASK, "Snow is black", options(), Whitespace()).source
    assert model_input(TASK, "Snow is black", options(), Whitespace(), (), encoder_decoder=True) == published
    assert published.endswith("Output: ")
    assert model_target(" no\n", encoder_decoder=True) == " no\n"


@KINDS
def test_evidence_stands_before_the_instance_and_nothing_else_moves(encoder_decoder: bool) -> None:
    plain = model_input(TASK, "Snow is black", options(), Whitespace(), (), encoder_decoder)
    block = evidence_block(PASSAGES)
    assert block == "Evidence 1 - Snow: Snow is white.\nEvidence 2 - Coal: Coal is black.\n\n"
    with_evidence = model_input(TASK, "Snow is black", options(), Whitespace(), PASSAGES, encoder_decoder)
    assert with_evidence.replace(block, "") == plain
    end = "Output: " if encoder_decoder else "Output:"
    assert with_evidence.endswith(
        block + "Now complete the following example -\nInput: Snow is black.\n" + end
    )


@KINDS
@pytest.mark.parametrize("most", range(12, 60))
def test_evidence_counts_against_the_length_and_is_the_last_to_find_room(
    most: int, encoder_decoder: bool
) -> None:
    text = model_input(
        TASK, "Snow is black", options(max_source_length=most), Whitespace(), PASSAGES, encoder_decoder
    )
    # The published check counts blanks' words as we do here, so the limit holds exactly.
    assert len(Whitespace().encode(text)) <= most
    if "Evidence" in text:
        assert text.rstrip().endswith("Output:")
    else:
        assert text == model_input(
            TASK, "Snow is black", options(max_source_length=most), Whitespace(), (), encoder_decoder
        )


@pytest.mark.parametrize("limit", [30, 60, 90])
def test_the_tokens_of_gpt2_limit_the_length(limit: int) -> None:
    """The published 11B model: the text is that of `encode` with GPT-2's tokenizer, whatever the model's own is."""
    text = "Zweifellos ungewöhnliche Wörter: " + "schneeweiß " * 6
    chosen = options(lengths="gpt2", max_source_length=limit)
    found = model_input(TASK, text, chosen, Whitespace(), (), encoder_decoder=True)
    assert found == encode(TASK, text, chosen, Gpt2Bpe()).source
    assert len(Gpt2Bpe().encode(found)) <= limit
    own = options(max_source_length=limit)
    assert model_input(TASK, text, own, Whitespace(), (), encoder_decoder=True) != found
