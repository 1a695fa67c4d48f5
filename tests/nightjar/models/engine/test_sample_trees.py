"""Sampling against the definition of the nucleus, and many samples against each drawn alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from nightjar.models.completions import Completion
from nightjar.models.engine.language_model import Engine, LanguageModel
from nightjar.models.engine.loading import ForwardWork, count_work, load
from nightjar.models.engine.sample_trees import stream_samples
from nightjar.models.engine.sampling import Sampling, generator_for, nucleus
from nightjar.models.engine.sequences import Prompt


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
    # Whether all candidates are sorted or only some must not show.
    tokens, kept = nucleus(probabilities, top_p, most)
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


HEAT, TOP_P = 0.3, 0.8


@pytest.fixture(scope="module", params=list(Engine))
def lm(request: pytest.FixtureRequest, llama: LanguageModel) -> LanguageModel:
    return replace(llama, engine=request.param)


@pytest.fixture(scope="module")
def prompt(llama: LanguageModel) -> list[int]:
    return llama.tokenizer.encode("Today is the example of a")


def by_seed(seed: int, heat: float = HEAT, top_p: float = TOP_P) -> Sampling:
    return Sampling(heat, lambda number: generator_for(seed, str(number)), top_p)


@cache
def logits(model: torch.nn.Module, ids: tuple[int, ...]) -> torch.Tensor:
    """Those of the next token, the whole text read. Equal texts are read once, to save time."""
    with torch.inference_mode():
        last: torch.Tensor = model(input_ids=torch.tensor([ids])).logits[0, -1].float()
    return last


def probabilities(lm: LanguageModel, ids: Sequence[int], heat: float = HEAT) -> torch.Tensor:
    chances: torch.Tensor = (logits(lm.model, tuple(ids)) / heat).softmax(-1)
    return chances


def samples(
    lm: LanguageModel,
    ids: list[int],
    count: int,
    sampling: Sampling,
    most: int,
    stop: Sequence[str] = (),
    *bounds: int | None,
) -> list[Completion]:
    """The samples of one prompt; `bounds`: rows and tokens, as of `stream_samples`."""
    return dict(stream_samples(lm, [Prompt(0, ids, most, stop)], count, sampling, *bounds))[0]


def alone(lm: LanguageModel, prompt: Prompt, generator: torch.Generator) -> Completion:
    """One sample of the texts that `nucleus` leaves; without a cache, and without the engine's draws."""
    written: list[int] = []
    while len(written) < prompt.max_new_tokens:
        tokens, weights = nucleus(probabilities(lm, [*prompt.ids, *written])[None], TOP_P)
        assert tokens is not None
        left = float(weights.sum()) * (1 - float(torch.rand((), generator=generator, dtype=torch.float64)))
        sums = weights[0].cumsum(0)
        token = next(int(one) for one, reached in zip(tokens[0], sums, strict=True) if float(reached) >= left)
        written.append(token)
        if token == lm.tokenizer.end:
            return Completion(lm.tokenizer.decode(written[:-1]), tokens=len(written))
        text = lm.tokenizer.decode(written)
        found = [stop for stop in prompt.stop if stop in text]
        if found:
            stop = min(found, key=text.index)
            return Completion(text[: text.index(stop)], tokens=len(written), stop=stop)
    return Completion(lm.tokenizer.decode(written), True, len(written))


ENDS = 7, ["p", "e", "["]


@pytest.fixture(scope="module")
def forty(llama: LanguageModel, prompt: list[int]) -> list[Completion]:
    """Forty samples, each drawn alone."""
    return [alone(llama, Prompt(0, prompt, *ENDS), by_seed(3).generator(number)) for number in range(40)]


@pytest.mark.parametrize(("rows", "tokens"), [(64, None), (3, None), (2, 40)])
def test_samples_are_those_that_their_generators_draw_alone(
    lm: LanguageModel, prompt: list[int], forty: list[Completion], rows: int, tokens: int | None
) -> None:
    """In passes of any number of rows, and in groups."""
    sampling = by_seed(3)
    found = samples(lm, prompt, 40, sampling, *ENDS, rows, tokens)
    assert found == forty
    assert {one.stop for one in found} >= {None, "p", "e"} and len(set(found)) > 10
    # A larger number begins with the samples of a smaller one.
    assert samples(lm, prompt, 11, sampling, *ENDS, rows, tokens) == found[:11]
    assert samples(lm, prompt, 40, by_seed(4), *ENDS, rows, tokens) != found


