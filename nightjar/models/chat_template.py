"""The chat template of a model directory: messages to the text that its model was trained to continue."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.models.headers import refusing
from nightjar.models.model import Message, ToolCall
from nightjar.models.pretrained import read_tokenizer

# How models that were trained with tools write a call (Hermes, Qwen, SmolLM): JSON between these tags.
_CALL = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)


class ChatTemplate:
    """The template of the tokenizer in `folder`, which transformers renders in a sandbox.

    Raises NightjarError if the tokenizer has none.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._tokenizer = folder, read_tokenizer(folder)
        if not self._tokenizer.chat_template:
            fix = "use a chat model, or leave the template out"
            raise NightjarError("its tokenizer has no chat template", folder, fix)

    @property
    def source(self) -> str:
        """The template as it is written."""
        return str(self._tokenizer.chat_template)

    @property
    def knows_tools(self) -> bool:
        """Whether the template shows tools to the model."""
        return "tools" in self.source

    def text(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> str:
        """The text of these messages, up to where the model's answer begins.

        Raises NightjarError if the template refuses them, such as a system message that it does not know.
        """
        functions = [{"type": "function", "function": one} for one in tools]
        with refusing("its chat template cannot write these messages", self._folder):
            rendered: str = self._tokenizer.apply_chat_template(
                [_plain(message) for message in messages],
                tools=functions or None,
                tokenize=False,
                add_generation_prompt=True,
            )
        return rendered


def _plain(message: Message) -> dict[str, Any]:
    """The message as templates read it: arguments are an object there."""
    found = message.as_json()
    for call in found.get("tool_calls", ()):
        call["function"]["arguments"] = arguments_of(call["function"]["arguments"])
    return found


def arguments_of(text: str) -> Any:
    """The arguments of a call; the text itself if it is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def calls_in(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """The text without the calls of tools in it, and these calls."""
    calls: list[ToolCall] = []
    for found in _CALL.finditer(text):
        try:
            given = json.loads(found[1])
        except ValueError:
            continue
        if isinstance(given, dict) and isinstance(name := given.get("name"), str):
            calls.append(ToolCall(f"call_{len(calls)}", name, json.dumps(given.get("arguments", {}))))
    return _CALL.sub("", text).strip() if calls else text, tuple(calls)
