"""Decoding that calls tools: stop at the arrow, run the tool, insert its result, continue (Toolformer 2 and 4.2).

A call starts where its marker " [" is among the `top_k` likeliest next tokens (Toolformer), greedy or sampled. An
attempt that comes to nothing (no tool of that name, no arrow, a broken input, no result) is taken back: the answer
continues as if it had not been made. Where no call may start, every token is forbidden that could open one: each whose
text ends in "[" and the beginning of a tool's name, so not only " [" but also "[", "([" or " [[".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache

import torch

from nightjar.core.arguments import check_list
from nightjar.core.errors import NightjarError
from nightjar.models.engine.controller import Controller, ControllerAction
from nightjar.models.engine.generation import BATCH, generate
from nightjar.models.engine.language_model import LanguageModel, causal_only
from nightjar.models.engine.loading import Tokenizer
from nightjar.models.engine.sampling import Sampling
from nightjar.models.engine.sequences import GeneratedSequence
from nightjar.tools.syntax import END, START, TOOLS, Call, parse_request, write
from nightjar.tools.text_decode import CALL_TOKENS
from nightjar.tools.tool import Calls
from nightjar.tools.toolbox import Answered, Executed, Toolbox

# Failed attempts that an answer may cost.
ATTEMPTS = 3

# "[" among the single bytes of a SentencePiece vocabulary.
BYTE = "<0x5B>"


def marker_token(lm: LanguageModel) -> int:
    """The id of the token that starts a call."""
    causal_only(lm, "calling tools")
    ids = lm.tokenizer.continuation(START)
    if len(ids) != 1:
        what = f"the tokenizer has no single token for {START!r}"
        raise NightjarError(what, "models.language_model", "use another model, or none with calls")
    return ids[0]


def opening_tokens(lm: LanguageModel, names: Collection[str]) -> list[int]:
    """The ids of all tokens after which a call of one of the tools `names` could be under way, in any spelling.

    A square bracket has one byte, so no tokenizer spells it with several tokens.
    """
    openings = [f"{name}(" for name in names]
    token_ids = []
    for id, text in _with_bracket(lm.tokenizer):
        _, _, begun = text.rpartition("[")
        if any(opening.startswith(begun) or begun.startswith(opening) for opening in openings):
            token_ids.append(id)
    return token_ids


@lru_cache(maxsize=4)
def _with_bracket(tokenizer: Tokenizer) -> tuple[tuple[int, str], ...]:
    """The tokens with a square bracket, by id, and their texts."""
    vocabulary: dict[str, int] = tokenizer.backend.get_vocab()
    ids = sorted(id for token, id in vocabulary.items() if "[" in token or token == BYTE)
    return tuple((id, text) for id in ids if "[" in (text := tokenizer.decode([id])))


@dataclass
class State:
    """The progress of one row. `toolbox` has the tools that it may call, `openings` the tokens that open a call.

    `opened` is the number of ids before the call that is being written, `start` the characters before it; `pending` is
    the call that waits, with its result; `failed` the number of ids before the last attempt that came to nothing: at
    the same place the next would come to the same.
    """

    ids: Sequence[int]
    day: date | None
    toolbox: Toolbox
    openings: torch.Tensor
    failures: int = 0
    failed: int | None = None
    opened: int | None = None
    start: int = 0
    pending: tuple[Call, Future[str | None]] | None = None
    executed: list[Executed] = field(default_factory=list)

    def fail(self) -> None:
        self.failures += 1
        self.failed, self.opened = self.opened, None


class ToolController(Controller):
    """Starts, runs and takes back calls; at most `max_calls` a row. Every row is entered before it begins."""

    def __init__(self, lm: LanguageModel, toolbox: Toolbox, top_k: int, max_calls: int) -> None:
        self.lm, self.toolbox = lm, toolbox
        self.top_k, self.max_calls = top_k, max_calls
        self.marker = marker_token(lm)
        self.states: dict[int, State] = {}
        self._tools: dict[frozenset[str], tuple[Toolbox, torch.Tensor]] = {}

    def enter(
        self, row: int, ids: Sequence[int], day: date | None = None, forbidden: frozenset[str] = frozenset()
    ) -> None:
        """Make the row of that number known: the ids of its prompt, its day, and the tools that it may not call."""
        if forbidden not in self._tools:
            toolbox = self.toolbox.without(forbidden)
            openings = opening_tokens(self.lm, toolbox.names or TOOLS)
            tensor = torch.tensor(openings, dtype=torch.long, device=self.lm.device)
            self._tools[forbidden] = toolbox, tensor
        self.states[row] = State(ids, day, *self._tools[forbidden])

    def choose(self, row: GeneratedSequence, logits: torch.Tensor) -> int | None:
        """The call marker where a call is to start; where none may start, its logit is minus infinity."""
        state = self.states[row.number]
        if state.opened is not None:
            return None
        if len(state.executed) >= self.max_calls or state.failures >= ATTEMPTS:
            logits[state.openings] = -torch.inf
            return None
        if state.failed != len(row.ids) and int((logits > logits[self.marker]).sum()) < self.top_k:
            state.opened, state.start = len(row.ids), len(row.text)
            return self.marker
        # Sampling may draw what is not among the likeliest; it would be a call that is not run.
        logits[self.marker] = -torch.inf
        return None

    def holds(self, row: GeneratedSequence) -> bool:
        return self.states[row.number].opened is not None

    def after(self, row: GeneratedSequence) -> ControllerAction | None:
        state = self.states[row.number]
        if state.opened is None:
            return None
        inside = row.text[state.start :].lstrip().removeprefix(START.strip())
        call = parse_request(inside, state.toolbox.names)
        if isinstance(call, Call):
            text = self.lm.tokenizer.decode(list(state.ids)) + row.text[: state.start]
            state.pending = call, state.toolbox.ask(call, state.day, text)
            return ControllerAction.WAIT
        if call and row.ids[-1] != self.lm.tokenizer.end and len(row.ids) - state.opened < CALL_TOKENS:
            return None
        state.fail()
        return ControllerAction.TAKE_BACK

    def ready(self, rows: Sequence[GeneratedSequence], wait: bool) -> list[GeneratedSequence]:
        futures = {row.number: pending[1] for row in rows if (pending := self.states[row.number].pending)}
        if wait:
            wait_for(futures.values(), return_when=FIRST_COMPLETED)
        return [row for row in rows if futures[row.number].done()]

    def results(self, rows: Sequence[GeneratedSequence]) -> list[str | None]:
        return [self._result(row, self.states[row.number]) for row in rows]

    def _result(self, row: GeneratedSequence, state: State) -> str | None:
        """The rest of the call, from behind the arrow: its result as `write` writes it, and the end marker."""
        assert state.pending is not None and state.opened is not None
        call, future = state.pending
        result = future.result()
        state.pending = None
        if result is None:
            state.fail()
            return None
        opened, state.opened = state.opened, None
        continuation = write(call, result).removeprefix(write(call, "").removesuffix(END).rstrip())
        row.uncounted += len(row.ids) - opened
        end = len(self.lm.tokenizer.decode([*row.ids, *self.lm.tokenizer.continuation(continuation)]))
        state.executed.append(Executed(call.tool, call.input, result, state.start, end))
        return continuation

    def answered(self, row: int, text: str, tokens: int) -> Answered:
        """The answer of a row that has ended with this text. A call that was never finished is left out."""
        state = self.states.pop(row)
        if state.opened is not None:
            text = text[: state.start]
        prediction = _without(text, state.executed).strip()
        return Answered(text, prediction, tuple(state.executed), tokens)


def answer(
    lm: LanguageModel,
    prompts: Sequence[str | Sequence[int]],
    toolbox: Toolbox | None = None,
    *,
    calls: Calls = "on",
    days: Sequence[date | None] | None = None,
    max_new_tokens: int = 128,
    stop: Sequence[str] = ("\n\n",),
    top_k: int = 10,
    max_calls: int = 1,
    sampling: Sampling | None = None,
    batch_size: int = BATCH,
) -> list[Answered]:
    """Answers to prompts, texts or ids, in order; the model may call the tools of `toolbox`.

    `calls`: "on"; "disabled", P(marker) = 0 (of the tools of the toolbox, or of the paper's without one); or "off",
    nothing is steered. With "on", `top_k` or `max_calls` 0 is the same as "disabled". `days` has the day of each prompt
    for tools that use it. `sampling` (None: greedy) and `batch_size`: as in `generate`. Results and calls do not count
    against `max_new_tokens`; a call that was never finished is left out of `text`.
    """
    check_list(prompts, "prompts")
    prompt_days = days if days is not None else [None] * len(prompts)
    if len(prompt_days) != len(prompts):
        raise NightjarError(
            f"{len(prompts)} prompts, but {len(prompt_days)} days", "days", "give one for each prompt"
        )
    controller = None if calls == "off" else controller_for(lm, toolbox, calls, top_k, max_calls)
    ids = [lm.tokenizer.encode(it) if isinstance(it, str) else it for it in prompts]
    for number, day in enumerate(prompt_days):
        if controller is not None:
            controller.enter(number, ids[number], day)
    answers = generate(lm, ids, max_new_tokens, stop, sampling, controller, batch_size=batch_size)
    if controller is None:
        return [Answered(one.text, one.text.strip(), (), one.tokens or 0) for one in answers]
    return [controller.answered(number, one.text, one.tokens or 0) for number, one in enumerate(answers)]


def controller_for(
    lm: LanguageModel, toolbox: Toolbox | None, calls: Calls, top_k: int, max_calls: int
) -> ToolController:
    """The controller of decoding where `calls` is "on" or "disabled"."""
    if calls == "on" and (toolbox is None or not toolbox.names):
        raise NightjarError("no tools are given", "toolbox", 'give some, or calls="disabled" or calls="off"')
    allowed = max_calls if calls == "on" and top_k else 0
    return ToolController(lm, toolbox or Toolbox(()), top_k, allowed)


def _without(text: str, executed: Sequence[Executed]) -> str:
    pieces, position = [], 0
    for call in executed:
        pieces.append(text[position : call.start])
        position = call.end
    return "".join((*pieces, text[position:]))
