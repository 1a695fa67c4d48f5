"""The five prompts that make a model propose tool calls (Toolformer, appendix A.2), each in a file of `texts`.

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

from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType

from nightjar.core.errors import NightjarError

_TEXTS = Path(__file__).parent / "texts"
# The pipeline's name of a tool, and the name a call is written with.
CALL_NAMES = MappingProxyType(
    {
        "question_answering": "QA",
        "wiki_search": "WikiSearch",
        "calculator": "Calculator",
        "calendar": "Calendar",
        "machine_translation": "MT",
    }
)


def instructions(task: str, examples: Iterable[tuple[str, str]]) -> str:
    """Everything before the last "Input: ": `task` and the (text, text with calls) pairs, ending with a blank line."""
    pairs = "".join(f"Input: {plain}\nOutput: {annotated}\n\n" for plain, annotated in examples)
    return f"{task}\n\n{pairs}"


def head(tool: str) -> str:
    """The instructions of one of the five tools of the paper, by its name in calls or in parameters.

    The same for every text, so a model's state after it can be kept. Raises NightjarError for an unknown tool.
    """
    name = CALL_NAMES.get(tool, tool)
    if name not in CALL_NAMES.values():
        raise NightjarError("no such tool", repr(tool), f"tools are {', '.join(CALL_NAMES)}")
    return (_TEXTS / f"{name}.txt").read_text(encoding="utf-8") + "\n"
