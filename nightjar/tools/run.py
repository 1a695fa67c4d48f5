"""Runs one call that a person typed, and says why it has no result."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.core.plugins import calling
from nightjar.prompts.tool_prompts import CALL_NAMES
from nightjar.tools.registry import BUILT_IN, make, names
from nightjar.tools.syntax import parse
from nightjar.tools.tool import Request, Tool
from nightjar.tools.toolbox import Toolbox


def call_text(
    text: str,
    today: date | None,
    resource: Path | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """The result of the call written in `text`, e.g. "0.29" for "Calculator(400 / 1400)".

    `today` is the day of the call, `resource` what the tool reads, `settings` those of each tool by its name in the
    registry (see `registry.make`). Raises NightjarError for what is no call, for a tool that is unknown or not
    available, and for a call without a result, saying why.
    """
    shown = text if len(text) <= 60 else text[:57] + "..."
    call = parse(text, names=None)
    if call is None:
        fix = 'write Name(input) with balanced parentheses, such as "Calculator(400 / 1400)"'
        raise NightjarError("not a tool call", repr(shown), fix)
    tool = _named(call.tool, resource, settings or {})
    toolbox = Toolbox([tool])
    result = toolbox.run([call], today)[0]
    if result is not None:
        return result
    if toolbox.problems:
        raise NightjarError(f"no result: {', '.join(toolbox.problems)}", repr(shown), "see the warning above")
    with calling(repr(shown), f"no result, and the tool {tool.name} cannot say why"):
        why = tool.why(Request(call.input, today))
    raise NightjarError(f"no result: {why}", repr(shown), "correct the call")


def _named(name: str, resource: Path | None, settings: Mapping[str, Mapping[str, Any]]) -> Tool:
    """The tool whose calls have that name."""
    own = {CALL_NAMES[built_in]: built_in for built_in in BUILT_IN}
    if name in own:
        return make(own[name], resource, settings.get(own[name]))
    known = list(own)
    for other in names():
        if other not in BUILT_IN:
            tool = make(other, resource, settings.get(other))
            if tool.name == name:
                return tool
            known.append(tool.name)
    raise NightjarError("unknown tool", repr(name), f"available are {', '.join(known)}")
