"""Nightjar's own tools by their prompts, which make a model propose calls (Toolformer, appendix A.2).

The calls in the file `texts/TOOL.txt` say how those of the tool are written: their name, and whether the input is in
double quotes. The class of the tool is named in nightjar.tools.tool_registry.

Layout of a prompt, with the blank lines it has:

    INSTRUCTION

    Input: TEXT OF EXAMPLE 1
    Output: TEXT OF EXAMPLE 1 WITH CALLS

    Input: ...
    Output: ...

    Input: THE TEXT
    Output:

It ends with the colon: no blank and no newline follow. The annotated text comes after ONE blank, so that a
text read as a continuation is the prompt, a blank and the text. The paper gives the instructions, the
examples and the last two lines; the blank lines between the examples are ours, so that "\\n\\n" marks the
end of an output. Where input and output of an example differ in more than the calls (the third of the
calculator's, the third of the translator's), so they do in the paper.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from nightjar.core.errors import NightjarError

_TEXTS = Path(__file__).parent / "texts"
_CALL = re.compile(r"\[([A-Za-z][A-Za-z0-9_]*)\((.*?)\)\]")


class ToolPrompt(NamedTuple):
    """A prompt up to the text, the name that its calls are written with, and whether their inputs are in quotes."""

    instructions: str
    call_name: str
    quoted: bool


def read_prompt(path: Path) -> ToolPrompt:
    """The prompt in a file."""
    text = path.read_text(encoding="utf-8")
    _, _, examples = text.partition("\n")
    call_names = {name for name, _ in _CALL.findall(text)}
    quoted = {len(input) >= 2 and input[0] == input[-1] == '"' for _, input in _CALL.findall(examples)}
    if len(call_names) != 1 or len(quoted) != 1:
        what = f"the calls have the names {', '.join(sorted(call_names)) or '(none)'}"
        what = "some inputs are in quotes" if len(call_names) == 1 and quoted else what
        raise NightjarError(
            what, path, "write all calls in one way, such as [Name(input)], and show examples"
        )
    return ToolPrompt(f"{text}\n", call_names.pop(), quoted.pop())


# By the names of the tools in params.yaml, sorted.
PROMPTS = MappingProxyType({path.stem: read_prompt(path) for path in sorted(_TEXTS.glob("*.txt"))})
# The pipeline's name of a tool, and the name a call is written with.
CALL_NAMES = MappingProxyType({tool: prompt.call_name for tool, prompt in PROMPTS.items()})


def instructions(task: str, examples: Iterable[tuple[str, str]]) -> str:
    """Everything before the last "Input: ": `task` and the (text, text with calls) pairs, ending with a blank line."""
    pairs = "".join(f"Input: {plain}\nOutput: {annotated}\n\n" for plain, annotated in examples)
    return f"{task}\n\n{pairs}"


def head(tool: str) -> str:
    """The instructions of one of Nightjar's own tools, by its name in the parameters.

    The same for every text, so a model's state after it can be kept.
    """
    if tool not in PROMPTS:
        raise NightjarError("no such tool", repr(tool), f"tools are {', '.join(PROMPTS)}")
    return PROMPTS[tool].instructions
