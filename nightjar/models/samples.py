"""Sampling: how a token is drawn, and many samples of each of some prompts, computed once where they are alike.

A prompt is read once. Its samples that have drawn the same tokens so far are one row of a pass: each draws its next
token with its own random numbers from the logits of that row, so samples are distributed as independent ones. Rows of
several prompts share a pass. They are read without padding and do not depend on those beside them (`rows`): a sample is
the one that its generator would draw alone.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from nightjar.core.arguments import check_count
from nightjar.core.errors import NightjarError
from nightjar.models.forward import causal_only
from nightjar.models.model import Text
from nightjar.models.row import Prompt, Row
from nightjar.models.rows import Pool, Segment, advance

if TYPE_CHECKING:
    from nightjar.models.load import LanguageModel

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
        """For each row of the (rows, vocabulary) logits a token a generator, with one number of it each."""
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


def draw(sampling: Sampling | None, rows: Sequence[Row], logits: torch.Tensor) -> list[int]:
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


# Rows of a pass, if the caller does not say: enough for fast matrix products. Their logits are the largest tensors.
ROWS = 64


def stream_samples(
    lm: LanguageModel,
    prompts: Iterable[Prompt],
    count: int,
    sampling: Sampling,
    rows: int = ROWS,
    tokens: int | None = None,
) -> Iterator[tuple[int, list[Text]]]:
    """`count` continuations of each prompt, in the order of their numbers: the prompts' numbers and these, as they end.

    Sample n of the prompt of number p draws with the generator of row p * count + n of `sampling`: it depends on the
    model, the prompt and this generator alone. At most `rows` rows are read in a pass. `tokens` bounds those of all
    rows in memory, prompts and limits included: samples that would need more are drawn one group after another. Raises
    NightjarError for an encoder-decoder.
    """
    causal_only(lm, "drawing samples of a prompt")
    check_count(count, "count")
    return _Forest(lm, count, sampling, rows, tokens).grow(prompts)


@dataclass(eq=False)
class _Tree:
    """The samples of a prompt: those found, the groups that are not begun, and how many of this one have not ended.

    `segment` has what was read of the prompt, `logits` are those behind it. `need`: its tokens in memory, at most.
    """

    prompt: Prompt
    segment: Segment
    groups: deque[range]
    need: int
    logits: torch.Tensor | None = None
    open: int = 0
    samples: dict[int, Text] = field(default_factory=dict)


@dataclass(eq=False)
class _Node:
    """Samples that have drawn the same `ids` so far; none yet at the root of a tree.

    `samples` has the number and the generator of each. `segment` has what was read: first the parent's, then the
    node's own. `unread`: children that were not read yet.
    """

    tree: _Tree
    ids: list[int]
    samples: list[tuple[int, torch.Generator]]
    segment: Segment
    parent: _Node | None = None
    unread: int = 0


class _Forest:
    """The trees of the prompts whose samples are being drawn, and their nodes that wait to be read."""

    def __init__(
        self, lm: LanguageModel, count: int, sampling: Sampling, rows: int, tokens: int | None
    ) -> None:
        self.lm, self.count, self.sampling, self.rows, self.tokens = lm, count, sampling, rows, tokens
        self.pool, self.taken = Pool(), 0
        self.waiting: deque[_Node] = deque()

    @torch.inference_mode()
    def grow(self, prompts: Iterable[Prompt]) -> Iterator[tuple[int, list[Text]]]:
        """The samples of each prompt, as they end."""
        coming = iter(prompts)
        ahead = next(coming, None)
        while ahead is not None or self.waiting:
            while ahead is not None and len(self.waiting) < self.rows and self._fits(ahead):
                self.waiting.append(self._plant(ahead))
                ahead = next(coming, None)
            nodes = [self.waiting.popleft() for _ in range(min(self.rows, len(self.waiting)))]
            logits = self._read(nodes)
            if grown := [place for place, node in enumerate(nodes) if node.samples]:
                self._draw([nodes[place] for place in grown], logits[grown])
            for tree in {id(node.tree): node.tree for node in nodes}.values():
                while not tree.open and tree.groups and tree.logits is not None:
                    self._draw([self._begin(tree)], tree.logits)
                if not tree.open:
                    yield tree.prompt.number, self._fell(tree)

    def _group(self, prompt: Prompt) -> int:
        """Return the number of samples of a prompt that are drawn together."""
        return self.count if self.tokens is None else max(1, min(self.count, self.tokens // prompt.room))

    def _fits(self, prompt: Prompt) -> bool:
        """Return True if there is room for the prompt; one that is alone always fits."""
        need = self._group(prompt) * prompt.room
        return not self.taken or self.tokens is None or self.taken + need <= self.tokens

    def _plant(self, prompt: Prompt) -> _Node:
        """A tree for the prompt; its root."""
        group = self._group(prompt)
        groups = deque(range(first, min(first + group, self.count)) for first in range(0, self.count, group))
        tree = _Tree(prompt, self.pool.take(prompt.room), groups, group * prompt.room)
        self.taken += tree.need
        return _Node(tree, [], [], tree.segment)

    def _begin(self, tree: _Tree) -> _Node:
        """The root of a tree again, with the samples of its next group."""
        numbers, first = tree.groups.popleft(), tree.prompt.number * self.count
        tree.open = len(numbers)
        samples = [(number, self.sampling.generator(first + number)) for number in numbers]
        return _Node(tree, [], samples, tree.segment)

    def _fell(self, tree: _Tree) -> list[Text]:
        """Give the memory of a tree back; its samples in order."""
        self.pool.free(tree.segment)
        self.taken -= tree.need
        return [tree.samples[number] for number in range(self.count)]

    def _draw(self, nodes: Sequence[_Node], logits: torch.Tensor) -> None:
        """Draw the next token of every sample of the nodes, by the logits behind each: (nodes, vocabulary)."""
        drawn = self.sampling.draws(logits, [[generator for _, generator in node.samples] for node in nodes])
        for node, tokens in zip(nodes, drawn, strict=True):
            for child in _children(node, tokens):
                sample = self._ended(child)
                if sample is None:
                    self.waiting.append(child)
                    node.unread += 1
                else:
                    node.tree.samples.update((number, sample) for number, _ in child.samples)
                    node.tree.open -= len(child.samples)
            if node.parent is not None and not node.unread:
                self.pool.free(node.segment)

    def _ended(self, node: _Node) -> Text | None:
        """The sample of a node that is at its end."""
        prompt = node.tree.prompt
        if node.ids[-1] == self.lm.tokenizer.end:
            return Text(self.lm.tokenizer.decode(node.ids[:-1]), tokens=len(node.ids))
        text = self.lm.tokenizer.decode(node.ids)
        first, stop = min(
            ((first, mark) for mark in prompt.stop if (first := text.find(mark)) >= 0),
            default=(len(text), None),
        )
        if stop is None and len(node.ids) < prompt.max_new_tokens:
            return None
        return Text(text[:first], stop is None, len(node.ids), stop=stop)

    def _read(self, nodes: Sequence[_Node]) -> torch.Tensor:
        """The logits behind the last token of each node, (nodes, vocabulary)."""
        copied = []
        for node in nodes:
            if (parent := node.parent) is None:
                continue
            parent.unread -= 1
            # The last child continues its parent's row, the others continue copies of it.
            if parent.unread or parent.parent is None:
                node.segment = self.pool.take(node.tree.prompt.room)
                copied.append((parent.segment, node.segment))
        self.pool.copy(copied)
        reads = [(node.segment, node.ids[-1:] or node.tree.prompt.ids) for node in nodes]
        logits = advance(self.lm, self.pool, reads)
        for node, node_logits in zip(nodes, logits, strict=True):
            if node.parent is None:
                node.tree.logits = node_logits[None].clone()
        return logits


def _children(node: _Node, tokens: Sequence[int]) -> list[_Node]:
    """The samples by the token that each has drawn, in the order of the first that drew it."""
    groups: dict[int, list[tuple[int, torch.Generator]]] = {}
    for token, sample in zip(tokens, node.samples, strict=True):
        groups.setdefault(token, []).append(sample)
    return [
        _Node(node.tree, [*node.ids, token], samples, node.segment, node) for token, samples in groups.items()
    ]
