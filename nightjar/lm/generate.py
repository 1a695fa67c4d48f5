"""Batched decoding, greedy or sampled, by either kind of model; a controller can steer it.

Tool use needs all that a controller can do: start a call when its marker is likely enough, forbid the marker, let a row
wait for a result, feed the result in, and take back a call that came to nothing. A row that waits is read no further,
while the others of its batch are decoded to their ends; then the rows that waited form the next, smaller batch. What a
row is decoded with so depends on the texts alone, to the last bit, not on how long anyone took to answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import torch

from nightjar.lm import encoder_decoder
from nightjar.lm.forward import (
    Batch,
    Prefix,
    causal_only,
    common_length,
    extend,
    forward,
    prefill,
    select,
    step,
)
from nightjar.lm.load import LanguageModel
from nightjar.lm.sample import Sampling

# Bounds what a row may cost in tokens that do not stay, as a multiple of its limit.
EFFORT = 8


class Answer(Enum):
    """What a controller can ask for beside feeding text."""

    TAKE_BACK = "remove what was written since the last token the controller chose, that token included"
    WAIT = "read no more of this row until the controller's `results` has text for it, or takes it back"
    END = "end this text here"


@dataclass
class Row:
    """One text being written: its new ids, and the batch's column of each of them.

    `mark` is the number of ids before the last token that the controller chose, `mark_logits` the logits it chose by.
    `written` counts every token the model ever wrote, `fed` those fed in, `uncounted` the present ids that do not count
    against the limit: those fed in, and those the controller adds. `text` is the decoded text; its first `given`
    characters end with text that was fed in, where no stop string is looked for.
    """

    number: int
    ids: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    written: int = 0
    fed: int = 0
    uncounted: int = 0
    ended: bool = False
    stopped: bool = False
    waiting: bool = False
    text: str = ""
    given: int = 0
    mark: int = 0
    mark_logits: torch.Tensor | None = None

    @property
    def running(self) -> bool:
        return not self.ended and not self.waiting


class Controller:
    """Steers decoding; this one does nothing. `lm/` knows no tools: `tools/decode.py` has the one that calls them."""

    def choose(self, row: Row, logits: torch.Tensor) -> int | None:
        """A token to write in the place of the model's choice, given the (vocabulary,) logits; None to leave it.

        Tokens are forbidden by setting their logits to minus infinity, in place.
        """
        return None

    def after(self, row: Row) -> Answer | None:
        """Called when the model has read the tokens written so far."""
        return None

    def holds(self, row: Row) -> bool:
        """Whether an end token or stop string met now is not the text's end; the controller must then deal with it."""
        return False

    def results(self, rows: Sequence[Row]) -> list[str | None]:
        """For each of the rows that wait: text to feed in, or None to take back what was written. May block."""
        return [None] * len(rows)


@dataclass(frozen=True)
class Generated:
    """A finished text without its stop string; `tokens` counts all that were written, fed in or taken back.

    `stopped`: whether it ended by itself, not by the limit.
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
    rows = [Row(number) for number in range(len(batch.mask))]
    active, logits = rows, batch.logits[:, -1]
    while True:
        if not any(row.running for row in active):
            if not any(row.waiting for row in active):
                return [Generated(row.text, row.written + row.fed, row.stopped) for row in rows]
            active, batch, logits = _resume(lm, active, batch, controller)
        tokens = _next_tokens(lm, active, logits, sampling, controller)
        column = batch.mask.shape[1]
        for row, token in zip(active, tokens, strict=True):
            if row.running:
                _write(lm, row, token, column, max_new_tokens, stop, controller.holds(row))
        if not any(row.running for row in active):
            continue
        if lm.encoder_decoder:
            batch = encoder_decoder.step(lm, batch, tokens)
        else:
            read = [[token] if row.running else [] for row, token in zip(active, tokens, strict=True)]
            batch = extend(lm, batch, read)
        logits = batch.logits[:, -1]
        for place, row in enumerate(active):
            if row.running:
                _consult(lm, row, controller, batch.mask[place], logits[place])


def _next_tokens(
    lm: LanguageModel,
    active: Sequence[Row],
    logits: torch.Tensor,
    sampling: Sampling | None,
    controller: Controller,
) -> list[int]:
    """The next token of each row; one that has no meaning for a row that is not running."""
    tokens: list[int | None] = []
    for place, row in enumerate(active):
        if not row.running:
            tokens.append(lm.tokenizer.end)
            continue
        chosen = controller.choose(row, logits[place])
        if chosen is not None:
            row.mark, row.mark_logits = len(row.ids), logits[place].clone()
        tokens.append(chosen)
    if sampling is not None:
        drawn = zip(tokens, active, logits, strict=True)
        return [sampling.draw(own, row.number) if token is None else token for token, row, own in drawn]
    # One transfer from the device for all rows.
    likeliest: list[int] = logits.argmax(-1).tolist()
    return [best if token is None else token for token, best in zip(tokens, likeliest, strict=True)]


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
    found = [] if held else [place for mark in stop if (place := row.text.find(mark, row.given)) >= 0]
    if found:
        row.text = row.text[: min(found)]
        row.ended = row.stopped = True
    elif (
        len(row.ids) - row.uncounted >= max_new_tokens and not held
    ) or row.written >= EFFORT * max_new_tokens:
        row.ended = True


def _consult(
    lm: LanguageModel, row: Row, controller: Controller, mask: torch.Tensor, logits: torch.Tensor
) -> None:
    """Do what the controller asks; `mask` and `logits` are those of the row, and change with it."""
    answer = controller.after(row)
    if answer is Answer.END:
        row.ended = True
    elif answer is Answer.WAIT:
        row.waiting = True
    elif answer is Answer.TAKE_BACK:
        _take_back(lm, row, mask, logits)


def _take_back(lm: LanguageModel, row: Row, mask: torch.Tensor, logits: torch.Tensor) -> None:
    """Mask the tokens since the row's mark; the logits from before them return."""
    assert row.mark_logits is not None
    mask[row.columns[row.mark :]] = 0
    logits.copy_(row.mark_logits)
    del row.ids[row.mark :], row.columns[row.mark :]
    row.text = lm.tokenizer.decode(row.ids)


def _resume(
    lm: LanguageModel, active: Sequence[Row], batch: Batch, controller: Controller
) -> tuple[list[Row], Batch, torch.Tensor]:
    """The rows that wait, as a batch of their own that has read what the controller has for each of them."""
    places = [place for place, row in enumerate(active) if row.waiting]
    rows = [active[place] for place in places]
    fed = []
    logits = batch.logits[:, -1].clone()
    for place, row, text in zip(places, rows, controller.results(rows), strict=True):
        row.waiting = False
        fed.append(lm.tokenizer.encode(text) if text is not None else [])
        if text is None:
            _take_back(lm, row, batch.mask[place], logits[place])
    batch, logits = select(batch, places), logits[places]
    width, most = batch.mask.shape[1], max(map(len, fed))
    for row, ids in zip(rows, fed, strict=True):
        row.columns = [*range(width - len(row.ids), width), *range(width + most - len(ids), width + most)]
        row.ids += ids
        row.fed += len(ids)
        row.uncounted += len(ids)
        row.text = lm.tokenizer.decode(row.ids)
        if ids:
            row.given = len(row.text)
    if most:
        batch = extend(lm, batch, fed)
        for place, ids in enumerate(fed):
            if ids:
                logits[place] = batch.logits[place, -1]
    return rows, batch, logits
