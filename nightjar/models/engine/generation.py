"""The decode engine: any number of prompts, continued in a batch that is kept full, greedy or sampled.

A finished text leaves the batch at once and the next prompt takes its place: the same pass reads the prompt and one
token of each other text. A prefix of neighbouring prompts is computed once. A controller can steer: start a call
when its marker is likely enough, forbid the marker, let a text wait for a result, feed the result in, and take back a
call that came to nothing. A text that waits is parked outside of the batch; it returns when its result is there.

A text depends on its prompt (and its generator) alone, not on which others are decoded, on how many at a time, or on
how long a result takes; docs/engine.md has the reason, docs/reliability.md the limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch

from nightjar.core.arguments import check_count, check_list
from nightjar.core.errors import NightjarError
from nightjar.models.completions import Completion
from nightjar.models.engine import encoder_decoder
from nightjar.models.engine.controller import Controller, ControllerAction
from nightjar.models.engine.detokeniser import Detokeniser
from nightjar.models.engine.forward_pass import PASS, advance
from nightjar.models.engine.kv_cache import KVCache, Prefix
from nightjar.models.engine.language_model import LanguageModel, causal_only
from nightjar.models.engine.sampling import Sampling, draw_tokens
from nightjar.models.engine.sequences import GeneratedSequence, Prompt
from nightjar.models.engine.shared_prefixes import common_length, prefill, shared_lengths

# Sequences of a batch, if the caller does not say.
BATCH = 16
# A prefix of more than PASS tokens is shared up to a multiple of so many: with blocks of queries of other sizes,
# attention on the CPU sums in another order, and a text might not be the one that its prompt gives alone.
BLOCK = 32


def generate(
    lm: LanguageModel,
    prompts: Sequence[Sequence[int]],
    max_new_tokens: int,
    stop: Sequence[str] = (),
    sampling: Sampling | None = None,
    controller: Controller | None = None,
    base: Prefix | None = None,
    batch_size: int = BATCH,
    batch_tokens: int | None = None,
) -> list[Completion]:
    """Continue every prompt (ids, at least one) until a stop string, the end token, or `max_new_tokens`; in order.

    What is fed in or taken back does not count against that limit; in all, at most EFFORT times as many are written.
    What prompts have in common is computed once. Otherwise as `stream`.
    """
    check_list(prompts, "prompts")
    order, shared = arrange_prompts(lm, prompts)
    requests = (Prompt(n, prompts[n], max_new_tokens, stop, shared[n]) for n in order)
    texts = dict(stream(lm, requests, sampling, controller, base, batch_size, batch_tokens))
    return [texts[number] for number in range(len(prompts))]


def arrange_prompts(lm: LanguageModel, prompts: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Return the order in which prompts are best decoded, and the length of each one's shared prefix.

    Prompts with a common prefix are neighbours; for an encoder-decoder, which shares nothing, those of like length are,
    the longest first.
    """
    if lm.encoder_decoder:
        by_length = sorted(range(len(prompts)), key=lambda number: (-len(prompts[number]), number))
        return by_length, [0] * len(prompts)
    return shared_lengths(prompts)


def stream(
    lm: LanguageModel,
    prompts: Iterable[Prompt],
    sampling: Sampling | None = None,
    controller: Controller | None = None,
    base: Prefix | None = None,
    batch_size: int = BATCH,
    batch_tokens: int | None = None,
) -> Iterator[tuple[int, Completion]]:
    """Continue prompts, taken one by one as there is room; yield their numbers and texts as they finish.

    Without `sampling` the likeliest token is taken, the lowest id among equals. `base`: a prefix the prompts may begin
    with. At most `batch_size` sequences are decoded together. `batch_tokens` bounds the tokens in memory: those of such
    sequences and of sequences that wait, prompts and limits included, unless one alone has more. Text that tools feed
    in, and one prefix that prompts share, come on top.

    An encoder-decoder reads each prompt whole, in batches that end together, and takes neither base nor controller: in
    its relative positions, tokens taken back would leave a gap.
    """
    check_count(batch_size, "batch_size")
    if lm.encoder_decoder:
        if controller is not None or base is not None:
            causal_only(lm, "decoding that is steered")
        return encoder_decoder.stream(lm, prompts, sampling, batch_size, batch_tokens)
    return _DecodingLoop(
        lm, prompts, sampling, controller or Controller(), base, batch_size, batch_tokens
    ).run()


