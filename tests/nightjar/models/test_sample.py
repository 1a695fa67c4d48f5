"""Nucleus sampling against its definition, by trying every number of tokens, and against expected frequencies."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nightjar.models import samples
from nightjar.models.samples import Sampling, generator_for, nucleus


def smallest(probabilities: torch.Tensor, top_p: float) -> list[int]:
    """The smallest set of tokens that reaches `top_p`, the likeliest first, the lower id among equals."""
    order = sorted(range(len(probabilities)), key=lambda token: (-float(probabilities[token]), token))
    total = 0.0
    for size, token in enumerate(order, start=1):
        total += float(probabilities[token])
        if total >= top_p:
            return order[:size]
    return order


@given(
    rows=st.integers(1, 12).flatmap(
        lambda size: st.lists(
            st.lists(st.integers(1, 9), min_size=size, max_size=size), min_size=1, max_size=4
        )
    ),
    top_p=st.floats(0.01, 0.999),
    most=st.sampled_from([1, 2, 4, 256]),
)
def test_the_nucleus_of_each_row_is_the_smallest_set_that_reaches_top_p(
    rows: list[list[int]], top_p: float, most: int
) -> None:
    weights = torch.tensor(rows, dtype=torch.float64)
    probabilities = weights / weights.sum(-1, keepdim=True)
    for row in probabilities.tolist():
        ordered = sorted(row, reverse=True)
        if any(abs(sum(ordered[:size]) - top_p) < 1e-9 for size in range(1, len(row) + 1)):
            return
    with pytest.MonkeyPatch.context() as patch:
        # Whether all candidates are sorted or only some must not show.
        patch.setattr(samples, "LIKELIEST", most)
        tokens, kept = nucleus(probabilities, top_p)
    assert tokens is not None
    for row, own, weight in zip(probabilities, tokens.tolist(), kept.tolist(), strict=True):
        inside = [token for token, value in zip(own, weight, strict=True) if value]
        assert inside == smallest(row, top_p)
        assert [value for value in weight if value] == row[inside].tolist()


@pytest.mark.parametrize("top_p", [0.95, 1.0])
def test_tokens_are_drawn_as_often_as_temperature_and_nucleus_say(top_p: float) -> None:
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0, 1.5])
    weights = (logits / 0.5).softmax(-1)
    # 0, 4 and 1 have 0.65, 0.24 and 0.09 of it; 0.95 takes in the third.
    inside = [0, 1, 4] if top_p < 1 else [0, 1, 2, 3, 4]
    generator = generator_for(1, "a")
    sampling = Sampling(0.5, generator, top_p)
    drawn = Counter(sampling.draw(logits.expand(4000, -1), [generator] * 4000))
    assert set(drawn) <= set(inside) and {0, 1, 4} <= set(drawn)
    total = float(weights[inside].sum())
    for token in inside:
        assert drawn[token] / 4000 == pytest.approx(float(weights[token]) / total, abs=0.025)


@pytest.mark.parametrize("top_p", [0.6, 1.0])
def test_a_row_draws_the_same_alone_and_among_others_and_never_what_is_forbidden(top_p: float) -> None:
    logits = torch.randn(6, 700, generator=torch.Generator().manual_seed(3)) * 3
    logits[:, :600] = -torch.inf
    together = Sampling(1.5, lambda row: generator_for(5, str(row)), top_p)
    generators = [together.generator(row) for row in range(6)]
    drawn = [together.draw(logits, generators) for _ in range(20)]
    assert min(token for tokens in drawn for token in tokens) >= 600
    for row in range(6):
        own = [together.generator(row)]
        assert [together.draw(logits[row : row + 1], own)[0] for _ in range(20)] == [
            tokens[row] for tokens in drawn
        ]


def test_several_draws_of_a_row_are_those_of_as_many_equal_rows() -> None:
    logits = torch.randn(3, 700, generator=torch.Generator().manual_seed(3)) * 3
    counts = [1, 4, 2]
    sampling = Sampling(0.9, lambda row: generator_for(5, str(row)), 0.9)
    several = [[sampling.generator(10 * row + n) for n in range(count)] for row, count in enumerate(counts)]
    alone = [sampling.generator(10 * row + n) for row, count in enumerate(counts) for n in range(count)]
    for _ in range(5):
        drawn = sampling.draws(logits, several)
        assert [token for row in drawn for token in row] == sampling.draw(
            logits.repeat_interleave(torch.tensor(counts), 0), alone
        )


def test_a_generator_depends_on_seed_and_text() -> None:
    def first(seed: int, text: str) -> float:
        return float(torch.rand(1, generator=generator_for(seed, text)))

    assert first(1, "a") == first(1, "a")
    assert len({first(1, "a"), first(2, "a"), first(1, "b")}) == 3
