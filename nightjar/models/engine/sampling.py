"""Draws of tokens: the distribution, its nucleus, and the random numbers of each sequence."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from nightjar.core.errors import NightjarError
from nightjar.models.engine.sequences import GeneratedSequence

# Candidates among which a nucleus is looked for first; sorting a whole vocabulary takes many times longer.
LIKELIEST = 256


@dataclass(frozen=True)
class Sampling:
    """The distribution that tokens are drawn from: softmax(logits / temperature), cut to its nucleus.

    `temperature` is above 0, `top_p` above 0 and at most 1. `generators`: one for each row, or a function that makes
    that of a row number, so that what a row draws does not depend on the rows beside it; or one for all rows, which
    use it in turn.
    """

    temperature: float
    generators: Sequence[torch.Generator] | Callable[[int], torch.Generator] | torch.Generator
    top_p: float = 1.0

    def generator(self, row: int) -> torch.Generator:
        """The generator of a row. A function is called each time: keep what it returns."""
        if isinstance(self.generators, torch.Generator):
            return self.generators
        return self.generators(row) if callable(self.generators) else self.generators[row]

    def draw(self, logits: torch.Tensor, generators: Sequence[torch.Generator]) -> list[int]:
        """A token for each row of the (rows, vocabulary) logits, with one number of its generator."""
        return [tokens[0] for tokens in self.draws(logits, [[generator] for generator in generators])]

    def draws(self, logits: torch.Tensor, generators: Sequence[Sequence[torch.Generator]]) -> list[list[int]]:
        """Draw for each row of the (rows, vocabulary) logits a token a generator, with one number of it each."""
        if not 0 < self.temperature < float("inf") or not 0 < self.top_p <= 1:
            what = f"temperature {self.temperature}, top_p {self.top_p}"
            raise NightjarError(what, "Sampling", "give a temperature above 0, and top_p above 0 up to 1")
        widest = max(map(len, generators))
        numbers = torch.zeros(len(generators), widest, dtype=torch.float64)
        for row, several in enumerate(generators):
            for place, generator in enumerate(several):
                numbers[row, place] = torch.rand(
                    (), generator=generator, dtype=torch.float64, device=generator.device
                )
        probabilities = (logits.float() / self.temperature).softmax(-1)
        tokens, weights = nucleus(probabilities, self.top_p)
        sums = weights.cumsum(-1)
        # Above 0 and at most the sum: a token of weight 0 is never the first to reach it.
        targets = (1 - numbers.to(logits.device)) * sums[:, -1:]
        places = torch.searchsorted(sums, targets).clamp(max=sums.shape[1] - 1)
        drawn: list[list[int]] = (places if tokens is None else tokens.gather(1, places)).tolist()
        return [row[: len(several)] for row, several in zip(drawn, generators, strict=True)]


def nucleus(
    probabilities: torch.Tensor, top_p: float, candidates: int = LIKELIEST
) -> tuple[torch.Tensor | None, torch.Tensor]:
    """Find the smallest set of tokens that reaches `top_p`, for each row of (rows, vocabulary) probabilities.

    Returns tokens and weights in double precision, (rows, n) each: the likeliest first, the lower id among equals, and
    weight 0 outside the set. None for the tokens means all, by their ids. Weights are not scaled to sum to 1.
    Only the likeliest tokens, `candidates` many, are sorted where these are enough.
    """
    if top_p >= 1.0:
        return None, probabilities.double()
    candidates = min(candidates, probabilities.shape[1])
    values, tokens = probabilities.topk(candidates)
    # Where the set reaches the last candidates, or these equal what was left out, all tokens are needed.
    inside = values.double().cumsum(-1) - values.double() < top_p
    if bool((inside & (values <= values[:, -1:])).any()):
        values, tokens = (
            probabilities,
            torch.arange(probabilities.shape[1], device=values.device).expand_as(probabilities),
        )
    tokens, order = tokens.sort(-1)
    ordered, places = values.gather(1, order).double().sort(descending=True, stable=True)
    before = ordered.cumsum(-1) - ordered
    return tokens.gather(1, places), ordered.where(before < top_p, 0.0)


def draw_tokens(
    sampling: Sampling | None, rows: Sequence[GeneratedSequence], logits: torch.Tensor
) -> list[int]:
    """A token for each row by its logits, in one call and with one transfer from the device."""
    if sampling is not None:
        return sampling.draw(logits, [row.generator for row in rows if row.generator is not None])
    likeliest: list[int] = logits.argmax(-1).tolist()
    return likeliest


def generator_for(seed: int, text_sha256: str) -> torch.Generator:
    """A generator on the CPU whose draws depend on the seed and on this text alone."""
    digest = hashlib.sha256(f"{seed} {text_sha256}".encode()).digest()
    # torch takes seeds below 2 ** 64; a bit less leaves no sign bit.
    return torch.Generator().manual_seed(int.from_bytes(digest[:8]) >> 1)
