"""Tool calls of a model that only continues texts, such as one behind a server.

The model itself starts a call. The text is cut at the arrow, the tool runs, and prompt, text and result are continued.
A token cannot be forbidden there: an attempt without a result stays in the text and is taken out of the prediction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from nightjar.tools.syntax import END, Call, find_request, parse_request, remove, write
from nightjar.tools.toolbox import Answered, Executed, Toolbox

# Tokens that a call may have beyond the limit of the answer.
CALL_TOKENS = 64


@dataclass(frozen=True)
class WrittenText:
    """A text that a model wrote, its number of tokens, and whether the limit of tokens ended it."""

    text: str
    tokens: int
    cut: bool


# A prompt and a number of tokens -> at most so many more.
Continue = Callable[[str, int], WrittenText]


def answer(
    write_on: Continue,
    count: Callable[[str], int],
    prompt: str,
    limit: int,
    toolbox: Toolbox,
    max_calls: int,
    day: date | None = None,
) -> Answered:
    """The continuation of a prompt by at most `limit` tokens, with at most `max_calls` calls of the toolbox.

    `count` gives the tokens of a text: calls and results do not count against the limit. Without tools the text is what
    the model wrote.
    """
    text, remaining, tokens = "", limit, 0
    executed: list[Executed] = []
    while remaining > 0:
        piece = _piece(write_on, prompt + text, remaining, toolbox.names)
        tokens += piece.tokens
        request = find_request(piece.text, toolbox.names) if len(executed) < max_calls else None
        if request is None:
            text += piece.text
            break
        start, end, call = request
        result = toolbox.ask(call, day, prompt + text + piece.text[:start]).result()
        if result is None:
            text += piece.text
            break
        executed.append(Executed(call.tool, call.input, result))
        text += piece.text[:end] + write(call, result).removeprefix(_asking(call))
        remaining -= count(piece.text[:start]) if start else 0
    if toolbox.names:
        text = _finished(text, toolbox.names)
    prediction = remove(text, toolbox.names).strip() if toolbox.names else text.strip()
    return Answered(text, prediction, tuple(executed), tokens)


def _asking(call: Call) -> str:
    """A call as it is written up to its arrow, without a blank behind."""
    return write(call, "").removesuffix(END).rstrip()


def _piece(write_on: Continue, prompt: str, max_tokens: int, names: Sequence[str]) -> WrittenText:
    """The text that the model writes next; a call that the limit cut is continued."""
    piece = write_on(prompt, max_tokens)
    if not piece.cut or _finished(piece.text, names) == piece.text:
        return piece
    more = write_on(prompt + piece.text, CALL_TOKENS)
    full_text = piece.text + more.text
    # What follows the call is beyond the limit.
    request = find_request(full_text, names)
    return WrittenText(full_text[: request[1]] if request else piece.text, piece.tokens + more.tokens, True)


def _finished(text: str, names: Sequence[str]) -> str:
    """The text without a call at its end that was begun, but has no arrow."""
    begun = text.rfind("[")
    if begun < 0 or not re.match(r"[A-Za-z]\w*\(", text[begun + 1 :]):
        return text
    if parse_request(text[begun + 1 :], names) is not True:
        return text
    return text[:begun].removesuffix(" ")
