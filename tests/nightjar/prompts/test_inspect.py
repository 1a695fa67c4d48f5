"""What is shown of a task's instances, one or as TSV."""

from __future__ import annotations

import random
from typing import Any

from nightjar.params.data import Encoding
from nightjar.prompts.encoding import encode
from nightjar.prompts.encodings import encode_instance, tsv_lines, variants
from nightjar.prompts.gpt2_bpe import Gpt2Bpe

OPTIONS = Encoding(
    definition=True,
    positive_examples=2,
    negative_examples=0,
    explanation=False,
    task_name=True,
    mixed=False,
    trim_input=False,
    max_source_length=1024,
    max_target_length=128,
)
MIXED = OPTIONS.model_copy(update={"mixed": True})
TASK: dict[str, Any] = {
    "task_id": "task9_count",
    "definition": ["Count."],
    "positive_examples": [{"input": "a b", "output": "2", "explanation": ""}],
    "negative_examples": [],
}


def row(text: str, *references: str) -> dict[str, Any]:
    return {"input": text, "outputs": list(references)}


def test_one_instance() -> None:
    told = encode_instance(TASK, row("a", "1", "one"), OPTIONS, Gpt2Bpe(), 1)
    assert told == {
        "source": "task9_count. Definition: Count.\n\n Positive Example 1 -\nInput: a b.\n Output: 2.\n\n"
        "Now complete the following example -\nInput: a.\nOutput: ",
        "references": ["1", "one"],
    }


def test_tsv_collapses_white_space() -> None:
    rows = [row("a\tb\u00a0\n c", " one\n\n two\t"), row("d", "4")]
    assert list(tsv_lines(TASK, rows, OPTIONS, Gpt2Bpe(), 1)) == [
        "task9_count. Definition: Count. Positive Example 1 - Input: a b. Output: 2. "
        "Now complete the following example - Input: a b c. Output:\tone two",
        "task9_count. Definition: Count. Positive Example 1 - Input: a b. Output: 2. "
        "Now complete the following example - Input: d. Output:\t4",
    ]


def test_tsv_draws_every_reference_and_every_encoding() -> None:
    references = ["w", "x", "y"]
    rows = [row("a", *references)] * 600
    lines = list(tsv_lines(TASK, rows, MIXED, Gpt2Bpe(), 5))
    assert lines == list(tsv_lines(TASK, rows, MIXED, Gpt2Bpe(), 5))
    assert lines != list(tsv_lines(TASK, rows, MIXED, Gpt2Bpe(), 6))
    labels = [line.partition("\t")[2] for line in lines]
    # Binomial with n = 600: seven standard deviations around the mean.
    assert all(abs(labels.count(label) - 200) < 82 for label in references)
    # The task has no negative examples, so two of the five encodings look alike.
    sources = [" ".join(encode(TASK, "a", chosen, Gpt2Bpe()).source.split()) for chosen in variants(MIXED)]
    drawn = [line.partition("\t")[0] for line in lines]
    assert set(drawn) == set(sources) and len(set(sources)) == 4
    assert all(abs(drawn.count(source) - 120 * sources.count(source)) < 82 for source in sources)


def test_a_mixed_instance_is_drawn_by_the_seed() -> None:
    for seed in range(20):
        chosen = random.Random(seed).choice(variants(MIXED))
        told = encode_instance(TASK, row("a", "1"), MIXED, Gpt2Bpe(), seed)["source"]
        assert told == encode(TASK, "a", chosen, Gpt2Bpe()).source
