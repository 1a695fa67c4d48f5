"""Encoder-decoders against transformers' own generate, one prompt at a time, and what they must refuse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import CONFIG_MAPPING, MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING

from nightjar.core.errors import NightjarError
from nightjar.models.engine.controller import Controller
from nightjar.models.engine.encoder_decoder import batches
from nightjar.models.engine.equality import choose_engine
from nightjar.models.engine.generation import generate
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import load, prepare
from nightjar.models.engine.log_probabilities import continuation_logprobs
from nightjar.models.engine.sampling import Sampling, generator_for
from nightjar.models.engine.sequences import Prompt
from nightjar.models.engine.shared_prefixes import prefill

PROMPTS = [
    "Input: one\nOutput: ",
    "Input: a longer one, of more words\nOutput: ",
    "Input: x",
    "Definition: it",
]


@pytest.fixture(scope="module")
def lm(tiny_t5: Path) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(tiny_t5)


def theirs(lm: LanguageModel, prompt: list[int], steps: int) -> list[int]:
    with torch.inference_mode():
        ids = lm.model.generate(
            input_ids=torch.tensor([prompt]), max_new_tokens=steps, do_sample=False, num_beams=1
        )
    # The first is what every text starts from.
    return [int(token) for token in ids[0, 1:]]


def test_a_batch_of_uneven_prompts_gives_what_transformers_gives_each_alone(lm: LanguageModel) -> None:
    prompts = [lm.tokenizer.encode(text) for text in PROMPTS]
    together = generate(lm, prompts, max_new_tokens=12)
    wanted = [theirs(lm, prompt, 12) for prompt in prompts]
    assert [result.text for result in together] == [lm.tokenizer.decode(ids) for ids in wanted]
    # The prompts and what was written before matter, or this would show little.
    assert len(set(map(tuple, wanted))) == 4
    assert any(len(set(ids)) > 6 for ids in wanted)


@pytest.mark.parametrize("lengths", [[2060, 900, 890, 5], [40] * 3, [700, 400]])
def test_prompts_of_a_batch_are_read_in_passes_without_much_padding(
    lm: LanguageModel, lengths: list[int]
) -> None:
    """T5's bias is a number for each row that is padded, head and pair of tokens: a long prompt is read alone."""
    prompts = [[2 + (place * step) % 300 for place in range(1, n + 1)] for step, n in enumerate(lengths, 3)]
    read: list[tuple[int, int, bool]] = []

    def watch(module: object, given: object, named: dict[str, torch.Tensor]) -> None:
        read.append((*named["input_ids"].shape, named["attention_mask"] is not None))

    hook = lm.model.get_encoder().register_forward_pre_hook(watch, with_kwargs=True)
    together = generate(lm, prompts, 4)
    hook.remove()
    assert sum(rows for rows, _, _ in read) == len(prompts)
    assert all(rows == 1 or rows * width <= 2048 for rows, width, _ in read)
    assert all(not masked for rows, _, masked in read if rows == 1)
    assert [one.text for one in together] == [lm.tokenizer.decode(theirs(lm, it, 4)) for it in prompts]


def test_a_batch_is_bounded_with_its_padding() -> None:
    """Each row has the keys and values of the longest prompt and the longest continuation."""
    prompts = [Prompt(0, [5] * 90, 10), Prompt(1, [5] * 10, 90), Prompt(2, [5] * 10, 10)]
    made = [[one.number for one in batch] for batch in batches(prompts, 3, 360)]
    assert made == [[0, 1], [2]]
    assert [len(batch) for batch in batches(prompts, 2, None)] == [2, 1]
    assert [len(batch) for batch in batches(prompts, 3, 1)] == [1, 1, 1]


def test_the_end_token_ends_a_text(lm: LanguageModel) -> None:
    """The third token of what is written without it is declared the end token: two remain, and the end is counted."""
    prompt = lm.tokenizer.encode(PROMPTS[0])
    written = theirs(lm, prompt, 12)
    assert len(set(written[:3])) == 3
    ends_at_the_third = replace(lm, tokenizer=replace(lm.tokenizer, end=written[2]))
    result = generate(ends_at_the_third, [prompt], 12)[0]
    assert result.text == lm.tokenizer.decode(written[:2])
    assert not result.cut and result.tokens == 3


