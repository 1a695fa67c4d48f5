"""Rows read in passes of any make-up, against a plain pass over each row's whole text."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    GPTJConfig,
    GPTJForCausalLM,
)

from nightjar.models.engine.equality import choose_engine
from nightjar.models.engine.forward_pass import advance
from nightjar.models.engine.kv_cache import KVCache, KVPage
from nightjar.models.engine.language_model import Engine, LanguageModel
from nightjar.models.engine.loading import load, prepare
from nightjar.models.engine.shared_prefixes import prefill
from tests.pipelines import forked

IDS = st.lists(st.integers(1, 300), min_size=1, max_size=7)


def gptj() -> torch.nn.Module:
    torch.manual_seed(2)
    config = GPTJConfig(vocab_size=319, n_embd=32, n_layer=2, n_head=4, rotary_dim=4, initializer_range=0.2)
    return GPTJForCausalLM(config).eval()


def bloom() -> torch.nn.Module:
    """Without positions: a bias by distance, which the mask decides."""
    torch.manual_seed(3)
    return BloomForCausalLM(BloomConfig(vocab_size=319, hidden_size=32, n_layer=2, n_head=4)).eval()


def plain(lm: LanguageModel, ids: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        return lm.model(input_ids=torch.tensor([ids])).logits[0, -1].float()


@pytest.fixture(scope="module", params=[*Engine, gptj, bloom])
def lm(request: pytest.FixtureRequest, llama: LanguageModel) -> LanguageModel:
    if isinstance(request.param, Engine):
        return replace(llama, engine=request.param)
    lm = replace(llama, model=request.param())
    return replace(lm, engine=choose_engine(lm, Path()))


@settings(max_examples=25, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(data=st.data())
def test_rows_that_come_read_on_are_cut_and_leave_give_what_each_gives_alone(
    lm: LanguageModel, data: st.DataObject
) -> None:
    pool = KVCache()
    rows: dict[int, tuple[KVPage, list[int]]] = {}
    begun = data.draw(IDS)
    prefix = prefill(lm, begun)
    for step in range(6):
        if data.draw(st.booleans()) or not rows:
            # Less room than it may come to need: then it moves.
            segment = pool.take(data.draw(st.integers(len(begun), 12)))
            known = data.draw(st.integers(0, len(begun)))
            pool.load(segment, prefix, known)
            rows[step] = segment, begun[:known]
        for number in data.draw(st.lists(st.sampled_from(sorted(rows)), max_size=2, unique=True)):
            segment, ids = rows[number]
            if data.draw(st.booleans()):
                pool.free(rows.pop(number)[0])
            else:
                segment.length = data.draw(st.integers(0, len(ids)))
                del ids[segment.length :]
        if not rows:
            continue
        chosen = data.draw(st.lists(st.sampled_from(sorted(rows)), min_size=1, unique=True))
        more = [data.draw(IDS) for _ in chosen]
        logits = advance(lm, pool, [(rows[n][0], own) for n, own in zip(chosen, more, strict=True)])
        for number, own, given_logits in zip(chosen, more, logits, strict=True):
            segment, ids = rows[number]
            ids += own
            assert segment.length == len(ids) <= segment.room
            assert torch.allclose(given_logits, plain(lm, ids), atol=1e-4)
        taken = sorted((one.start, one.start + one.room) for one, _ in rows.values())
        assert all(end <= start for (_, end), (start, _) in pairwise(taken))
        assert sum(one.room for one in pool.pages) == sum(one.room for one, _ in rows.values())
        assert all(part.shape[1] >= taken[-1][1] for part in pool.keys if len(rows) == len(chosen))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_what_a_row_computes_does_not_depend_on_the_others_to_the_last_bit(
    tiny_model: Path, precision: str
) -> None:
    prepare(seed=0, threads=1)
    lm = load(tiny_model, precision)
    texts = [[1 + (7 * row + place) % 300 for place in range(3 + 9 * row)] for row in range(12)]

    def last(rows: list[int], together: bool) -> list[torch.Tensor]:
        pool = KVCache()
        read = [(pool.take(200), texts[row]) for row in rows]
        passes = [read] if together else [[one] for one in read]
        for one_pass in passes:
            advance(lm, pool, one_pass)
        for token in (5, 6, 7):
            logits = advance(lm, pool, [(segment, [token]) for segment, _ in read])
        return list(logits)

    whole = last(list(range(12)), together=True)
    for rows in ([3], [7, 2], [11, 0, 5, 4, 9, 8, 1, 10, 6]):
        for together in (True, False):
            for row, found in zip(rows, last(rows, together), strict=True):
                assert torch.equal(found, whole[row])


@pytest.mark.slow
def test_a_product_of_the_size_of_a_real_model_does_not_depend_on_its_rows() -> None:
    """Processors with AMX sum in another order above 32 rows. Made-up models are too small for it."""
    code = (
        "import torch\n"
        "from nightjar.models.engine.loading import prepare\n"
        "prepare(seed=0, threads=1)\n"
        "weights, rows = torch.randn(576, 1536).bfloat16(), torch.randn(1, 128, 1536).bfloat16()\n"
        "found = [torch.nn.functional.linear(rows[:, :count], weights)[:, :8] for count in (8, 32, 40, 64, 128)]\n"
        "print(all(torch.equal(found[0], other) for other in found))\n"
    )
    done = subprocess.run([forked.interpreter(), "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_without_rows_the_attention_of_a_model_is_the_usual_one(
    tiny_model: Path, llama: LanguageModel
) -> None:
    from transformers import AutoModelForCausalLM

    usual = AutoModelForCausalLM.from_pretrained(str(tiny_model)).eval()
    ids = torch.tensor([[0, 0, 3, 4, 5], [9, 8, 7, 6, 5]])
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    with torch.inference_mode():
        for arguments in ({}, {"attention_mask": mask}):
            wanted = usual(input_ids=ids, **arguments).logits
            assert torch.equal(llama.model(input_ids=ids, **arguments).logits, wanted)
        wanted = usual.generate(input_ids=ids, attention_mask=mask, max_new_tokens=6, do_sample=False)
        found = llama.model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=6, do_sample=False)
    assert torch.equal(found, wanted)


def test_copies_of_a_row_are_read_on_as_the_row_itself(lm: LanguageModel) -> None:
    pool = KVCache()
    row, other = pool.take(9), pool.take(4)
    advance(lm, pool, [(row, [5, 6, 7]), (other, [8])])
    first, second = pool.take(9), pool.take(9)
    pool.copy([])
    pool.copy([(row, first), (other, second), (row, pool.take(3))])
    found = advance(lm, pool, [(row, [9]), (first, [10]), (second, [11])])
    for ids, logits in zip(([5, 6, 7, 9], [5, 6, 7, 10], [8, 11]), found, strict=True):
        torch.testing.assert_close(logits, plain(lm, ids), rtol=1e-4, atol=1e-5)
