"""Syntax of tool calls in a text: " [Calculator(400 / 1400) -> 0.29]" (Toolformer section 2, footnote 1).

The rules, chosen so that `find` gives back exactly what `write` wrote, in any text:

- a call begins at "[" followed at once by a tool's name and "(", and the first bare "]" ends it, as it does
  for a model that decodes with "]" as its end marker; a bare "[" inside means that it is no call;
- parentheses inside the input are balanced, the last one closes it;
- then comes nothing, or an arrow ("->", on reading "→" too) and the result;
- what would break these rules is written with a backslash before it: square brackets, parentheses without a
  partner (in the input), and backslashes before one of those;
- blanks around inputs and results carry no meaning; reading takes them off.

Names are those of Nightjar's own tools unless others are given. Double quotes around an input are part of how QA and
WikiSearch are written, as their prompts say; any other tool gets them as they are in its input.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from nightjar.core.errors import NightjarError
from nightjar.prompts.tool_prompts import CALL_NAMES, PROMPTS

START, END, ARROW = " [", "]", "->"
ARROWS = (ARROW, "→")
# What a decoded text ends with while a sign of several tokens, as "→" may be, is not complete.
PARTIAL = "\N{REPLACEMENT CHARACTER}"
TOOLS = tuple(CALL_NAMES.values())
# Tools whose inputs are written in double quotes.
QUOTED = frozenset(prompt.call_name for prompt in PROMPTS.values() if prompt.quoted)

_NAME = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\(")
_OPENING = re.compile(rf"\[{_NAME.pattern}")
# What a call with its markers may consist of, up to the bracket that ends it.
# Possessive: a backslash belongs to the sign behind it, and without a match no other reading is tried.
_INSIDE = re.compile(r"(?:\\[\\\[\]]|[^\[\]])*+")
_ARROW = re.compile(r"\s*(?:->|→)")
_INPUT_SIGNS, _RESULT_SIGNS = "\\()[]", "\\[]"


@dataclass(frozen=True)
class Call:
    """A tool's name, as it is written in a call, and its input, without blanks or quotes around it."""

    tool: str
    input: str


@dataclass(frozen=True)
class WrittenCall:
    """A call in a text: text[start:end] is the call with its markers, the leading blank included if there
    is one.

    `result` is None if the call has no arrow, and "" if nothing follows the arrow.
    """

    start: int
    end: int
    call: Call
    result: str | None


def _escape(text: str, signs: str, lonely: frozenset[int] = frozenset()) -> str:
    """`text` with a backslash before square brackets, before the positions `lonely`, and before any
    backslash that would otherwise be read as one of these."""
    pieces = []
    for i, sign in enumerate(text):
        ambiguous = sign == "\\" and text[i + 1 : i + 2] in signs  # at the end, "" is in every string
        pieces.append("\\" + sign if sign in "[]" or ambiguous or i in lonely else sign)
    return "".join(pieces)


def _unescape(text: str, signs: str) -> str:
    return re.sub(rf"\\([{re.escape(signs)}])", r"\1", text)


def _lonely(text: str) -> frozenset[int]:
    """Positions of the parentheses in `text` that have no partner."""
    opened: list[int] = []
    lonely: set[int] = set()
    for i, sign in enumerate(text):
        if sign == "(":
            opened.append(i)
        elif sign == ")" and opened:
            opened.pop()
        elif sign == ")":
            lonely.add(i)
    return frozenset(lonely.union(opened))


def _closing(text: str, start: int, signs: str) -> int | None:
    """Position of the parenthesis that closes the one before `start`."""
    depth, i = 1, start
    while i < len(text):
        if text[i] == "\\" and i + 1 < len(text) and text[i + 1] in signs:
            i += 1
        elif text[i] == "(":
            depth += 1
        elif text[i] == ")":
            depth -= 1
            if not depth:
                return i
        i += 1
    return None


def _read(text: str, names: Collection[str] | None) -> tuple[Call, str] | None:
    """The call at the beginning of `text`, which has no markers, and the text after it."""
    match = _NAME.match(text)
    if match is None or (names is not None and match[1] not in names):
        return None
    closing = _closing(text, match.end(), _INPUT_SIGNS)
    if closing is None:
        return None
    argument = _unescape(text[match.end() : closing], _INPUT_SIGNS).strip()
    if match[1] in QUOTED and len(argument) >= 2 and argument[0] == argument[-1] == '"':
        argument = argument[1:-1].strip()
    return Call(match[1], argument), text[closing + 1 :]


