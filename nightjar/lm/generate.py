"""Batched decoding, greedy or sampled, by either kind of model; a controller can steer: start, feed, take back, end.

Tool use needs all four: a call starts when its marker is likely enough, its result is fed in, a call that came to
nothing is taken back as if it had never been written, and sampling ends early when no call can come of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import torch

from nightjar.lm import encoder_decoder
from nightjar.lm.forward import Batch, Prefix, causal_only, common_length, forward, prefill, step
from nightjar.lm.load import LanguageModel
from nightjar.lm.sample import Sampling

# Bounds what a row may cost in tokens that do not stay, as a multiple of its limit.
EFFORT = 8


class Answer(Enum):
    """What a controller can ask for beside feeding text."""

    TAKE_BACK = "take back what was written since the last token the controller chose, that token included"
    END = "end this text here"


@dataclass
class Row:
    """One text being written: its new ids, and where each of them stands in the batch's columns.

    `mark` is the number of ids before the last token that the controller chose. `written` counts every token ever
    written, `uncounted` the standing ones that do not count against the limit: what was fed in, and what the
    controller adds.
    """

    number: int
    ids: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    fed: list[int] = field(default_factory=list)
    written: int = 0
    uncounted: int = 0
    ended: bool = False
    stopped: bool = False
    text: str = ""
    mark: int = 0
    mark_logits: torch.Tensor | None = None


class Controller:
    """Steers decoding; this one does nothing. `lm/` knows no tools: `tools/decode.py` has the one that calls them."""

    def choose(self, row: Row, logits: torch.Tensor) -> int | None:
        """A token to write in the place of the model's choice, given the (vocabulary,) logits; None to leave it."""
        return None

    def after(self, row: Row) -> str | Answer | None:
        """Called when the model has read the tokens written so far: text to feed in next, or an Answer, or None."""
        return None

    def holds(self, row: Row) -> bool:
        """Whether an end token or stop string met now is not the text's end; the controller must then deal with it."""
        return False


@dataclass(frozen=True)
class Generated:
    """A finished text without its stop string; `tokens` were written, those fed in or taken back included.

    `stopped` tells whether it ended by itself, not by the limit.
    """

    text: str
    tokens: int
    stopped: bool


@torch.inference_mode()
def generate(
    lm: LanguageModel,
    prompts: Sequence[Sequence[int]],
    max_new_tokens: int,
    stop: Sequence[str] = (),
    sampling: Sampling | None = None,
    controller: Controller | None = None,
    base: Prefix | None = None,
) -> list[Generated]:
    """Continue every prompt (ids, at least one) until a stop string, the end token, or `max_new_tokens`.

    What is fed in or taken back does not count against that limit; in all, at most EFFORT times as many are written.

    Without `sampling` the likeliest token is taken, the lowest id among equals. `base`: a prefix the prompts may begin
    with. What the prompts have in common is computed once. An encoder-decoder reads each prompt whole, and takes
    neither base nor controller: in its relative positions, tokens taken back would leave a gap. Raises NightjarError
    if it is given one.
    """
    if not prompts:
        return []
    if lm.encoder_decoder:
        if controller is not None or base is not None:
            causal_only(lm, "decoding that is steered")
        batch = encoder_decoder.begin(lm, prompts)
        return _decode(lm, batch, max_new_tokens, stop, sampling, Controller())
    shared = min(common_length(prompts), min(map(len, prompts)) - 1)
    if len(prompts) > 1 and shared > 0:
        base = prefill(lm, prompts[0][:shared], base)
    batch = forward(lm, prompts, keep=1, base=base)
    return _decode(lm, batch, max_new_tokens, stop, sampling, controller or Controller())


