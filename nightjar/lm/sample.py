"""Sampling a token: temperature, then the nucleus, then a draw from what is left."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn: from softmax(logits / temperature), cut to its nucleus.

    `temperature` is above 0. `generators`: one a row, so that what a row draws does not hang on the rows beside it, or
    the same one for all.
    """

    temperature: float
    generators: Sequence[torch.Generator] | torch.Generator
    top_p: float = 1.0

    def draw(self, logits: torch.Tensor, row: int) -> int:
        """A token for row number `row`, from its (vocabulary,) logits."""
        given = self.generators
        generator = given if isinstance(given, torch.Generator) else given[row]
        probabilities = nucleus((logits.float() / self.temperature).softmax(-1), self.top_p)
        return int(torch.multinomial(probabilities.to(generator.device), 1, generator=generator))


def nucleus(probabilities: torch.Tensor, top_p: float) -> torch.Tensor:
    """The (vocabulary,) probabilities with 0 outside the smallest set of tokens that reaches `top_p` together.

    The likeliest come first, the lower id among equals; what is left is not scaled to sum to 1.
    """
    if top_p >= 1.0:
        return probabilities
    ordered, places = probabilities.double().sort(descending=True, stable=True)
    before = ordered.cumsum(0) - ordered
    kept = torch.zeros_like(probabilities)
    inside = places[before < top_p]
    kept[inside] = probabilities[inside]
    return kept


def generator_for(seed: int, text_sha256: str) -> torch.Generator:
    """A generator on the CPU whose draws hang on the seed and on this text alone."""
    digest = hashlib.sha256(f"{seed} {text_sha256}".encode()).digest()
    # torch takes seeds below 2 ** 64; a bit less leaves it no sign to stumble over.
    return torch.Generator().manual_seed(int.from_bytes(digest[:8]) >> 1)