def parse(text: str, names: Collection[str] | None = TOOLS) -> Call | None:
    """The call in `text`, which has neither markers nor a result: `Calculator(400 / 1400)`; None if it is none.

    `names`: of the tools; None allows any. Square brackets need no backslash here, as there are no markers.
    """
    read = _read(text.strip(), names)
    return read[0] if read and not read[1] else None


def parse_request(text: str, names: Collection[str]) -> Call | bool:
    """The state of a call that is being written; `text` is what follows the marker " [" so far.

    The call, if its arrow was just written; else whether `text` can still become a call of one of the tools `names`.
    An arrow inside the input, before the parenthesis that closes it, is part of the input.
    """
    opening = _NAME.match(text)
    if opening is None or opening[1] not in names:
        return any(f"{name}(".startswith(text) for name in names)
    if "\n" in text or not _INSIDE.fullmatch(text):
        return False
    closing = _closing(text, opening.end(), _INPUT_SIGNS)
    if closing is None:
        return True
    after_call = text[closing + 1 :].rstrip(PARTIAL).strip()
    if after_call in ARROWS:
        return parse(text[: closing + 1], names) or False
    return any(arrow.startswith(after_call) for arrow in ARROWS)


def write(call: Call, result: str | None = None) -> str:
    """e(c), or e(c, r) if a result is given ("" too), with both markers and the leading blank.

    `find` reads call and result back unchanged, save blanks around them.
    """
    argument = _escape(call.input, _INPUT_SIGNS, _lonely(call.input))
    if call.tool in QUOTED:
        argument = f'"{argument}"'
    arrow = "" if result is None else f" {ARROW} {_escape(result, _RESULT_SIGNS)}"
    return f"{START}{call.tool}({argument}){arrow}{END}"


def find(text: str, names: Collection[str] | None = TOOLS) -> list[WrittenCall]:
    """Every well-formed call in `text`, in order, whether a tool was run for it or not.

    `names`: of the tools; None allows any. Takes time in proportion to the text's length.
    """
    calls = []
    for start, end, call, after_call in _closed(text, names):
        arrow = _ARROW.match(after_call)
        if text.startswith(END, end) and (arrow or not after_call.strip()):
            result = _unescape(after_call[arrow.end() :].strip(), _RESULT_SIGNS) if arrow else None
            calls.append(WrittenCall(start, end + len(END), call, result))
    return calls


def find_request(text: str, names: Collection[str]) -> tuple[int, int, Call] | None:
    """The first call in `text` whose arrow is written: where it starts, where its arrow ends, and the call.

    The arrow must be on the line of the call, as for `parse_request`. Takes time in proportion to the text's length.
    """
    for start, end, call, after_call in _closed(text, names):
        if arrow := _ARROW.match(after_call):
            after = end - len(after_call) + arrow.end()
            if "\n" not in text[start:after]:
                return start, after, call
    return None


def _closed(text: str, names: Collection[str] | None) -> Iterator[tuple[int, int, Call, str]]:
    """The calls whose parenthesis is closed: where they start, the blank included, where the next bare bracket or the
    end of the text is, the call, and what is between its parenthesis and that bracket."""
    position = 0
    while opening := _OPENING.search(text, position):
        position = opening.end()
        if names is not None and opening[1] not in names:
            continue
        inside = _INSIDE.match(text, position)
        # Up to here no other call can begin.
        position = inside.end() if inside else position
        if read := _read(text[opening.start() + 1 : position], names):
            blank = text.startswith(START, opening.start() - 1) if opening.start() else False
            yield opening.start() - blank, position, *read


def remove(text: str, names: Collection[str] | None = TOOLS) -> str:
    """`text` without what `find` finds, and without the one blank before each call; other brackets stay."""
    pieces, position = [], 0
    for call in find(text, names):
        pieces.append(text[position : call.start])
        position = call.end
    return "".join((*pieces, text[position:]))


def insert(text: str, calls: Iterable[tuple[int, Call, str | None]]) -> str:
    """x* of Toolformer section 2: each (offset, call, result) written into `text` before the character at
    `offset`.

    Calls at one offset keep their order. `remove` undoes it if `text` held no call.
    """
    pieces, position = [], 0
    for offset, call, result in sorted(calls, key=lambda item: item[0]):
        if not 0 <= offset <= len(text):
            what = f"offset {offset} is outside of a text of {len(text)} characters"
            raise NightjarError(what, "insert", "give a place in the text")
        pieces += [text[position:offset], write(call, result)]
        position = offset
    return "".join((*pieces, text[position:]))
