"""Tools by name: those of Nightjar, and those that installed packages add by the entry point group `nightjar.tools`.

    [project.entry-points."nightjar.tools"]
    thesaurus = "my_package.thesaurus:Thesaurus"

The entry point names a class like `nightjar.tools.Tool`. Its method `make` gets the path of what the tool reads, such
as the folder of an index, and the checked settings of the tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from nightjar.core import paths, plugins
from nightjar.core.arguments import AnyPath
from nightjar.core.config import PARAMS_FILE, checked
from nightjar.core.errors import NightjarError
from nightjar.core.plugins import calling
from nightjar.params import Params
from nightjar.params.groups import ALL_TOOLS
from nightjar.prompts.tool_prompts import CALL_NAMES
from nightjar.tools.syntax import parse
from nightjar.tools.tool import Tool, ToolRequest
from nightjar.tools.toolbox import Toolbox

GROUP = "nightjar.tools"
# Name: the class of the tool.
BUILT_IN = {
    "calculator": "nightjar.tools.calculator:Calculator",
    "calendar": "nightjar.tools.calendar:Calendar",
    "wiki_search": "nightjar.tools.wiki_search:WikiSearch",
    "question_answering": "nightjar.tools.question_answering:QuestionAnswering",
    "machine_translation": "nightjar.tools.machine_translation:MachineTranslation",
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def _own_points() -> dict[str, EntryPoint]:
    return {name: EntryPoint(name, value, GROUP) for name, value in BUILT_IN.items()}


def _points() -> dict[str, EntryPoint]:
    return plugins.points(GROUP, _own_points())


def names() -> tuple[str, ...]:
    """Return the names of all tools, Nightjar's own first; nothing is loaded."""
    return tuple(_points())


def make(name: str, resource: AnyPath | None = None, settings: Mapping[str, Any] | None = None) -> Tool:
    """Make the tool of that name, such as "calculator", which reads `resource` if it reads anything.

    `settings` are the keys below `tools.all.NAME` in the parameters; a key that is left out has its default. Raises
    NightjarError for an unknown name, for an entry point that cannot be loaded or makes no tool, for settings that the
    tool refuses, and if it cannot read its resource.
    """
    points = _own_points() if name in BUILT_IN else _points()
    if name not in points:
        raise NightjarError("no such tool", repr(name), f"tools are {', '.join(points)}")
    point = points[name]
    kind, where = _class(point), plugins.place(point)
    with plugins.calling(where, "its tool cannot be made"):
        tool_settings = checked(kind.settings, dict(settings or {}), PARAMS_FILE, "tools", ALL_TOOLS, name)
        tool: Any = kind.make(None if resource is None else Path(resource), tool_settings)
    if not isinstance(tool, Tool):
        raise NightjarError("it makes no tool", where, "see nightjar.tools.Tool")
    if not _NAME.fullmatch(call_name := str(getattr(tool, "name", ""))):
        what = f"its name {call_name[:40]!r} is not a word of letters, digits and underscores"
        raise NightjarError(what, where, "see nightjar.tools.Tool")
    return tool


def check(params: Params, where: object = PARAMS_FILE) -> None:
    """Raise NightjarError for a tool in the parameters that is unknown, whose settings it refuses, or whose code is
    not what the graph watches."""
    points = _points()
    for set_name, tools in params.tools.items():
        for name, settings in tools.items():
            key = f"tools.{set_name}.{name}"
            if name not in points:
                raise NightjarError("no such tool", f"{where}: {key}", f"tools are {', '.join(points)}")
            checked(_class(points[name]).settings, settings, where, *key.split("."))
    for name, group in params.augment.tools.items():
        if name not in BUILT_IN:
            plugins.check_watched(points[name], group.code, f"augment.tools.{name}.code", where)


def _class(point: EntryPoint) -> type[Tool]:
    """Return the class of a tool."""
    kind: Any = plugins.load(point)
    if not (isinstance(kind, type) and issubclass(kind, Tool)):
        raise NightjarError("it is no tool", plugins.place(point), "name a subclass of nightjar.tools.Tool")
    return kind


def call_text(
    text: str,
    today: date | None,
    resource: Path | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """Return the result of the call written in `text`, e.g. "0.29" for "Calculator(400 / 1400)".

    `today` is the day of the call, `resource` what the tool reads (by default data/index), `settings` those of each
    tool by its name in the registry (see `make`). Raises NightjarError for what is no call, for a tool that is
    unknown or not available, and for a call without a result, saying why.
    """
    call_start = repr(text if len(text) <= 60 else text[:57] + "...")
    call = parse(text, names=None)
    if call is None:
        fix = 'write Name(input) with balanced parentheses, such as "Calculator(400 / 1400)"'
        raise NightjarError("not a tool call", call_start, fix)
    tool = _named(call.tool, resource or paths.INDEX, settings or {})
    toolbox = Toolbox([tool])
    result = toolbox.run([call], today)[0]
    if result is not None:
        return result
    if toolbox.problems:
        raise NightjarError(f"no result: {', '.join(toolbox.problems)}", call_start, "see the warning above")
    with calling(call_start, f"no result, and the tool {tool.name} cannot say why"):
        why = tool.why(ToolRequest(call.input, today))
    raise NightjarError(f"no result: {why}", call_start, "correct the call")


def _named(name: str, resource: Path, settings: Mapping[str, Mapping[str, Any]]) -> Tool:
    """Return the tool whose calls have that name."""
    built_in_names = {call_name: built_in for built_in, call_name in CALL_NAMES.items()}
    if name in built_in_names:
        return make(built_in_names[name], resource, settings.get(built_in_names[name]))
    call_names = list(built_in_names)
    for tool_name in names():
        if tool_name not in BUILT_IN:
            tool = make(tool_name, resource, settings.get(tool_name))
            if tool.name == name:
                return tool
            call_names.append(tool.name)
    raise NightjarError("unknown tool", repr(name), f"available are {', '.join(call_names)}")
