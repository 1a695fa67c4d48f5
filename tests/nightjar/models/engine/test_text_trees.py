"""Sampling from a shared tree against each sample read and continued alone."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import torch

from nightjar.models.engine import text_trees
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import count_work
from nightjar.models.engine.shared_prefixes import prefill
from nightjar.models.engine.text_trees import SampledText, SampleStart, TextTrees

TEXTS = [" the sum of 3 and 4 is 7", " a longer text, of 12 boxes with 8 pens each", " x"]


@pytest.fixture(scope="module")
def rows(lm: LanguageModel) -> list[tuple[list[int], list[int]]]:
    encode = lm.tokenizer.encode
    return [(encode(f"Your task is to add calls. Input:{text}\nOutput:"), encode(text)) for text in TEXTS]


def logits(lm: LanguageModel, ids: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        table: torch.Tensor = lm.model(input_ids=torch.tensor([ids])).logits[0].float()
    return table


def alone(
    lm: LanguageModel, ids: list[int], seed: str, most: int, possible: Callable[[str], bool]
) -> SampledText:
    """One sample, the whole text read again for each token."""
    random, written = Random(seed), list[int]()
    while len(written) < most:
        chances = (logits(lm, [*ids, *written])[-1] / 0.7).softmax(-1).double().cumsum(-1)
        token = int(torch.searchsorted(chances, random.random() * float(chances[-1]), right=True))
        if token == lm.tokenizer.end:
            return SampledText(lm.tokenizer.decode(written), False)
        written.append(token)
        text, found, _ = lm.tokenizer.decode(written).partition("]")
        if found or not possible(text):
            return SampledText(text, bool(found))
    return SampledText(lm.tokenizer.decode(written), False)


@pytest.mark.parametrize("based", [False, True])
def test_probabilities_with_and_without_a_shared_prefix(
    lm: LanguageModel, rows: list[tuple[list[int], list[int]]], based: bool
) -> None:
    token = lm.tokenizer.encode(" [")[0]
    # The prefix ends with a token that the rows do not have: it is used as far as they share it.
    base = prefill(lm, lm.tokenizer.encode("Your task is to add calls. Input!")) if based else None
    tree = TextTrees(lm, rows, base)
    assert (tree.shared > 10) == based
    for (context, text), values in zip(rows, tree.probabilities(token), strict=True):
        table = logits(lm, [*context, *text]).softmax(-1)
        wanted = [float(table[len(context) - 1 + place, token]) for place in range(len(text))]
        assert values == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("nodes", [2, 256])
def test_samples_are_those_of_texts_read_alone(
    lm: LanguageModel, rows: list[tuple[list[int], list[int]]], nodes: int
) -> None:
    """With passes of few nodes too; columns of samples that have ended are removed on the way."""
    marker = lm.tokenizer.encode(" [")[0]
    base = prefill(lm, lm.tokenizer.encode("Your task is to add calls. Input"))

    def possible(text: str) -> bool:
        return "e" not in text

    places = [(0, 0), (0, 3), (1, 5), (1, 5), (2, 0), (0, 6)]
    beginnings = [
        SampleStart(row, len(rows[row][0]) + place, [f"{number} {sample}" for sample in range(6)])
        for number, (row, place) in enumerate(places)
    ]
    tree = TextTrees(lm, rows, base, nodes)
    results = tree.sample(beginnings, marker, 0.7, 9, "]", possible)
    for one, samples in zip(beginnings, results, strict=True):
        ids = [*rows[one.row][0], *rows[one.row][1]][: one.length]
        assert samples == [alone(lm, [*ids, marker], seed, 9, possible) for seed in one.seeds]
    # Other seeds draw other texts, and what a beginning draws does not depend on the others.
    assert results[2] != results[3]
    again = TextTrees(lm, rows, base).sample(beginnings[3:4], marker, 0.7, 9, "]", possible)
    assert again == results[3:4]


@pytest.mark.parametrize("most", [1, 120, 300])
def test_samples_in_groups_are_the_same_and_take_less_memory(
    lm: LanguageModel, rows: list[tuple[list[int], list[int]]], most: int
) -> None:
    marker = lm.tokenizer.encode(" [")[0]
    beginnings = [
        SampleStart(row, len(rows[row][0]) + place, [f"{row} {place} {sample}" for sample in range(6)])
        for row in range(3)
        for place in (0, 2, 1)[: len(rows[row][1])]
    ]

    def drawn(**together: int) -> tuple[list[list[SampledText]], int]:
        tree, widest = TextTrees(lm, rows, None), [0]
        before = tree._cache.layers[0].keys.shape[2]

        def look(*_: object, past_key_values: Any, **__: object) -> None:
            widest.append(past_key_values.layers[0].keys.shape[2] - before)

        hook = lm.model.register_forward_pre_hook(lambda model, args, given: look(**given), with_kwargs=True)
        try:
            found = tree.sample(beginnings, marker, 1.0, 9, "]", lambda text: True, **together)
            return found, max(widest)
        finally:
            hook.remove()

    together, wide = drawn()
    apart, narrow = drawn(together=most)
    assert apart == together
    # 6 samples of one beginning have at most 60 tokens.
    assert narrow <= max(most, 60) and (narrow < wide or most >= wide)


def test_samples_that_began_alike_are_computed_once(
    lm: LanguageModel, rows: list[tuple[list[int], list[int]]]
) -> None:
    marker = lm.tokenizer.encode(" [")[0]
    tree = TextTrees(lm, rows[:1], None)
    beginning = SampleStart(0, len(rows[0][0]) + 2, ["same"] * 5)
    with count_work(lm) as work:
        (samples,) = tree.sample([beginning], marker, 1.0, 4, "]", lambda text: True)
    assert len(set(samples)) == 1 and work.tokens == work.passes > 0


def test_the_end_token_ends_a_sample_without_its_bracket(
    lm: LanguageModel, rows: list[tuple[list[int], list[int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_trees, "_draw", lambda logits, heat, nodes: [[lm.tokenizer.end]] * len(nodes))
    tree = TextTrees(lm, rows[:1], None)
    (samples,) = tree.sample([SampleStart(0, len(rows[0][0]), ["s"])], 5, 1.0, 4, "]", lambda text: True)
    assert samples == [SampledText("", False)]
    assert TextTrees(lm, rows[:1], None).sample([], 5, 1.0, 4, "]", lambda text: True) == []
