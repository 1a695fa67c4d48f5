"""Tools: how calls are written, the tools themselves, and language models that call them (Toolformer).

Decoding with tools:

    from pathlib import Path
    from nightjar.models.load import load
    from nightjar.tools import Toolbox, answer, make

    lm = load(Path("models/base/language_model"))
    toolbox = Toolbox([make("calculator"), make("calendar")])
    print(answer(lm, ["12 boxes of 8 pens hold"], toolbox)[0].text)

What needs torch is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nightjar.tools.formulas import Losses, positions, weighted_loss
from nightjar.tools.registry import make, names
from nightjar.tools.syntax import Call, find, insert, parse, remove, write
from nightjar.tools.tool import Calls, Request, Text, Tool
from nightjar.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from nightjar.tools.annotate import Annotated, Annotator, Candidate, Settings
    from nightjar.tools.decode import Answered, Executed, Query, answer, answers
    from nightjar.tools.filter import call_losses

_NEED_TORCH = {
    **dict.fromkeys(("Annotated", "Annotator", "Candidate", "Settings"), "annotate"),
    **dict.fromkeys(("Answered", "Executed", "Query", "answer", "answers"), "decode"),
    "call_losses": "filter",
}

__all__ = [
    "Annotated",
    "Annotator",
    "Answered",
    "Call",
    "Calls",
    "Candidate",
    "Executed",
    "Losses",
    "Query",
    "Request",
    "Settings",
    "Text",
    "Tool",
    "Toolbox",
    "answer",
    "answers",
    "call_losses",
    "find",
    "insert",
    "make",
    "names",
    "parse",
    "positions",
    "remove",
    "weighted_loss",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _NEED_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_NEED_TORCH[name]}"), name)
