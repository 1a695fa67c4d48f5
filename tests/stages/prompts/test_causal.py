"""The causal form of the encoding: the same running text, evidence between examples and instance."""

from __future__ import annotations

import pytest

from stages.params import Encoding
from stages.prompts.causal import evidence_block, prompt, target
from stages.prompts.encoding import encode

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


class Words:
    def encode(self, text: str) -> list[int]:
        return [hash(word) for word in text.split()]

    def decode(self, ids: list[int]) -> str:
        return " ".join("w" for _ in ids)


def options(most: int = 1000) -> Encoding:
    return Encoding(
        definition=True,
        positive_examples=2,
        negative_examples=0,
        explanation=False,
        task_name=False,
        max_source_length=most,
        max_target_length=128,
    )


def test_prompt_and_target_make_the_published_text() -> None:
    published = encode(TASK, "Snow is black", options(), Words()).source
    assert prompt(TASK, "Snow is black", options(), Words()) + target(" no\n") == published + "no"


def test_evidence_stands_before_the_instance_and_nothing_else_moves() -> None:
    plain = prompt(TASK, "Snow is black", options(), Words())
    block = evidence_block(PASSAGES)
    assert block == "Evidence 1 - Snow: Snow is white.\nEvidence 2 - Coal: Coal is black.\n\n"
    with_evidence = prompt(TASK, "Snow is black", options(), Words(), PASSAGES)
    assert with_evidence.replace(block, "") == plain
    assert with_evidence.endswith(
        block + "Now complete the following example -\nInput: Snow is black.\nOutput:"
    )


@pytest.mark.parametrize("most", range(12, 60))
def test_evidence_counts_against_the_length_and_is_the_last_to_find_room(most: int) -> None:
    text = prompt(TASK, "Snow is black", options(most), Words(), PASSAGES)
    # The published check counts blanks' words as we do here, so the limit holds exactly.
    assert len(Words().encode(text)) <= most
    if "Evidence" in text:
        assert text.endswith("Output:")
    else:
        assert text == prompt(TASK, "Snow is black", options(most), Words())
