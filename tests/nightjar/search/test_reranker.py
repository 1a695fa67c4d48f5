"""The reranker against a plain one: every prompt by itself, from its first token on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM, AutoTokenizer

from nightjar.core.errors import NightjarError
from nightjar.models.engine.language_model import Engine, LanguageModel
from nightjar.models.engine.loading import load
from nightjar.search.reranker import embed, prompts, reorder, shared_prefix
from tests import tiny_models

DEMONSTRATIONS = [
    "Is the sentence good?\na fine film\nThe answer is yes",
    "Is the sentence good?\na dull plot\nThe answer is no",
    "Is the sentence good?\nit never ends, and never begins\nThe answer is no",
]
TEXTS = [
    "moths",
    "a film about moths at dusk and the lamp they love",
    "dull",
    "Eggs? On the ground!",
    "dull",
    "x y",
]


def query(text: str) -> str:
    return f"Is the sentence good?\n{text}\nThe answer is"


PREFIXES = ["\n\n".join(DEMONSTRATIONS[:most]) + "\n\n" * bool(most) for most in range(3, -1, -1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.language_model(tmp_path_factory.mktemp("lm"))


@pytest.fixture(scope="module", params=list(Engine))
def lm(folder: Path, request: pytest.FixtureRequest) -> LanguageModel:
    """With `padded` as on a GPU; `plain` reads whole texts."""
    lm = load(folder)
    assert lm.engine is Engine.ROWS
    return replace(lm, engine=request.param)


def plain(folder: Path, texts: list[str]) -> NDArray[np.float32]:
    """Last hidden states of whole prompts, one at a time, by transformers alone."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = []
    for text in texts:
        with torch.inference_mode():
            ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
            state = model.model(input_ids=ids).last_hidden_state[0, -1]
        rows.append((state / state.norm()).numpy())
    return np.stack(rows)


@pytest.mark.parametrize("prefix", [0, 2, 3])
@pytest.mark.parametrize("batch_tokens", [1, 700, 100_000])
def test_vectors_are_those_of_whole_prompts(
    prefix: int, batch_tokens: int, folder: Path, lm: LanguageModel
) -> None:
    made = prompts(lm.tokenizer, query, PREFIXES[prefix:], TEXTS, 4096)
    assert made.left_out == 0 and made.cut == []
    base = shared_prefix(lm, made.rows)
    # All prompts have a beginning in common, also beyond the demonstrations.
    assert base and len(base.ids) >= len(lm.tokenizer.encode(PREFIXES[prefix] + query("")[:20]))
    found = embed(lm, made.rows, base, batch_tokens)
    expected = plain(folder, [PREFIXES[prefix] + query(text) for text in TEXTS])
    assert found.dtype == np.float32 and np.abs(found - expected).max() < 1e-5


def test_texts_without_a_common_beginning(folder: Path, lm: LanguageModel) -> None:
    rows = prompts(lm.tokenizer, str, [""], ["one text", "another", "z"], 64).rows
    assert shared_prefix(lm, rows) is None
    found = embed(lm, rows, None, 64)
    assert np.abs(found - plain(folder, ["one text", "another", "z"])).max() < 1e-5


@given(st.lists(st.text("ab c\n", max_size=60), min_size=1, max_size=4), st.integers(45, 400))
def test_the_query_is_never_cut(lm: LanguageModel, texts: list[str], most: int) -> None:
    made = prompts(lm.tokenizer, query, PREFIXES, texts, most)
    encode, decode = lm.tokenizer.encode, lm.tokenizer.decode
    prefix = PREFIXES[made.left_out]
    for place, (row, text) in enumerate(zip(made.rows, texts, strict=True)):
        assert len(row) <= most
        whole = decode(row.tolist())
        assert whole.startswith(prefix + query("")[:20]) and whole.endswith("\nThe answer is")
        fits = len(encode(prefix + query(text))) <= most
        assert (place not in made.cut) == fits
        if fits:
            assert row.tolist() == encode(prefix + query(text))
        else:
            kept = whole.removeprefix(prefix).removeprefix(query("")[:22]).removesuffix("...\nThe answer is")
            assert text.startswith(kept)
    # A demonstration is left out only if most texts, or the prompt of an empty one, would not fit with it.
    if made.left_out:
        longer = PREFIXES[made.left_out - 1]
        whole_ones = sum(len(encode(longer + query(text))) <= most for text in texts)
        assert 2 * whole_ones < len(texts) + 1 or len(encode(longer + query("..."))) >= most - 1


def test_one_long_text_takes_the_demonstrations_from_no_other(lm: LanguageModel) -> None:
    long = "a line of many words " * 300
    made = prompts(lm.tokenizer, query, PREFIXES, [*TEXTS, long], 300)
    without = prompts(lm.tokenizer, query, PREFIXES, TEXTS, 300)
    assert made.left_out == without.left_out == 0
    assert made.cut == [len(TEXTS)] and len(made.rows[-1]) <= 300
    for row, expected in zip(made.rows, without.rows, strict=False):
        assert row.tolist() == expected.tolist()


def test_tokens_that_do_not_hold_a_prompt(lm: LanguageModel) -> None:
    with pytest.raises(NightjarError, match="8 tokens do not hold the prompt of an empty text"):
        prompts(lm.tokenizer, query, PREFIXES, ["a"], 8)


def test_an_encoder_decoder_is_refused(tmp_path: Path) -> None:
    model = load(tiny_models.encoder_decoder(tmp_path))
    with pytest.raises(NightjarError, match="reranking needs a causal model"):
        shared_prefix(model, [np.array([1, 2, 3], np.int32)])


def _unit(rows: list[list[float]]) -> NDArray[np.float32]:
    vectors = np.array(rows, np.float32)
    unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


@given(st.lists(st.integers(0, 5), max_size=12))
def test_the_order_is_that_of_the_products_and_ties_keep_theirs(places: list[int]) -> None:
    vectors = _unit([[1, 0.2], [0.1, 1], [1, 0.2], [0.5, 0.5], [-1, 0.3], [0.4, 0.9]])
    question = _unit([[1, 0]])[0]
    order, scores = reorder(question, vectors, np.array(places, np.int64))
    products = [float(vectors[place].astype(float) @ question.astype(float)) for place in places]
    expected = sorted(range(len(places)), key=lambda place: (-products[place], place))
    assert order.tolist() == expected
    whole = sum(np.exp(product) for product in products)
    assert np.allclose(scores, [np.exp(products[place]) / whole for place in expected])