def test_samples_are_drawn_as_often_as_enumeration_says(llama: LanguageModel, prompt: list[int]) -> None:
    """Every text of three tokens, the smallest set that reaches top_p taken at each: chi-square, a fixed seed."""
    from scipy.stats import chisquare

    heat, top_p, count = 0.35, 0.7, 2000
    expected: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(3):
        longer = {}
        for ids, chance in expected.items():
            table = probabilities(llama, [*prompt, *ids], heat)
            inside = smallest(table, top_p)
            assert float(table[inside[:-1]].sum()) < top_p <= float(table[inside].sum())
            whole = float(table[inside].sum())
            longer |= {(*ids, token): chance * float(table[token]) / whole for token in inside}
        expected = longer
    texts: dict[str, float] = {}
    for ids, chance in expected.items():
        assert llama.tokenizer.end not in ids
        text = llama.tokenizer.decode(list(ids))
        texts[text] = texts.get(text, 0.0) + chance
    drawn = Counter(one.text for one in samples(llama, prompt, count, by_seed(8, heat, top_p), 3))
    assert drawn.keys() <= texts.keys() and len(texts) > 8
    common = [text for text, chance in texts.items() if chance * count >= 5]
    rest = count - sum(drawn[text] for text in common)
    observed = [*(drawn[text] for text in common), rest]
    wanted = [*(texts[text] * count for text in common), count * (1 - sum(texts[one] for one in common))]
    used = slice(None) if wanted[-1] >= 5 else slice(-1)
    scale = sum(observed[used]) / sum(wanted[used])
    assert chisquare(observed[used], [one * scale for one in wanted[used]]).pvalue > 0.01


def test_the_end_token_ends_a_sample(llama: LanguageModel, prompt: list[int]) -> None:
    """An end token at once: an empty text. It is no stop string."""
    first = int(probabilities(llama, prompt).argmax())
    backend = replace(llama.tokenizer, end=first)
    found = samples(replace(llama, tokenizer=backend), prompt, 3, by_seed(1, HEAT, 0.001), 5, ["a"])
    assert found == [Completion("", tokens=1)] * 3


@pytest.mark.parametrize(("rows", "tokens"), [(64, None), (4, None), (5, 150), (8, 30)])
def test_prompts_that_are_sampled_together_get_the_samples_that_they_get_alone(
    lm: LanguageModel, prompt: list[int], rows: int, tokens: int | None
) -> None:
    """Of any length and limits, with any number of rows, in groups or not."""
    prompts = [
        Prompt(3, prompt, 5, ["p"]),
        Prompt(0, prompt[:1], 1),
        Prompt(7, prompt * 3, 4, ["e"]),
        Prompt(2, prompt[1:], 6),
    ]
    count, sampling = 9, by_seed(6)
    found = dict(stream_samples(lm, iter(prompts), count, sampling, rows, tokens))
    assert found == {
        one.number: [
            alone(lm, one, sampling.generator(one.number * count + number)) for number in range(count)
        ]
        for one in prompts
    }
    assert not dict(stream_samples(lm, [], count, sampling))


def test_what_samples_begin_with_is_read_once(llama: LanguageModel, prompt: list[int]) -> None:
    """The prompt in one pass, and equal beginnings as one row."""
    with count_work(llama) as work:
        found = samples(llama, prompt, 50, by_seed(1, HEAT, 0.001), 4)
    assert len(set(found)) == 1
    # Passes have multiples of eight tokens (rows.MULTIPLE).
    assert work == ForwardWork(passes=4, tokens=len(prompt) + -len(prompt) % 8 + 3 * 8)


def test_an_encoder_decoder_is_refused(tiny_t5: Path) -> None:
    with pytest.raises(NightjarError, match="drawing samples of a prompt needs a causal model"):
        samples(load(tiny_t5), [5, 6], 2, by_seed(1), 2)
