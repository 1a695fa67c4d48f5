"""The decode engine: any number of prompts, continued in a batch that is kept full, greedy or sampled.

A finished text leaves the batch at once and the next prompt takes its place: the same pass reads the prompt and one
token of each other text. What neighbouring prompts begin with is computed once. A controller can steer: start a call
when its marker is likely enough, forbid the marker, let a text wait for a result, feed the result in, and take back a
call that came to nothing. A text that waits is parked outside of the batch; it returns when its result is there.

A text depends on its prompt (and its generator) alone, not on which others are decoded, on how many at a time, or on
how long a result takes; `rows` has the reason, docs/reliability.md the limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch

from nightjar.core.arguments import check_count, check_list
from nightjar.core.errors import NightjarError
from nightjar.models import encoder_decoder
from nightjar.models.forward import Prefix, causal_only, common_length, prefill, shared_lengths
from nightjar.models.load import LanguageModel
from nightjar.models.model import Text
from nightjar.models.row import Answer, Controller, Detokeniser, Prompt, Row
from nightjar.models.rows import PASS, Pool, advance
from nightjar.models.samples import Sampling, draw

# Rows of a batch, if the caller does not say.
BATCH = 16
# A beginning of more than PASS tokens is shared up to a multiple of so many: with blocks of queries of other sizes,
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
) -> list[Text]:
    """Continue every prompt (ids, at least one) until a stop string, the end token, or `max_new_tokens`; in order.

    What is fed in or taken back does not count against that limit; in all, at most EFFORT times as many are written.
    What prompts have in common is computed once. Otherwise as `stream`.
    """
    check_list(prompts, "prompts")
    order, shared = arrange(lm, prompts)
    requests = (Prompt(n, prompts[n], max_new_tokens, stop, shared[n]) for n in order)
    texts = dict(stream(lm, requests, sampling, controller, base, batch_size, batch_tokens))
    return [texts[number] for number in range(len(prompts))]


def arrange(lm: LanguageModel, prompts: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """The order in which prompts are best given to `stream`, and how many ids each shares with those around it.

    Prompts that begin alike are neighbours; for an encoder-decoder, which shares nothing, those of like length are, the
    longest first.
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
) -> Iterator[tuple[int, Text]]:
    """Continue prompts, taken one by one as there is room; their numbers and texts as they finish.

    Without `sampling` the likeliest token is taken, the lowest id among equals. `base`: a prefix the prompts may begin
    with. At most `batch_size` rows are decoded together. `batch_tokens` bounds the tokens that there is memory for:
    those of these rows and of rows that wait, prompts and limits included, unless one alone has more. What tools feed
    in, and one beginning that prompts share, come on top.

    An encoder-decoder reads each prompt whole, in batches that end together, and takes neither base nor controller: in
    its relative positions, tokens taken back would leave a gap. Raises NightjarError if it is given one, for a
    prompt that has, with its limit, more tokens than a causal model has positions, and for a batch without rows.
    """
    check_count(batch_size, "batch_size")
    if lm.encoder_decoder:
        if controller is not None or base is not None:
            causal_only(lm, "decoding that is steered")
        return encoder_decoder.stream(lm, prompts, sampling, batch_size, batch_tokens)
    return _Engine(lm, prompts, sampling, controller or Controller(), base, batch_size, batch_tokens).run()


