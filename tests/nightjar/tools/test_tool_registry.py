"""Tools by name: Nightjar's own, those of installed packages, and one line for a package that is broken."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from importlib.metadata import EntryPoint
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest

from nightjar.core.config import read_yaml
from nightjar.core.errors import NightjarError
from nightjar.params import validate
from nightjar.prompts.tool_prompts import CALL_NAMES, head
from nightjar.search.lexical import LexicalIndex
from nightjar.tools import Call, Text, Toolbox, ToolRequest, make, names
from nightjar.tools.machine_translation import MachineTranslation
from nightjar.tools.passage_store import PassageSearch
from nightjar.tools.tool_registry import BUILT_IN, call_text, check
from nightjar.tools.wiki_search import WikiSearch
from pipelines.cli import main
from tests import installed_package
from tests.conftest import ROOT
from tests.in_process import captured

Installed = Callable[..., None]

MODULE = """
from nightjar.core.config import StrictModel
from nightjar.tools import Tool

class Thesaurus(Tool):
    name, version = "Thesaurus", "3"
    def __init__(self, path):
        self.words = dict(line.split("=") for line in path.read_text().split())
    @classmethod
    def make(cls, resource, settings): return cls(resource)
    def run(self, asked):
        return [self.words.get(request.input) for request in asked]

class Loud(StrictModel):
    loud: bool = False

class Plain(Tool):
    name, version, instructions, uses, seconds, settings = "Plain", "1", "", frozenset(), 5, Loud
    @classmethod
    def make(cls, resource, settings):
        tool = cls()
        tool.version = f"1 {settings.loud}"
        return tool
    def run(self, asked): return [request.input for request in asked]
    def why(self, request): return "never"

def function(resource): return Plain()
class Fails(Plain):
    @classmethod
    def make(cls, resource, settings): raise KeyError("no key")
class NoTool(Plain):
    @classmethod
    def make(cls, resource, settings): return "a text"
class BadName(Plain): name = "two words"
class NoRun(Tool):
    name, version = "NoRun", "1"
class Rude(Plain):
    name = "Rude"
    def run(self, asked):
        print("a tool prints")
        raise ValueError("\\x1b[31mred\\nline" if asked[0].input == "raise" else "")
    def why(self, request): raise KeyError("why")
class Noisy(Plain):
    name = "Noisy"
    def run(self, asked):
        print("a tool prints")
        return [request.input if request.input != "nothing" else None for request in asked]
    def why(self, request): raise KeyError("why")