@torch.inference_mode()
def branch(
    lm: LanguageModel,
    prefix: Prefix,
    lengths: Sequence[int],
    token: int,
    max_new_tokens: int,
    stop: Sequence[str] = (),
    sampling: Sampling | None = None,
    controller: Controller | None = None,
) -> list[Generated]:
    """Continue several beginnings of one text: row r is the first `lengths[r]` ids of `prefix`, then `token`.

    Nothing is computed twice: each row masks what lies behind its own beginning. Otherwise as `generate`; the texts
    returned begin behind `token`.
    """
    if not lengths:
        return []
    mask = torch.ones(len(lengths), len(prefix.ids), dtype=torch.long, device=lm.device)
    for row, length in enumerate(lengths):
        mask[row, length:] = 0
    batch = Batch(torch.empty(0), prefix.cache(len(lengths), len(prefix.ids)), mask)
    batch = step(lm, batch, [token] * len(lengths))
    return _decode(lm, batch, max_new_tokens, stop, sampling, controller or Controller())


def _decode(
    lm: LanguageModel,
    batch: Batch,
    max_new_tokens: int,
    stop: Sequence[str],
    sampling: Sampling | None,
    controller: Controller,
) -> list[Generated]:
    advance = encoder_decoder.step if lm.encoder_decoder else step
    rows = [Row(number) for number in range(len(batch.mask))]
    logits = batch.logits[:, -1]
    while True:
        # One transfer from the device for all rows.
        likeliest = logits.argmax(-1).tolist() if sampling is None else None
        tokens = [_next_token(lm, row, logits, likeliest, sampling, controller) for row in rows]
        column = batch.mask.shape[1]
        for row, token in zip(rows, tokens, strict=True):
            if not row.ended:
                _write(lm, row, token, column, max_new_tokens, stop, controller.holds(row))
        if all(row.ended for row in rows):
            return [Generated(row.text, row.written, row.stopped) for row in rows]
        batch = advance(lm, batch, tokens)
        logits = batch.logits[:, -1]
        for row in rows:
            if not row.ended and not row.fed:
                _consult(lm, row, controller, batch, logits)


def _next_token(
    lm: LanguageModel,
    row: Row,
    logits: torch.Tensor,
    likeliest: Sequence[int] | None,
    sampling: Sampling | None,
    controller: Controller,
) -> int:
    if row.ended:
        return lm.tokenizer.end
    if row.fed:
        row.uncounted += 1
        return row.fed.pop(0)
    chosen = controller.choose(row, logits[row.number])
    if chosen is not None:
        row.mark, row.mark_logits = len(row.ids), logits[row.number].clone()
        return chosen
    if sampling is not None:
        return sampling.draw(logits[row.number], row.number)
    assert likeliest is not None
    return likeliest[row.number]


def _write(
    lm: LanguageModel, row: Row, token: int, column: int, max_new_tokens: int, stop: Sequence[str], held: bool
) -> None:
    row.written += 1
    if token == lm.tokenizer.end and not held:
        row.ended = row.stopped = True
        return
    row.ids.append(token)
    row.columns.append(column)
    row.text = lm.tokenizer.decode(row.ids)
    found = [] if held else [place for mark in stop if (place := row.text.find(mark)) >= 0]
    if found:
        row.text = row.text[: min(found)]
        row.ended = row.stopped = True
    elif (
        len(row.ids) - row.uncounted >= max_new_tokens and not held
    ) or row.written >= EFFORT * max_new_tokens:
        row.ended = True


def _consult(lm: LanguageModel, row: Row, controller: Controller, batch: Batch, logits: torch.Tensor) -> None:
    """Do what the controller asks. Tokens taken back are masked, and the logits from before them return."""
    answer = controller.after(row)
    if isinstance(answer, str):
        row.fed = lm.tokenizer.encode(answer)
    elif answer is Answer.END:
        row.ended = True
    elif answer is Answer.TAKE_BACK:
        assert row.mark_logits is not None
        batch.mask[row.number, row.columns[row.mark :]] = 0
        logits[row.number] = row.mark_logits
        del row.ids[row.mark :], row.columns[row.mark :]
        row.text = lm.tokenizer.decode(row.ids)