class _DecodingLoop:
    """The sequences of a run: those in the batch, those that wait, and the prompts that are still to come."""

    def __init__(
        self,
        lm: LanguageModel,
        prompts: Iterable[Prompt],
        sampling: Sampling | None,
        controller: Controller,
        base: Prefix | None,
        batch_size: int,
        batch_tokens: int | None,
    ) -> None:
        self.lm, self.sampling, self.controller, self.base = lm, sampling, controller, base
        self.batch_size = batch_size
        self.prompts = iter(prompts)
        self.next = next(self.prompts, None)
        self.shared: Prefix | None = None
        self.running: list[GeneratedSequence] = []
        self.parked: list[GeneratedSequence] = []
        self.cache = KVCache(batch_tokens)

    def run(self) -> Iterator[tuple[int, Completion]]:
        while self.running or self.parked or self.next is not None:
            finished = self._step()
            for sequence in finished:
                yield sequence.number, sequence.result()

    @torch.inference_mode()
    def _step(self) -> list[GeneratedSequence]:
        """Let sequences return and enter, read pending ids in one pass, and write a token of each sequence read."""
        self._unpark()
        self._admit()
        read = self._pass()
        sequences = [sequence for sequence in read if sequence.unread]
        for sequence in sequences:
            sequence.unread = False
            self._consult(sequence)
        written = [sequence for sequence in self.running if not sequence.pending and not sequence.ended]
        if written:
            self._write(written)
        finished = [sequence for sequence in self.running if sequence.ended]
        for sequence in finished:
            assert sequence.page is not None
            self.cache.free(sequence.page)
        self.running = [sequence for sequence in self.running if not sequence.ended]
        return finished

    def _admit(self) -> None:
        """Take prompts while there is room for them."""
        while self.next is not None and len(self.running) < self.batch_size:
            prompt = self.next
            if not self._fits(prompt):
                return
            _check_positions(self.lm, prompt)
            generator = self.sampling.generator(prompt.number) if self.sampling else None
            sequence = GeneratedSequence(prompt, Detokeniser(self.lm.tokenizer), generator)
            sequence.page = self.cache.take(prompt.room)
            prefix, length = self._prefix(prompt)
            if prefix is not None:
                # The last id is read in any case: its logits are needed.
                self.cache.load(sequence.page, prefix, min(length, len(prompt.ids) - 1))
            sequence.pending = list(prompt.ids[sequence.page.length :])
            self.running.append(sequence)
            self.next = next(self.prompts, None)

    def _prefix(self, prompt: Prompt) -> tuple[Prefix | None, int]:
        """Return a prefix that the prompt begins with, and its length; computed if the prompt before had another.

        The prefix depends on the prompt alone, not on those before it: a run that resumes computes the same.
        """
        in_base = common_length([self.base.ids, prompt.ids]) if self.base else 0
        if in_base >= prompt.shared:
            return self.base, in_base
        count = prompt.shared
        if count > PASS:
            count -= (count - in_base) % BLOCK
        beginning = list(prompt.ids[:count])
        if self.shared is None or self.shared.ids != beginning:
            # The old one goes first, so that there is never memory for two.
            self.shared = None
            self.shared = prefill(self.lm, beginning, self.base)
        return self.shared, count

    def _pass(self) -> list[GeneratedSequence]:
        """Read what is pending: the tokens just written, and prompts as far as they fit into a pass.

        A prompt of more than PASS tokens is read in pieces of so many, whatever else is read: what it computes depends
        on itself alone. At least one piece is read, so that no prompt holds a place in the batch unread.
        """
        chosen = [sequence for sequence in self.running if len(sequence.pending) == 1]
        total, pieces = len(chosen), 0
        for sequence in self.running:
            count = min(len(sequence.pending), PASS)
            if count > 1 and (total + count <= PASS or not pieces):
                chosen.append(sequence)
                total, pieces = total + count, pieces + 1
        if chosen:
            reads = [
                (sequence.page, sequence.pending[:PASS]) for sequence in chosen if sequence.page is not None
            ]
            for sequence, logits in zip(chosen, advance(self.lm, self.cache, reads), strict=True):
                sequence.pending, sequence.logits = sequence.pending[PASS:], logits
        return chosen

    def _write(self, sequences: Sequence[GeneratedSequence]) -> None:
        """Choose and write the next token of each sequence, all from one tensor of logits."""
        logits = torch.stack([sequence.logits for sequence in sequences if sequence.logits is not None])
        chosen: list[int | None] = []
        for sequence, row_logits in zip(sequences, logits, strict=True):
            token = self.controller.choose(sequence, row_logits)
            if token is not None:
                sequence.mark, sequence.mark_logits = len(sequence.ids), row_logits.clone()
            chosen.append(token)
        for sequence, token, drawn in zip(
            sequences, chosen, draw_tokens(self.sampling, sequences, logits), strict=True
        ):
            sequence.append(drawn if token is None else token, self.controller.holds(sequence))

    def _consult(self, sequence: GeneratedSequence) -> None:
        """Take the action that the controller asks for."""
        answer = self.controller.after(sequence)
        if answer is ControllerAction.END:
            sequence.ended = True
        elif answer is ControllerAction.WAIT:
            # The pass has the logits of all sequences: keep this sequence's alone.
            sequence.logits = sequence.logits.clone() if sequence.logits is not None else None
            self.running.remove(sequence)
            self.parked.append(sequence)
        elif answer is ControllerAction.TAKE_BACK:
            sequence.take_back()

    def _unpark(self) -> None:
        """Let sequences return whose results have arrived. Block if there is nothing else to do."""
        if not self.parked:
            return
        room = self.batch_size - len(self.running)
        idle = not self.running and (self.next is None or not self._fits(self.next))
        back = self.controller.ready(self.parked, wait=idle)[:room]
        for sequence, text in zip(back, self.controller.results(back), strict=True):
            self.parked.remove(sequence)
            self.running.append(sequence)
            if text is None:
                sequence.take_back()
                continue
            sequence.feed(self.lm.tokenizer.continuation(text))

    def _fits(self, prompt: Prompt) -> bool:
        """Return True if the cache may take the prompt; one that is alone always fits."""
        alone = not self.running and not self.parked
        return alone or self.cache.fits(prompt.room)


def _check_positions(lm: LanguageModel, prompt: Prompt) -> None:
    positions = lm.positions
    if positions is None or prompt.room <= positions:
        return
    size = f"{len(prompt.ids)} tokens and at most {prompt.max_new_tokens} new ones"
    what = f"{size}, but the model has {positions} positions"
    raise NightjarError(what, f"prompt {prompt.number}", "lower max_source_length or max_new_tokens")