"""


@pytest.fixture()
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """Installs packages with one entry point each, given as (name, value), in the place of the last ones."""
    (tmp_path / "my_tools.py").write_text(MODULE)
    (tmp_path / "my_broken.py").write_text("import no_such_module\n")
    (tmp_path / "my_leaves.py").write_text("raise SystemExit\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    folders = count()

    def install(*entries: tuple[str, str]) -> None:
        folder = tmp_path / f"installed-{next(folders)}"
        for number, (name, value) in enumerate(entries):
            point = f"{name} = {value}"
            installed_package.install(folder, f"package_{number}", "1.0", "nightjar.tools", [point])
        monkeypatch.setattr(sys, "path", [str(folder), *(p for p in sys.path if "installed-" not in p)])

    return install


def test_own_tools(installed: Installed) -> None:
    installed()
    assert names() == tuple(BUILT_IN) and set(names()) == set(CALL_NAMES)
    made = {name: make(name) for name in ("calculator", "calendar")}
    assert {name: tool.name for name, tool in made.items()} == {
        "calculator": "Calculator",
        "calendar": "Calendar",
    }
    assert all(tool.instructions.startswith("Your task") and tool.version for tool in made.values())
    for name, value in BUILT_IN.items():
        tool = EntryPoint(name, value, "nightjar.tools").load()
        assert (tool.name, tool.instructions) == (CALL_NAMES[name], head(name))
        tool.settings()  # every setting has a default


def test_a_setting_is_read_and_a_wrong_one_is_one_line() -> None:
    assert make("calculator", None, {"lenient": True}).run([ToolRequest("1,000 * 5%")]) == ["50"]
    with pytest.raises(NightjarError, match=r"tools\.all\.calculator\.lenient = 'yes' is not"):
        make("calculator", None, {"lenient": "yes"})


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("calculator", {"lenient": 1}, "params.yaml: tools.all.calculator.lenient = 1 is not allowed"),
        ("wiki_search", {"depth": 1}, "unknown key tools.all.wiki_search.depth"),
        ("thesaurus", {}, "tools.all.thesaurus: no such tool; tools are calculator"),
    ],
)
def test_parameters_are_checked_before_any_work(key: str, value: dict[str, Any], told: str) -> None:
    values = read_yaml(ROOT / "params.yaml")
    check(validate(values))
    values["tools"]["all"][key] = value
    values["augment"]["tools"].setdefault(key, values["augment"]["tools"]["calculator"])
    with pytest.raises(NightjarError, match=re.escape(told)):
        check(validate(values))


def test_a_package_adds_a_tool(installed: Installed, tmp_path: Path) -> None:
    installed(("thesaurus", "my_tools:Thesaurus"), ("plain", "my_tools:Plain"))
    assert names() == (*BUILT_IN, "plain", "thesaurus")
    (tmp_path / "words.txt").write_text("big=large\nfast=quick")
    tool = make("thesaurus", tmp_path / "words.txt")
    assert (tool.name, tool.uses, tool.suits(Text("x"), 0.5)) == ("Thesaurus", frozenset(), "every text")
    assert make("plain", None, {"loud": True}).version == "1 True"
    assert tool.run([ToolRequest("big"), ToolRequest("small")]) == ["large", None]
    assert call_text("Plain(hello)", None) == "hello"
    with pytest.raises(NightjarError, match=f"available are {', '.join(CALL_NAMES.values())}, Plain"):
        installed(("plain", "my_tools:Plain"))
        call_text("Telephone(1)", None)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("my_broken:Thesaurus", "No module named 'no_such_module'"),
        ("my_tools:nothing", "has no attribute 'nothing'"),
        ("my_tools:Fails", "no key"),
        ("my_tools:MODULE:x", "cannot be loaded"),
        ("my_tools:function", "it is no tool; name a subclass of nightjar.tools.Tool"),
        ("my_tools:Loud", "it is no tool; name a subclass of nightjar.tools.Tool"),
        ("my_tools:NoTool", "it makes no tool"),
        ("my_tools:NoRun", "its tool cannot be made (TypeError: Can't instantiate abstract class NoRun"),
        ("my_tools:BadName", "its name 'two words' is not a word"),
        ("my_leaves:Tool", "it cannot be loaded (SystemExit"),
    ],
)
def test_a_broken_entry_point_is_one_line_and_leaves_the_others_alone(
    installed: Installed, value: str, told: str
) -> None:
    installed(("broken", value))
    with pytest.raises(NightjarError) as caught:
        make("broken")
    line = str(caught.value)
    assert "\n" not in line and "broken" in line and told in line
    assert make("calculator").run([ToolRequest("1 + 1")]) == ["2"]
    assert call_text("Calculator(1 + 1)", None) == "2"


def test_what_a_tool_prints_and_raises_is_no_output_and_controls_no_terminal(installed: Installed) -> None:
    installed(("rude", "my_tools:Rude"), ("noisy", "my_tools:Noisy"))
    done = captured(main, ["call", "Noisy(hello)", "--json"])
    assert (done.returncode, json.loads(done.stdout)["result"]) == (0, "hello")
    assert done.stderr == "a tool prints\n"
    done = captured(main, ["call", "Noisy(nothing)"])
    assert (done.returncode, done.stdout) == (2, "") and "cannot say why (KeyError: 'why')" in done.stderr
    done = captured(main, ["call", "Rude(raise)"])
    assert (done.returncode, done.stdout) == (2, "") and "\x1b" not in done.stderr
    assert "tool Rude failed: ValueError: \\x1b[31mred\n" in done.stderr


def test_two_tools_of_one_name_are_refused(installed: Installed) -> None:
    installed(("calculator", "my_tools:Plain"))
    with pytest.raises(NightjarError, match="two tools have this name: nightjar"):
        names()
    installed(("own", "my_tools:Thesaurus"), ("own", "my_tools:Plain"))
    with pytest.raises(NightjarError, match="my_tools:Plain and my_tools:Thesaurus"):
        names()
    with pytest.raises(NightjarError, match="no such tool; tools are calculator, calendar"):
        installed()
        make("own")


def test_heuristics_look_at_the_context_too() -> None:
    """A target needs a number of its own; its context is part of what is looked at."""
    calculator, calendar = make("calculator"), make("calendar")
    assert calculator.suits(Text("96 pens", context="12 boxes of 8 pens"), 0.5)
    assert not calculator.suits(Text("many pens", context="We sold 12 boxes of 8 pens, 96 in all."), 0.5)
    assert calendar.suits(Text("x", day=date(2023, 1, 30)), 0.5)
    assert not calendar.suits(Text("It is 2023-01-30."), 0.5)


ODD = [
    "",
    " ",
    "[",
    "]]][[ ->",
    "[Calculator(1 + 1) -> 2]",
    "[MT(",
    "\u202eאבג دول\u0301\u0323",
    "\ud800",
    "\x00",
]


@pytest.mark.parametrize("text", [*ODD, "7 " * 3000, "の" * 3000], ids=range(len(ODD) + 2))
def test_heuristics_and_tools_take_any_text(text: str) -> None:
    index = PassageSearch(
        pa.table({"document_id": ["d"], "title": ["a"], "text": ["b"]}), LexicalIndex.build(["a\nb"]), "1"
    )
    translation = MachineTranslation(Mock(identity="none", knows=lambda language: False))
    for tool in (make("calculator"), make("calendar"), WikiSearch(index), translation):
        for one in (Text(text), Text(text, text), Text(text, "Input: x", date(2023, 1, 30))):
            assert isinstance(tool.suits(one, 0.001), str)
        results = Toolbox([tool]).run([Call(tool.name, text)], date(2023, 1, 30), text)
        assert len(results) == 1 and (results[0] is None or "\n" not in results[0])


def test_tools_need_no_torch() -> None:
    """`nightjar call`, and a stage before it has read its texts, do not wait for torch."""
    lines = (
        "import sys; from nightjar.tools import make; make('calculator'); sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", lines], check=True)


DAY = date(2023, 1, 30)


def test_calls_that_a_person_types() -> None:
    assert call_text("Calculator(400 / 1400)", None) == "0.29"
    assert call_text(" Calendar()\n", DAY) == "Today is Monday, January 30, 2023."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Calculator(1/0)", "division by zero"),
        (f"Calculator({'1+' * 200}1)", "too long"),
        ("Calculator(9**9**9**9)", "not an expression"),
        ("Telephone(1)", "unknown tool"),
        ("QA(Who?)", "no lexical index"),
        ("Calendar()", "no date is known"),
        ("Calendar(tomorrow)", "takes no input"),
        ("WikiSearch(x)", "no lexical index"),
        ("", "not a tool call"),
        ("line\nbreak", "not a tool call"),
    ],
)
def test_a_call_without_a_result_says_why_in_one_line(workdir: Path, text: str, told: str) -> None:
    with pytest.raises(NightjarError) as caught:
        call_text(text, None)
    line = str(caught.value)
    assert told in line
    assert "\n" not in line
    assert len(line) < 250
