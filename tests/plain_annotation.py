"""Sampling and filtering straight from the formulas (Toolformer, section 2): the truth for the batched version.

One sample at a time, each reading its whole prompt; one forward pass a loss, each over the whole text.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch

from nightjar.models.engine.language_model import LanguageModel
from nightjar.tools import Call, Losses, Text, Tool, write
from nightjar.tools.annotate import AnnotationSettings

UNNORMALISED = [1.0, 0.8, 0.6, 0.4, 0.2]
# Every position may have a call.
SETTINGS = AnnotationSettings(
    sampling_threshold=0.0, positions=99, samples=1, temperature=1.0, max_call_tokens=6, max_text_tokens=64
)


def _begin(lm: LanguageModel) -> list[int]:
    ids: list[int] = lm.tokenizer.backend.encode("").ids
    return ids


def _ids(lm: LanguageModel, tool: Tool, text: Text) -> tuple[list[int], list[int]]:
    """The prompt with the text's context, and the body."""
    encode = lm.tokenizer.continuation
    shown = f"{text.context} {text.body}".strip()
    prompt = _begin(lm) + encode(f"{tool.instructions}Input: {shown}\nOutput:")
    return prompt + (encode(f" {text.context}") if text.context else []), encode(f" {text.body}")


def _logits(lm: LanguageModel, ids: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        logits: torch.Tensor = lm.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float()
    return logits


def log_probabilities(lm: LanguageModel, ids: list[int]) -> torch.Tensor:
    return _logits(lm, ids).log_softmax(-1)


def marker_probabilities(lm: LanguageModel, tool: Tool, text: Text) -> list[float]:
    """p_i of every token of the body."""
    prompt, body = _ids(lm, tool, text)
    table = _logits(lm, prompt + body).softmax(-1)
    marker = lm.tokenizer.continuation(" [")[0]
    values: list[float] = table[len(prompt) - 1 : len(prompt) - 1 + len(body), marker].tolist()
    return values


def sample(
    lm: LanguageModel,
    tool: Tool,
    text: Text,
    place: int,
    seed: str,
    temperature: float,
    most: int,
    possible: Callable[[str], bool] = lambda text: True,
) -> tuple[str, bool]:
    """One text sampled behind the marker before the token at `place`, and whether it came to its "]"."""
    prompt, body = _ids(lm, tool, text)
    random, written = Random(seed), list[int]()
    read = [*prompt, *body[:place], lm.tokenizer.continuation(" [")[0]]
    cache = None
    while len(written) < most:
        with torch.inference_mode():
            result = lm.model(input_ids=torch.tensor([read]), past_key_values=cache, use_cache=True)
        cache = result.past_key_values
        chances = (result.logits[0, -1].float() / temperature).softmax(-1).double().cumsum(-1)
        read = [int(torch.searchsorted(chances, random.random() * float(chances[-1]), right=True))]
        if read[0] == lm.tokenizer.end:
            return lm.tokenizer.decode(written), False
        written += read
        so_far, bracket, _ = lm.tokenizer.decode(written).partition("]")
        if bracket or not possible(so_far):
            return so_far, bool(bracket)
    return lm.tokenizer.decode(written), False


Read = Callable[[LanguageModel, list[int]], torch.Tensor]


def losses(
    lm: LanguageModel, text: Text, place: int, call: Call, result: str, read: Read = log_probabilities
) -> Losses:
    """The three losses of a call before the token at `place`."""
    befores = ("", write(call, ""), write(call, result))
    return Losses(*(loss(lm, text, place, before, read) for before in befores))


def loss(lm: LanguageModel, text: Text, place: int, before: str, read: Read = log_probabilities) -> float:
    """L_i with `before` in front of the whole text."""
    encode = lm.tokenizer.continuation
    context, body = encode(f" {text.context}") if text.context else [], encode(f" {text.body}")
    ids = [*(_begin(lm) or [lm.tokenizer.end]), *(encode(before) if before else []), *context, *body]
    table = read(lm, ids)
    first = len(ids) - len(body) + place
    known = [float(table[n - 1, ids[n]]) for n in range(first, min(first + 5, len(ids)))]
    return -sum(
        weight / sum(UNNORMALISED) * value for weight, value in zip(UNNORMALISED, known, strict=False)
    )
