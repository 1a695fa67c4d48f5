"""The engine of a model: the fastest one that gives the logits of the model's own forward, compared on a text.

Rows of unlike lengths are read in pieces beside each other, and a batch is read at once. A model that attends to a
window is compared with a window shorter than the text. An encoder-decoder answers prompts of unlike lengths in a batch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers.utils import logging as transformers_logging

from nightjar.core.errors import NightjarError
from nightjar.models.directory.pretrained import DECODER_FIX, NO_DECODER
from nightjar.models.engine.encoder_decoder import begin_batch, decode_step, start_token
from nightjar.models.engine.forward_pass import advance, logits_at
from nightjar.models.engine.kv_cache import KVCache
from nightjar.models.engine.language_model import Engine, LanguageModel
from nightjar.models.engine.packed_attention import ATTENTION
from nightjar.models.engine.plain_forward import plain_answer_logits, plain_logits

TEXT = (
    "The nightjar is a bird that flies at dusk; by day it sits on the ground, where 1 in 20 people who pass sees it. "
    "What does it eat? Moths, beetles and other insects of the night."
)
# The tokens of the rows, and in each pass how many of them are read: (row, tokens).
LENGTHS = (30, 9, 5)
PASSES = (((0, 11), (1, 3)), ((0, 1), (2, 4), (1, 1)), ((1, 5), (0, 18), (2, 1)))
# Token by token behind the first pieces, of a row beside another.
STEPS = (((0, 11), (1, 3)), *((((0, 1), (1, 1)),) * 6))
# A window is compared at so many tokens.
WINDOW = 6
# The settings that bound what a token attends to, and those of like names that do not. Mamba's chunks are only a way to
# compute.
WINDOWS = re.compile(
    r"(?!.*(layers|pattern|feed_forward)|(mamba_)?chunk_size$).*(window|chunk_size|index_topk|index_block)"
)
# Those that say nothing where the type of every layer is full attention.
FULL = ("sliding_window", "attention_chunk_size")
# Models of so many elements are compared in float32. Larger ones are compared in their own precision.
SMALL = 2**29
# The largest difference by rounding: the root mean square of what logits differ by, as a part of their deviation. In
# engines that are right it is 1e-5 in float32, and up to 0.1 in bfloat16; wrong ones reach 0.3 or more.
TOLERANCES = {torch.float32: 1e-3, torch.bfloat16: 0.25}
# Positions that depend on the length of the longest text in a pass.
BY_LENGTH = ("dynamic", "longrope")


@torch.inference_mode()
def choose_engine(lm: LanguageModel, folder: Path) -> Engine:
    """The engine of a model, which is left with the attention that the engine needs.

    Raises NightjarError for a model whose tokens see later ones, which is no decoder, and for one that does not repeat
    what it computes.
    """
    rows = _rows(lm)
    with torch.random.fork_rng(), _quiet(), in_float32(lm.model):
        if lm.encoder_decoder:
            return Engine.PADDED if _equal_answers(lm, rows) else Engine.PLAIN
        full = [plain_logits(lm.model, ids) for ids in rows]
        engine = _engine(lm, rows, full)
        if engine.alone:
            # In pieces, the other engines cannot give a token what depends on later ones.
            _check_decoder(lm, rows[0], full[0], folder)
        return engine


def _engine(lm: LanguageModel, rows: list[list[int]], full: list[torch.Tensor]) -> Engine:
    """The fastest engine of a causal model that gives these logits, also with short windows."""
    config = lm.model.config.get_text_config(decoder=True)
    long = [name for name, size in attention_windows(config).items() if size > WINDOW]
    if _by_length(config) or any(not _has_effect(lm, name, rows[0], full[0]) for name in long):
        return Engine.PLAIN
    usual = lm.model.config._attn_implementation
    with _short(config, long):
        reference = [plain_logits(lm.model, ids) for ids in rows] if long else full
        if _set_attention(lm.model, ATTENTION) and _equal(replace(lm, engine=Engine.ROWS), rows, reference):
            return Engine.ROWS
        _set_attention(lm.model, usual)
        if _equal(replace(lm, engine=Engine.PADDED), rows, reference):
            return Engine.PADDED
        cached = _equal(replace(lm, engine=Engine.CACHED), rows, reference, STEPS)
        return Engine.CACHED if cached else Engine.PLAIN


def _rows(lm: LanguageModel) -> list[list[int]]:
    """Ids of LENGTHS, which do not begin alike."""
    ids = lm.tokenizer.continuation(TEXT)
    ids *= 1 + sum(LENGTHS) // len(ids)
    begins = [sum(LENGTHS[:number]) for number in range(len(LENGTHS))]
    return [ids[start : start + length] for start, length in zip(begins, LENGTHS, strict=True)]


def _check_decoder(lm: LanguageModel, ids: list[int], logits: torch.Tensor, folder: Path) -> None:
    half, dtype = len(ids) // 2, lm.model.dtype
    if nearly_equal(plain_logits(lm.model, ids[:half]), logits[:half], dtype):
        return
    if not nearly_equal(plain_logits(lm.model, ids), logits, dtype):
        raise NightjarError("this model computes other values each time", folder, "use another model")
    raise NightjarError(f"{type(lm.model).__name__} {NO_DECODER}", folder, DECODER_FIX)


def _equal(
    lm: LanguageModel,
    rows: list[list[int]],
    logits: list[torch.Tensor],
    passes: Sequence[Sequence[tuple[int, int]]] = PASSES,
) -> bool:
    """Return True if an engine gives these logits; a model of any kind fails in its own way."""
    cache = KVCache()
    pages = [cache.take(length) for length in LENGTHS]
    try:
        for reads in passes:
            pieces = []
            for row, count in reads:
                start = pages[row].length
                pieces.append((pages[row], rows[row][start : start + count]))
            results = advance(lm, cache, pieces)
            for (row, _), result in zip(reads, results, strict=True):
                if not nearly_equal(result, logits[row][pages[row].length - 1], lm.model.dtype):
                    return False
        batch = [ids[: LENGTHS[1]] for ids in rows]
        results = logits_at(lm, batch, range(LENGTHS[1]))
        return all(
            nearly_equal(result[: len(ids)], reference[: len(ids)], lm.model.dtype)
            for ids, result, reference in zip(batch, results, logits, strict=True)
        )
    except Exception:
        return False


def _equal_answers(lm: LanguageModel, rows: list[list[int]]) -> bool:
    """Return True if an encoder-decoder answers prompts of unlike lengths in a batch as it answers each alone."""
    try:
        answers = [[start_token(lm), *ids[:3]] for ids in rows]
        reference = [plain_answer_logits(lm.model, *one) for one in zip(rows, answers, strict=True)]
        batch = begin_batch(lm, rows)
        for place in range(len(answers[0])):
            if place:
                batch = decode_step(lm, batch, [answer[place] for answer in answers])
            for result, logits in zip(batch.logits[:, -1], reference, strict=True):
                if not nearly_equal(result, logits[place], lm.model.dtype):
                    return False
    except Exception:
        return False
    return True


def nearly_equal(logits: torch.Tensor, reference: torch.Tensor, dtype: torch.dtype) -> bool:
    """Return True if logits are those of the reference, but for rounding."""
    difference = (logits - reference).square().mean().sqrt()
    return bool(difference <= TOLERANCES[dtype] * reference.std())


def _set_attention(model: Any, name: str) -> bool:
    try:
        model.set_attn_implementation(name)
    except Exception:
        return False
    return True


def _by_length(config: Any) -> bool:
    """Return True if what a row computes depends on the longest row of a pass."""
    ropes = getattr(config, "rope_parameters", None) or {}
    kinds = [ropes, *(one for one in ropes.values() if isinstance(one, dict))]
    return any(one.get("rope_type") in BY_LENGTH for one in kinds)


def attention_windows(config: Any) -> dict[str, int]:
    """The settings that bound what a token attends to, in tokens."""
    values = config.to_dict()
    unused = FULL if set(values.get("layer_types") or ()) == {"full_attention"} else ()
    return {
        name: size
        for name, size in values.items()
        if WINDOWS.match(name) and name not in unused and type(size) is int and size
    }


def _has_effect(lm: LanguageModel, window: str, ids: list[int], logits: torch.Tensor) -> bool:
    """Return True if the model reads the setting of a window when it runs: a shorter one can be compared."""
    with _short(lm.model.config.get_text_config(decoder=True), [window]):
        return not torch.equal(plain_logits(lm.model, ids), logits)


@contextmanager
def _short(config: Any, windows: Sequence[str]) -> Iterator[None]:
    """Set short windows within the block."""
    sizes = {name: getattr(config, name) for name in windows}
    try:
        for name in windows:
            setattr(config, name, WINDOW)
        yield
    finally:
        for name, size in sizes.items():
            setattr(config, name, size)


@contextmanager
def in_float32(model: Any) -> Iterator[None]:
    """Convert a small model to float32 within the block, where rounding hides no difference."""
    tensors = [tensor for tensor in (*model.parameters(), *model.buffers()) if tensor.dtype is torch.bfloat16]
    if sum(tensor.numel() for tensor in tensors) > SMALL:
        tensors = []
    values = [tensor.data for tensor in tensors]
    try:
        for tensor in tensors:
            tensor.data = tensor.data.float()
        yield
    finally:
        for tensor, value in zip(tensors, values, strict=True):
            tensor.data = value


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the warnings of a model that is tried."""
    level = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