def test_a_stop_string_ends_the_text_before_it(lm: LanguageModel) -> None:
    prompt = lm.tokenizer.encode(PROMPTS[1])
    whole = generate(lm, [prompt], max_new_tokens=12)[0].text
    mark = whole[-3:]
    result = generate(lm, [prompt], max_new_tokens=12, stop=[mark])[0]
    assert not result.cut and result.text == whole[: whole.find(mark)]


def test_a_row_draws_the_same_whatever_stands_beside_it(lm: LanguageModel) -> None:
    prompts = [lm.tokenizer.encode(text) for text in PROMPTS]

    def sample(numbers: list[int]) -> list[str]:
        sampling = Sampling(1.0, [generator_for(3, str(number)) for number in numbers], top_p=0.8)
        return [g.text for g in generate(lm, [prompts[n] for n in numbers], 8, sampling=sampling)]

    together = sample([0, 1, 2, 3])
    assert sample([3, 1]) == [together[3], together[1]]
    assert len(set(together)) == 4


def test_what_needs_a_running_text_is_refused(lm: LanguageModel) -> None:
    ids = lm.tokenizer.encode(PROMPTS[0])
    for ask in (
        lambda: generate(lm, [ids], 4, controller=Controller()),
        lambda: prefill(lm, ids),
        lambda: continuation_logprobs(lm, [(ids, ids)]),
    ):
        with pytest.raises(NightjarError, match="encoder-decoder"):
            ask()


SIZES = {
    **dict.fromkeys(("d_model", "hidden_size"), 32),
    **dict.fromkeys(("d_ff", "encoder_ffn_dim", "decoder_ffn_dim"), 48),
    **dict.fromkeys(
        ("num_layers", "num_encoder_layers", "num_decoder_layers", "encoder_layers", "decoder_layers"), 2
    ),
    **dict.fromkeys(("num_heads", "encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_encoder_attention_heads", "num_decoder_attention_heads", "num_experts"), 4),
    **dict.fromkeys(("vocab_size", "src_vocab_size", "tgt_vocab_size"), 320),
    "d_kv": 8,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
}
FAMILIES = [
    "bart", "bigbird_pegasus", "blenderbot", "blenderbot-small", "fsmt", "led", "longt5", "m2m_100", "marian", "mbart",
    "mt5", "mvp", "nllb-moe", "pegasus", "pegasus_x", "plbart", "switch_transformers", "t5", "umt5",
]  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_answers_as_its_own_forward(family: str, lm: LanguageModel) -> None:
    kind: Any = CONFIG_MAPPING[family]
    usual = kind()
    sizes = {name: size for name, size in SIZES.items() if hasattr(usual, name)}
    config = kind(**{**sizes, "vocab_size": 320, "decoder_start_token_id": 2})
    torch.manual_seed(0)
    model = MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING[kind]._from_config(config).eval()
    with torch.no_grad():
        for value in model.parameters():
            value.copy_(0.2 * torch.randn(value.shape) + (value if value.dim() < 2 else 0))
    lm = replace(lm, model=model)
    lm = replace(lm, engine=choose_engine(lm, Path("model")))
    prompts = [[5, 6, 7, 8, 9, 10, 11, 12, 13, 1], [14, 15, 16, 1], [17, 18, 1]]
    for prompt, answer in zip(prompts, generate(lm, prompts, 5), strict=True):
        written = [2]
        with torch.inference_mode():
            while len(written) < 6 and lm.tokenizer.end not in written:
                source, target = torch.tensor([prompt]), torch.tensor([written])
                # With a cache, FSMT reads the last token alone.
                logits = model(input_ids=source, decoder_input_ids=target, use_cache=False).logits
                written.append(int(logits[0, -1].argmax()))
        assert answer.text == lm.tokenizer.decode(written[1:])
