"""The files that make a recipe with calls a chat model with tools: what they write, and what they read back."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from bench import tool_server
from nightjar.core.errors import NightjarError
from nightjar.models.chat_template import ChatTemplate
from nightjar.models.directory.pretrained import read_tokenizer
from nightjar.models.interface import Message, ToolCall
from nightjar.models.tokenizer import load_tokenizer
from nightjar.tools.syntax import ARROW, Call, write
from tests import tiny_models

TOOLS = [{"name": "Calculator"}]
CALLS = [Call("Calculator", "27 * 3"), Call("QA", "Where is X?"), Call("Calendar", "")]


def texts_of(folder: Path, call: Call, result: str) -> tuple[str, str]:
    """The prompt of a template after a call and its result, with tools and without."""
    template = ChatTemplate(folder)
    called = ToolCall("a", call.tool, json.dumps({"input": call.input}))
    messages = [
        Message("user", "27 boxes of 3?"),
        Message("assistant", "It is", (called,)),
        Message("tool", result, call_id="a"),
    ]
    return template.text(messages), template.text(messages, TOOLS)


@pytest.fixture()
def served(tiny_model: Path, tmp_path: Path) -> Path:
    tool_server.write_files(
        tiny_models.with_chat_template(tiny_model, tmp_path / "source"), tmp_path / "served"
    )
    return tmp_path / "served"


@pytest.mark.parametrize("call", CALLS)
def test_calls_and_results_are_those_of_the_training_texts(served: Path, call: Call) -> None:
    plain, with_tools = texts_of(served, call, "81")
    assert plain == f"27 boxes of 3? It is{write(call, '81')}" and with_tools == f"\n{plain}"


@pytest.mark.parametrize("call", CALLS)
def test_a_written_call_is_read_with_the_text_before_it(served: Path, call: Call) -> None:
    tokenizer = read_tokenizer(served)
    written = write(call, "81").partition("->")[0] + "->"
    message = tokenizer.parse_response(f" It is{written}", prefix="27 boxes of 3?")
    function = {"name": call.tool, "arguments": {"input": call.input}}
    assert message["content"] == "It is"
    assert [it["function"] for it in message["tool_calls"]] == [function]
    assert "tool_calls" not in tokenizer.parse_response(" It is 81 [sic].", prefix="27 boxes of 3?")


def test_the_arrow_ends_what_the_model_writes(served: Path) -> None:
    ends = json.loads((served / "generation_config.json").read_text())["eos_token_id"]
    assert len(ends) > 1 and load_tokenizer(served).decode(ends[-1:]).strip() == ARROW


def test_an_arrow_of_several_tokens_is_refused(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_server, "ARROW", "-->")
    with pytest.raises(NightjarError, match="'-->' is no token of its own"):
        tool_server.write_files(tiny_model, tmp_path / "served")
    assert not (tmp_path / "served").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_and_removes_its_folder(
    number: signal.Signals, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`subprocess.run` kills its process when it is interrupted."""
    model = tiny_models.with_chat_template(tiny_model, tmp_path / "source")
    folders = list[Path]()

    def run(command: list[str], **_: object) -> None:
        folders.append(Path(command[command.index("serve") + 1]))
        assert folders[0].is_dir()
        os.kill(os.getpid(), number)
        time.sleep(60)

    monkeypatch.setattr(tool_server.subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["tool_server", "--model", str(model)])
    tool_server.main()
    assert folders and not folders[0].parent.exists()
