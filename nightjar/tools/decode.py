"""Decoding that calls tools: stop at the arrow, run the tool, insert its result, go on (Toolformer 2 and 4.2).

A call starts where its marker is among the `top_k` likeliest next tokens. An attempt that comes to nothing (no tool of
that name, a broken input, no result) is taken back, so that the answer goes on as if it had not been made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

import torch

from nightjar.core.errors import NightjarError
from nightjar.lm.forward import Prefix, causal_only
from nightjar.lm.generate import Answer, Controller, Row, generate
from nightjar.lm.load import LanguageModel
from nightjar.lm.sample import Sampling
from nightjar.tools.run import AVAILABLE, run
from nightjar.tools.syntax import END, START, Found, find, parse, remove, write

# Failed attempts an answer may cost, and tokens that a call may have.
ATTEMPTS = 3
CALL_TOKENS = 64
ARROWS = ("->", "→")


def marker_token(lm: LanguageModel) -> int:
    """The id of the token that starts a call.

    Raises NightjarError if the vocabulary has no single one for it, or the model is an encoder-decoder.
    """
    causal_only(lm, "calling tools")
    ids = lm.tokenizer.encode(START)
    if len(ids) != 1:
        what = f"the tokenizer has no single token for {START!r}"
        raise NightjarError(what, "models.language_model", "use another model, or none with calls")
    return ids[0]


@dataclass
class _State:
    """What one row has done so far: `opened` is the number of ids before the call that is being written."""

    calls: int = 0
    failures: int = 0
    opened: int | None = None


@dataclass(frozen=True)
class Answered:
    """An answer: `text` as decoded, `prediction` without its calls, and the calls.

    `tokens`: how many were written, results and attempts taken back included.
    """

    text: str
    prediction: str
    calls: tuple[Found, ...]
    tokens: int


@dataclass
class ToolController(Controller):
    """Starts, runs and takes back calls. `days`: for each row, the day that the calendar tells, None if unknown."""

    lm: LanguageModel
    days: Sequence[date | None]
    top_k: int
    max_calls: int
    states: dict[int, _State] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.marker = marker_token(self.lm)

    def choose(self, row: Row, logits: torch.Tensor) -> int | None:
        """The call marker where a call is to start; the next best token where the model must not start one."""
        state = self.states.setdefault(row.number, _State())
        if state.opened is not None:
            return None
        if state.calls < self.max_calls and state.failures < ATTEMPTS:
            if int((logits > logits[self.marker]).sum()) < self.top_k:
                state.opened = len(row.ids)
                return self.marker
            return None
        if int(logits.argmax()) == self.marker:
            return int(logits.topk(2).indices[1])
        return None

    def holds(self, row: Row) -> bool:
        state = self.states.get(row.number)
        return state is not None and state.opened is not None

    def after(self, row: Row) -> str | Answer | None:
        state = self.states.setdefault(row.number, _State())
        if state.opened is None:
            return None
        inside = self.lm.tokenizer.decode(row.ids[state.opened :]).lstrip().removeprefix(START.strip())
        if END in inside:
            # Closed without an arrow: a call that asks for no result. It is taken out before scoring.
            row.uncounted += len(row.ids) - state.opened
            state.opened = None
            state.calls += 1
            return None
        arrow = next((arrow for arrow in ARROWS if inside.rstrip().endswith(arrow)), None)
        if arrow is not None:
            call = parse(inside.rstrip().removesuffix(arrow))
            result = run(call, self.days[row.number]) if call is not None else None
            if call is not None and result is not None:
                row.uncounted += len(row.ids) - state.opened
                state.opened = None
                state.calls += 1
                # The result as `write` writes it, escaped, with the end marker.
                return write(call, result).removeprefix(write(call, "").removesuffix(END).rstrip())
        elif self._goes_on(row, inside, len(row.ids) - state.opened):
            return None
        state.opened = None
        state.failures += 1
        return Answer.TAKE_BACK

    def _goes_on(self, row: Row, inside: str, tokens: int) -> bool:
        """Whether `inside`, what stands after the marker so far, can still become a call of an available tool."""
        if row.ids[-1] == self.lm.tokenizer.end or tokens >= CALL_TOKENS or "\n" in inside:
            return False
        openings = [f"{name}(" for name in AVAILABLE]
        return any(opening.startswith(inside) or inside.startswith(opening) for opening in openings)


def answer(
    lm: LanguageModel,
    prompts: Sequence[Sequence[int]],
    days: Sequence[date | None],
    max_new_tokens: int,
    stop: Sequence[str],
    top_k: int,
    max_calls: int,
    sampling: Sampling | None = None,
    base: Prefix | None = None,
) -> list[Answered]:
    """Answers to prompts of ids, with tool calls; `top_k` or `max_calls` 0 switches calls off.

    `days`: as in ToolController, one a prompt. `sampling` and `base`: as in `generate`. Call text that was never
    finished is left out of `text`.
    """
    controller = ToolController(lm, days, top_k, max_calls) if top_k and max_calls else None
    results = generate(lm, prompts, max_new_tokens, stop, sampling, controller, base)
    answers = []
    for number, result in enumerate(results):
        text = result.text
        state = controller.states.get(number) if controller else None
        if state is not None and state.opened is not None:
            # The marker of the open call is the last one in the text.
            text = text[: max(text.rfind(START), 0)]
        calls = tuple(find(text)) if controller else ()
        prediction = remove(text) if controller else text
        answers.append(Answered(text, prediction.strip(), calls, result.tokens))
    return answers
