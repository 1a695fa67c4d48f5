"""Forward passes of encoder-decoders: the prompts are read once, then the decoder writes token by token.

Prompts are padded at the end, which T5's relative positions do not see, and masked: every row gives what it would give
alone. A model of which that is not true (`equality`) reads each prompt and its answer by its own forward. The encoder
reads prompts in passes of few tokens. With padding, T5's bias is a number for each row, head and pair of tokens: 60 GB
for 7 prompts of 8,192 tokens and 64 heads. A row alone needs no mask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import DynamicCache, EncoderDecoderCache

from nightjar.core.errors import NightjarError
from nightjar.models.completions import Completion
from nightjar.models.engine.detokeniser import Detokeniser
from nightjar.models.engine.language_model import Engine, LanguageModel
from nightjar.models.engine.plain_forward import plain_answer_logits
from nightjar.models.engine.sampling import Sampling, draw_tokens
from nightjar.models.engine.sequences import GeneratedSequence, Prompt

# Tokens of a pass of the encoder, padding included; a longer prompt is read alone.
PASS = 2048


@dataclass
class DecoderBatch:
    """The state after a forward pass: from which a decoding loop continues.

    `logits` is (rows, 1, vocabulary) in float32, `mask` (rows, columns of the decoder) with 1 for a token that counts,
    and `encoded` has the prompts as the encoder left them.
    """

    logits: torch.Tensor
    cache: Any
    mask: torch.Tensor
    encoded: Any = None


def start_token(lm: LanguageModel) -> int:
    """The id that the decoder begins every text with."""
    for config in (lm.model.generation_config, lm.model.config):
        token = getattr(config, "decoder_start_token_id", None)
        if token is not None:
            return int(token)
    raise NightjarError(
        "this encoder-decoder has no decoder_start_token_id", "models.language_model", "add it to config.json"
    )


@torch.inference_mode()
def begin_batch(lm: LanguageModel, rows: Sequence[Sequence[int]]) -> DecoderBatch:
    """Read `rows` of ids (each at least one); returns the state with the logits of the first token to be written."""
    width = max(map(len, rows))
    hidden = torch.cat(
        [pad(_encoded(lm, part), (0, 0, 0, width - max(map(len, part)))) for part in _passes(rows)]
    )
    mask = _mask(lm, rows)
    cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
    nothing = torch.empty(len(rows), 0, dtype=torch.long, device=lm.device)
    return decode_step(
        lm, DecoderBatch(torch.empty(0), cache, nothing, (hidden, mask)), [start_token(lm)] * len(rows)
    )


def _passes(rows: Sequence[Sequence[int]]) -> Iterator[Sequence[Sequence[int]]]:
    """The rows in their order, in parts of at most PASS tokens with padding, or of one row."""
    first = 0
    for last in range(1, len(rows) + 1):
        if last == len(rows) or (last + 1 - first) * max(map(len, rows[first : last + 1])) > PASS:
            yield rows[first:last]
            first = last


def _encoded(lm: LanguageModel, rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """Encode the rows: hidden states of (rows, longest, size)."""
    width, end = max(map(len, rows)), lm.tokenizer.end
    ids = torch.tensor([[*row, *[end] * (width - len(row))] for row in rows], device=lm.device)
    mask = _mask(lm, rows) if min(map(len, rows)) < width else None
    hidden: torch.Tensor = lm.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
    return hidden


def _mask(lm: LanguageModel, rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """1 for the tokens of rows and 0 for what follows them, (rows, longest)."""
    width = max(map(len, rows))
    return torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], device=lm.device)


@torch.inference_mode()
def decode_step(lm: LanguageModel, batch: DecoderBatch, tokens: Sequence[int]) -> DecoderBatch:
    """One more token a row; returns the state with the logits that follow it, (rows, 1, vocabulary)."""
    hidden, mask = batch.encoded
    ids = torch.tensor(tokens, device=lm.device)[:, None]
    result = lm.model(
        encoder_outputs=(hidden,),
        attention_mask=mask,
        decoder_input_ids=ids,
        past_key_values=batch.cache,
        use_cache=True,
    )
    columns = torch.cat([batch.mask, torch.ones_like(ids)], dim=1)
    return DecoderBatch(result.logits[:, -1:].float(), result.past_key_values, columns, batch.encoded)


def stream(
    lm: LanguageModel,
    prompts: Iterable[Prompt],
    sampling: Sampling | None,
    batch_size: int,
    batch_tokens: int | None,
) -> Iterator[tuple[int, Completion]]:
    """Continue prompts as `generation.stream` does, but decode each batch to its end."""
    for batch in batches(prompts, batch_size, batch_tokens):
        yield from _together(lm, batch, sampling)


def batches(prompts: Iterable[Prompt], batch_size: int, batch_tokens: int | None) -> Iterator[list[Prompt]]:
    """The batches in which an encoder-decoder answers prompts, in their order.

    The keys and values of a batch are padded: each row counts as the longest prompt with the longest continuation.
    """
    batch: list[Prompt] = []
    for prompt in prompts:
        candidates = [*batch, prompt]
        tokens = len(candidates) * (
            max(len(one.ids) for one in candidates) + max(one.max_new_tokens for one in candidates)
        )
        if batch and (len(batch) == batch_size or (batch_tokens is not None and tokens > batch_tokens)):
            yield batch
            batch = []
        batch.append(prompt)
    if batch:
        yield batch


@torch.inference_mode()
def _together(
    lm: LanguageModel, prompts: Sequence[Prompt], sampling: Sampling | None
) -> list[tuple[int, Completion]]:
    rows = [
        GeneratedSequence(
            prompt, Detokeniser(lm.tokenizer), sampling.generator(prompt.number) if sampling else None
        )
        for prompt in prompts
    ]
    plain, start = lm.engine is Engine.PLAIN, start_token(lm)
    batch = None if plain else begin_batch(lm, [prompt.ids for prompt in prompts])
    while True:
        places = [place for place, row in enumerate(rows) if not row.ended]
        if batch is None:
            answers = [(prompts[place].ids, [start, *rows[place].ids]) for place in places]
            logits = torch.stack([plain_answer_logits(lm.model, *answer)[-1] for answer in answers])
        else:
            logits = batch.logits[places, -1]
        tokens = [lm.tokenizer.end] * len(rows)
        for place, token in zip(
            places, draw_tokens(sampling, [rows[p] for p in places], logits), strict=True
        ):
            rows[place].append(token, held=False)
            tokens[place] = token
        if all(row.ended for row in rows):
            return [(row.number, row.result()) for row in rows]
        batch = batch and decode_step(lm, batch, tokens)
