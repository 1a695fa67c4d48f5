"""Tools: how calls are written, the tools themselves, and language models that call them (Toolformer).

Decoding with tools:

    from pathlib import Path
    from nightjar.models import load_model
    from nightjar.tools import Toolbox, answer, make

    lm = load_model(Path("models/base/language_model"))
    toolbox = Toolbox([make("calculator"), make("calendar")])
    print(answer(lm, ["12 boxes of 8 pens hold"], toolbox)[0].text)

Each name is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from nightjar.core.startup import lazy

if TYPE_CHECKING:
    from nightjar.tools.decode import answer
    from nightjar.tools.filter import Losses, call_losses
    from nightjar.tools.syntax import Call, find, insert, remove, write
    from nightjar.tools.tool import Calls, Text, Tool, ToolRequest
    from nightjar.tools.tool_registry import make, names
    from nightjar.tools.toolbox import Answered, Executed, Toolbox

__all__ = [
    "Answered",
    "Call",
    "Calls",
    "Executed",
    "Losses",
    "Text",
    "Tool",
    "ToolRequest",
    "Toolbox",
    "answer",
    "call_losses",
    "find",
    "insert",
    "make",
    "names",
    "remove",
    "write",
]

__getattr__, __dir__ = lazy(__name__)