class _Engine:
    """The rows of a run: those in the batch, those that wait, and the prompts that are still to come."""

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
        self.size = batch_size
        self.prompts = iter(prompts)
        self.next = next(self.prompts, None)
        self.shared: Prefix | None = None
        self.running: list[Row] = []
        self.parked: list[Row] = []
        self.pool = Pool(batch_tokens)

    def run(self) -> Iterator[tuple[int, Text]]:
        while self.running or self.parked or self.next is not None:
            finished = self._step()
            for row in finished:
                yield row.number, row.result()

    @torch.inference_mode()
    def _step(self) -> list[Row]:
        """Let rows return and enter, read what is pending in one pass, and write a token of each row that was read."""
        self._unpark()
        self._admit()
        read = self._pass()
        rows = [row for row in read if row.unread]
        for row in rows:
            row.unread = False
            self._consult(row)
        written = [row for row in self.running if not row.pending and not row.ended]
        if written:
            self._write(written)
        finished = [row for row in self.running if row.ended]
        for row in finished:
            assert row.segment is not None
            self.pool.free(row.segment)
        self.running = [row for row in self.running if not row.ended]
        return finished

    def _admit(self) -> None:
        """Take prompts while there is room for them."""
        while self.next is not None and len(self.running) < self.size:
            prompt = self.next
            if not self._fits(prompt):
                return
            _check_positions(self.lm, prompt)
            generator = self.sampling.generator(prompt.number) if self.sampling else None
            row = Row(prompt, Detokeniser(self.lm.tokenizer), generator)
            row.segment = self.pool.take(prompt.room)
            prefix, length = self._prefix(prompt)
            if prefix is not None:
                # The last id is read in any case: its logits are needed.
                self.pool.load(row.segment, prefix, min(length, len(prompt.ids) - 1))
            row.pending = list(prompt.ids[row.segment.length :])
            self.running.append(row)
            self.next = next(self.prompts, None)

    def _prefix(self, prompt: Prompt) -> tuple[Prefix | None, int]:
        """A prefix that the prompt begins with, and how many of its ids; computed if the prompt before had another.

        It depends on the prompt alone, not on those before it: a run that resumes computes the same.
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

    def _pass(self) -> list[Row]:
        """Read what is pending: the tokens just written, and prompts as far as they fit into a pass.

        A prompt of more than PASS tokens is read in pieces of so many, whatever else is read: what it computes depends
        on itself alone. At least one piece is read, so that no prompt holds a place in the batch unread.
        """
        chosen = [row for row in self.running if len(row.pending) == 1]
        total, pieces = len(chosen), 0
        for row in self.running:
            count = min(len(row.pending), PASS)
            if count > 1 and (total + count <= PASS or not pieces):
                chosen.append(row)
                total, pieces = total + count, pieces + 1
        if chosen:
            reads = [(row.segment, row.pending[:PASS]) for row in chosen if row.segment is not None]
            for row, logits in zip(chosen, advance(self.lm, self.pool, reads), strict=True):
                row.pending, row.logits = row.pending[PASS:], logits
        return chosen

    def _write(self, rows: Sequence[Row]) -> None:
        """Choose and write the next token of each row, all from one tensor of logits."""
        logits = torch.stack([row.logits for row in rows if row.logits is not None])
        chosen: list[int | None] = []
        for row, row_logits in zip(rows, logits, strict=True):
            token = self.controller.choose(row, row_logits)
            if token is not None:
                row.mark, row.mark_logits = len(row.ids), row_logits.clone()
            chosen.append(token)
        for row, token, drawn in zip(rows, chosen, draw(self.sampling, rows, logits), strict=True):
            row.append(drawn if token is None else token, self.controller.holds(row))

    def _consult(self, row: Row) -> None:
        """Do what the controller asks."""
        answer = self.controller.after(row)
        if answer is Answer.END:
            row.ended = True
        elif answer is Answer.WAIT:
            # The pass has the logits of all rows: keep this row's alone.
            row.logits = row.logits.clone() if row.logits is not None else None
            self.running.remove(row)
            self.parked.append(row)
        elif answer is Answer.TAKE_BACK:
            row.take_back()

    def _unpark(self) -> None:
        """Let rows return whose results are there. Blocks if there is nothing else to do."""
        if not self.parked:
            return
        room = self.size - len(self.running)
        idle = not self.running and (self.next is None or not self._fits(self.next))
        back = self.controller.ready(self.parked, wait=idle)[:room]
        for row, text in zip(back, self.controller.results(back), strict=True):
            self.parked.remove(row)
            self.running.append(row)
            if text is None:
                row.take_back()
                continue
            row.feed(self.lm.tokenizer.continuation(text))

    def _fits(self, prompt: Prompt) -> bool:
        """Return True if the pool may take the prompt; one that is alone always fits."""
        alone = not self.running and not self.parked
        return alone or self.pool.fits(prompt.room)


def _check_positions(lm: LanguageModel, prompt: Prompt) -> None:
    positions = lm.positions
    if positions is None or prompt.room <= positions:
        return
    size = f"{len(prompt.ids)} tokens and at most {prompt.max_new_tokens} new ones"
    what = f"{size}, but the model has {positions} positions"
    raise NightjarError(what, f"prompt {prompt.number}", "lower max_source_length or max_new_tokens")
