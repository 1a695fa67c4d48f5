"""Named encodings and mixed training: what each name shows, checked in the text that comes out."""

from __future__ import annotations

import random
import re
from typing import Any, get_args

import pytest

from nightjar.core.errors import NightjarError
from nightjar.params.inputs import Encoding
from nightjar.params.predict import EncodingName
from nightjar.prompts.encoding import encode
from nightjar.prompts.encodings import MIXED, NAMED, encode_instance, named, tsv_lines, variants
from nightjar.prompts.gpt2_bpe import Gpt2Bpe
from tests.nightjar.prompts import options as published

TASK = {
    "task_id": "task1_x",
    "definition": "Do it",
    "positive_examples": [{"input": f"p{n}", "output": "a", "explanation": f"e{n}"} for n in range(6)],
    "negative_examples": [{"input": f"n{n}", "output": "a", "explanation": f"f{n}"} for n in range(6)],
}


def options(mixed: bool = False) -> Encoding:
    """None of the flags is as in any named encoding."""
    numbers = {
        "positive_examples": 5,
        "negative_examples": 5,
        "max_source_length": 999,
        "max_target_length": 77,
    }
    return published.options(explanation=True, task_name=True, mixed=mixed, trim_input=True, **numbers)


def shown(chosen: Encoding) -> tuple[bool, bool, int, int, int]:
    """Task name, definition, numbers of positive and negative examples, and of explanations."""
    text = encode(TASK, "x", chosen, Gpt2Bpe()).source
    return (
        text.startswith("task1_x. "),
        "Definition: Do it." in text,
        len(re.findall(" Positive Example ", text)),
        len(re.findall(" Negative Example ", text)),
        len(re.findall(" Explanation: ", text)),
    )


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("input_only", (False, False, 0, 0, 0)),
        ("task_name", (True, False, 0, 0, 0)),
        ("def", (False, True, 0, 0, 0)),
        ("pos1", (False, False, 1, 0, 0)),
        ("pos2", (False, False, 2, 0, 0)),
        ("pos4", (False, False, 4, 0, 0)),
        ("def_pos1", (False, True, 1, 0, 0)),
        ("def_pos2", (False, True, 2, 0, 0)),
        ("def_pos4", (False, True, 4, 0, 0)),
        ("def_pos2_neg2", (False, True, 2, 2, 0)),
        ("def_pos2_neg2_expl", (False, True, 2, 2, 4)),
        ("tk_instruct", (False, True, 2, 0, 0)),
    ],
)
def test_named(name: str, what: tuple[bool, bool, int, int, int]) -> None:
    chosen = named(options(), name)
    assert shown(chosen) == what
    assert (chosen.max_source_length, chosen.max_target_length, chosen.trim_input) == (999, 77, True)
    assert chosen.mixed == (name == "tk_instruct")
    # What a validated model would be: model_copy checks nothing.
    assert Encoding.model_validate(chosen.model_dump()) == chosen


def test_unknown_name_lists_the_known() -> None:
    with pytest.raises(NightjarError) as caught:
        named(options(), "def+pos2")
    assert "'def+pos2'" in str(caught.value)
    assert all(name in str(caught.value) for name in NAMED)


def test_mixed_draws_from_five_that_override_every_flag() -> None:
    assert [shown(chosen) for chosen in variants(options(mixed=True))] == [
        (False, True, 0, 0, 0),
        (False, False, 2, 0, 0),
        (False, True, 2, 0, 0),
        (False, True, 2, 2, 0),
        (False, True, 2, 0, 2),
    ]
    assert len(MIXED) == 5
    assert not any(chosen.mixed for chosen in variants(options(mixed=True)))
    assert all(chosen.max_source_length == 999 for chosen in variants(options(mixed=True)))
    assert variants(named(options(), "tk_instruct")) == variants(options(mixed=True))


def test_not_mixed_is_one_variant() -> None:
    assert variants(options()) == [options()]


def test_params_know_every_encoding() -> None:
    assert set(get_args(EncodingName)) == set(NAMED)


DRAWN = published.options(task_name=True, mixed=True)
COUNT: dict[str, Any] = {
    "task_id": "task9_count",
    "definition": ["Count."],
    "positive_examples": [{"input": "a b", "output": "2", "explanation": ""}],
    "negative_examples": [],
}


def row(text: str, *references: str) -> dict[str, Any]:
    return {"input": text, "outputs": list(references)}


def test_tsv_draws_every_reference_and_every_encoding() -> None:
    references = ["w", "x", "y"]
    rows = [row("a", *references)] * 600
    lines = list(tsv_lines(COUNT, rows, DRAWN, Gpt2Bpe(), 5))
    assert lines == list(tsv_lines(COUNT, rows, DRAWN, Gpt2Bpe(), 5))
    assert lines != list(tsv_lines(COUNT, rows, DRAWN, Gpt2Bpe(), 6))
    labels = [line.partition("\t")[2] for line in lines]
    # Binomial with n = 600: seven standard deviations around the mean.
    assert all(abs(labels.count(label) - 200) < 82 for label in references)
    # The task has no negative examples, so two of the five encodings look alike.
    sources = [" ".join(encode(COUNT, "a", chosen, Gpt2Bpe()).source.split()) for chosen in variants(DRAWN)]
    drawn = [line.partition("\t")[0] for line in lines]
    assert set(drawn) == set(sources) and len(set(sources)) == 4
    assert all(abs(drawn.count(source) - 120 * sources.count(source)) < 82 for source in sources)


def test_a_mixed_instance_is_drawn_by_the_seed() -> None:
    for seed in range(20):
        chosen = random.Random(seed).choice(variants(DRAWN))
        told = encode_instance(COUNT, row("a", "1"), DRAWN, Gpt2Bpe(), seed)["source"]
        assert told == encode(COUNT, "a", chosen, Gpt2Bpe()).source
