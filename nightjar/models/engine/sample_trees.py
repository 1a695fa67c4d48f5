"""Trees of samples: many samples of each of several prompts, computed once while they have the same tokens.

A prompt is read once. Its samples that have drawn the same tokens so far are a node: one page of the KV cache, and one
row of a pass. Each draws its next token with its own random numbers from the logits of that row, so samples are
distributed as independent ones. Nodes of several prompts share a pass, packed, and do not depend on each other: a
sample is the one that its generator would draw alone.

`text_trees` is for samples that begin at many places of one text: its nodes are columns of one sequence, with a mask.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch

from nightjar.core.arguments import check_count
from nightjar.models.completions import Completion
from nightjar.models.engine.forward_pass import advance
from nightjar.models.engine.kv_cache import KVCache, KVPage
from nightjar.models.engine.language_model import LanguageModel, causal_only
from nightjar.models.engine.sampling import Sampling
from nightjar.models.engine.sequences import Prompt

# Rows of a pass, if the caller does not say: enough for fast matrix products. Their logits are the largest tensors.
ROWS = 64


def stream_samples(
    lm: LanguageModel,
    prompts: Iterable[Prompt],
    count: int,
    sampling: Sampling,
    rows: int = ROWS,
    tokens: int | None = None,
) -> Iterator[tuple[int, list[Completion]]]:
    """Draw `count` continuations of each prompt; yield the prompt's number and its samples in order, as they end.

    Sample n of the prompt of number p draws with the generator of row p * count + n of `sampling`: it depends on the
    model, the prompt and this generator alone. At most `rows` rows are read in a pass. `tokens` bounds those of all
    rows in memory, prompts and limits included: samples that would need more are drawn one group after another. Raises
    NightjarError for an encoder-decoder.
    """
    causal_only(lm, "drawing samples of a prompt")
    check_count(count, "count")
    return _SampleScheduler(lm, count, sampling, rows, tokens).draw_samples(prompts)


@dataclass(eq=False)
class _PromptTree:
    """The samples of a prompt that have ended, the groups not begun, and the number of unfinished ones of this group.

    `page` has what was read of the prompt, `logits` are those behind it. `reserved`: its tokens in memory, at most.
    """

    prompt: Prompt
    page: KVPage
    groups: deque[range]
    reserved: int
    logits: torch.Tensor | None = None
    unfinished: int = 0
    samples: dict[int, Completion] = field(default_factory=dict)


@dataclass(eq=False)
class _PromptNode:
    """Samples that have drawn the same `ids` so far; none yet at the root of a tree.

    `samples` has the number and the generator of each. `page` has what was read: first the parent's, then the
    node's own. `unread`: children that were not read yet.
    """

    tree: _PromptTree
    ids: list[int]
    samples: list[tuple[int, torch.Generator]]
    page: KVPage
    parent: _PromptNode | None = None
    unread: int = 0


class _SampleScheduler:
    """The trees of the prompts whose samples are being drawn, and their nodes that wait to be read."""

    def __init__(
        self, lm: LanguageModel, count: int, sampling: Sampling, rows: int, tokens: int | None
    ) -> None:
        self.lm, self.count, self.sampling, self.pass_rows, self.tokens = lm, count, sampling, rows, tokens
        self.cache, self.reserved = KVCache(), 0
        self.waiting: deque[_PromptNode] = deque()

    @torch.inference_mode()
    def draw_samples(self, prompts: Iterable[Prompt]) -> Iterator[tuple[int, list[Completion]]]:
        """Yield the samples of each prompt, as they end."""
        coming = iter(prompts)
        ahead = next(coming, None)
        while ahead is not None or self.waiting:
            while ahead is not None and len(self.waiting) < self.pass_rows and self._fits(ahead):
                self.waiting.append(self._add_tree(ahead))
                ahead = next(coming, None)
            nodes = [self.waiting.popleft() for _ in range(min(self.pass_rows, len(self.waiting)))]
            logits = self._read(nodes)
            if drawing := [place for place, node in enumerate(nodes) if node.samples]:
                self._draw([nodes[place] for place in drawing], logits[drawing])
            for tree in {id(node.tree): node.tree for node in nodes}.values():
                while not tree.unfinished and tree.groups and tree.logits is not None:
                    self._draw([self._next_group(tree)], tree.logits)
                if not tree.unfinished:
                    yield tree.prompt.number, self._finish(tree)

    def _group_size(self, prompt: Prompt) -> int:
        """Return the number of samples of a prompt that are drawn together."""
        return self.count if self.tokens is None else max(1, min(self.count, self.tokens // prompt.room))

    def _fits(self, prompt: Prompt) -> bool:
        """Return True if there is room for the prompt; one that is alone always fits."""
        need = self._group_size(prompt) * prompt.room
        return not self.reserved or self.tokens is None or self.reserved + need <= self.tokens

    def _add_tree(self, prompt: Prompt) -> _PromptNode:
        """Make a tree for the prompt; return its root."""
        group = self._group_size(prompt)
        groups = deque(range(first, min(first + group, self.count)) for first in range(0, self.count, group))
        tree = _PromptTree(prompt, self.cache.take(prompt.room), groups, group * prompt.room)
        self.reserved += tree.reserved
        return _PromptNode(tree, [], [], tree.page)

    def _next_group(self, tree: _PromptTree) -> _PromptNode:
        """Return the root of a tree again, with the samples of its next group."""
        numbers, first = tree.groups.popleft(), tree.prompt.number * self.count
        tree.unfinished = len(numbers)
        samples = [(number, self.sampling.generator(first + number)) for number in numbers]
        return _PromptNode(tree, [], samples, tree.page)

    def _finish(self, tree: _PromptTree) -> list[Completion]:
        """Free the page of a tree; return its samples in order."""
        self.cache.free(tree.page)
        self.reserved -= tree.reserved
        return [tree.samples[number] for number in range(self.count)]

    def _draw(self, nodes: Sequence[_PromptNode], logits: torch.Tensor) -> None:
        """Draw the next token of every sample of the nodes, by the logits behind each: (nodes, vocabulary)."""
        drawn = self.sampling.draws(logits, [[generator for _, generator in node.samples] for node in nodes])
        for node, tokens in zip(nodes, drawn, strict=True):
            for child in _children(node, tokens):
                sample = self._finished_sample(child)
                if sample is None:
                    self.waiting.append(child)
                    node.unread += 1
                else:
                    node.tree.samples.update((number, sample) for number, _ in child.samples)
                    node.tree.unfinished -= len(child.samples)
            if node.parent is not None and not node.unread:
                self.cache.free(node.page)

    def _finished_sample(self, node: _PromptNode) -> Completion | None:
        """Return the sample of a node that has ended; None if it goes on."""
        prompt = node.tree.prompt
        if node.ids[-1] == self.lm.tokenizer.end:
            return Completion(self.lm.tokenizer.decode(node.ids[:-1]), tokens=len(node.ids))
        text = self.lm.tokenizer.decode(node.ids)
        first, stop = min(
            ((first, mark) for mark in prompt.stop if (first := text.find(mark)) >= 0),
            default=(len(text), None),
        )
        if stop is None and len(node.ids) < prompt.max_new_tokens:
            return None
        return Completion(text[:first], stop is None, len(node.ids), stop=stop)

    def _read(self, nodes: Sequence[_PromptNode]) -> torch.Tensor:
        """Read the last token of each node; return the logits behind it, (nodes, vocabulary)."""
        copied = []
        for node in nodes:
            if (parent := node.parent) is None:
                continue
            parent.unread -= 1
            # The last child continues its parent's page, the others continue copies of it.
            if parent.unread or parent.parent is None:
                node.page = self.cache.take(node.tree.prompt.room)
                copied.append((parent.page, node.page))
        self.cache.copy(copied)
        reads = [(node.page, node.ids[-1:] or node.tree.prompt.ids) for node in nodes]
        logits = advance(self.lm, self.cache, reads)
        for node, node_logits in zip(nodes, logits, strict=True):
            if node.parent is None:
                node.tree.logits = node_logits[None].clone()
        return logits


def _children(node: _PromptNode, tokens: Sequence[int]) -> list[_PromptNode]:
    """Group the samples of a node by the token that each has drawn, in the order of the first that drew it."""
    groups: dict[int, list[tuple[int, torch.Generator]]] = {}
    for token, sample in zip(tokens, node.samples, strict=True):
        groups.setdefault(token, []).append(sample)
    return [
        _PromptNode(node.tree, [*node.ids, token], samples, node.page, node)
        for token, samples in groups.items()
    ]
