"""The chat template of a model directory: messages to the text that its model was trained to continue."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

from nightjar.core.errors import NightjarError
from nightjar.core.identity import digest
from nightjar.core.json_text import NotJson, parse
from nightjar.models.completions import Completion, until_stop
from nightjar.models.directory.headers import refusing
from nightjar.models.interface import Capability, ChatReply, Decoding, Message, Model, Request, ToolCall
from nightjar.models.tokenizer import load_tokenizer
from nightjar.params.chat import DAY

# How models that were trained with tools write a call (Hermes, Qwen, SmolLM): JSON between these tags.
_CALL = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)
# What a model writes before its answer; where the limit of tokens ended that, there is no answer.
_REASONING = re.compile(r"\A(?:.*</think>\s*|\s*<think>.*)", re.DOTALL)
_OPEN = re.compile(r"\A\s*<think>(?!.*</think>)", re.DOTALL)
# How templates name the day: a function of transformers, by the clock, and a variable in the form of Llama 3.
_CLOCK, _DATE, _DATE_FORM = "strftime_now", "date_string", "%d %b %Y"
# Takes the place of that function: transformers gives a template data, but no functions. `+%}` leaves a line end that
# follows to the template.
_FIXED_DAY = """\
{%- macro strftime_now(format) -%}
{%- set written = namespace(text=format) -%}
{%- for code, value in fields_of_day -%}{%- set written.text = written.text.replace(code, value) -%}{%- endfor -%}
{{- written.text -}}
{%- endmacro +%}"""
# The fields of `strftime`. "%%" is taken out first, so that no field begins with its second character.
_FIELDS = [f"%{sign}{letter}" for sign in ("", "-") for letter in "aAbBcdeDFGHIjmMpRSTuUVwWxXyYfzZ"]


class ChatTemplate:
    """The template of the tokenizer in `folder`, which transformers renders in a sandbox.

    `day`, YYYY-MM-DD, stands for today in a template that names the date. `name` is that of one of several templates;
    None: the default one, or with tools the one named `tool_use`.
    """

    def __init__(self, folder: Path, day: str = DAY, name: str | None = None) -> None:
        from nightjar.models.directory.pretrained import read_tokenizer

        self._folder, self._tokenizer = folder, read_tokenizer(folder)
        self._day = date.fromisoformat(day)
        bos = self._tokenizer.bos_token
        self._begin = bos if bos and load_tokenizer(folder).begin else ""
        if not self._tokenizer.chat_template:
            fix = "use a chat model, or leave the template out"
            raise NightjarError("its tokenizer has no chat template", folder, fix)
        self._name = name
        self.source = _source(self._tokenizer.chat_template, name, folder)

    @property
    def day(self) -> str | None:
        """The day that stands for today, YYYY-MM-DD; None if the template names no date."""
        return self._day.isoformat() if _CLOCK in self.source or _DATE in self.source else None

    @property
    def knows_tools(self) -> bool:
        """True if the template shows tools to the model."""
        return "tools" in self.source

    def text(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> str:
        """The text of these messages, up to where the model's answer begins."""
        try:
            return self._rendered(messages, tools)
        except NightjarError as error:
            others = [message for message in messages if message.role != "system"]
            if len(others) == len(messages):
                raise
            self._rendered(others, tools)
            fix = "leave the system message out, or write it into the prompt"
            raise NightjarError(f"{error.what}: it has no system role", self._folder, fix) from None

    def _rendered(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> str:
        functions = [{"type": "function", "function": one} for one in tools] or None
        fields = [("%%", "\0"), *((one, self._day.strftime(one)) for one in _FIELDS), ("\0", "%")]
        with refusing("its chat template cannot write these messages", self._folder):
            template = self._tokenizer.get_chat_template(self._name, tools=functions)
            rendered: str = self._tokenizer.apply_chat_template(
                [_plain(message) for message in messages],
                tools=functions,
                chat_template=_FIXED_DAY + template if _CLOCK in template else template,
                tokenize=False,
                add_generation_prompt=True,
                fields_of_day=fields,
                **{_DATE: self._day.strftime(_DATE_FORM)},
            )
        # What the tokenizer itself puts before a text is there once.
        return rendered.removeprefix(self._begin)


class TemplatedModel(Model):
    """A causal model of this process that is asked through its chat template. Its requests have the template's text."""

    can: ClassVar[frozenset[Capability]] = frozenset({"generate", "sample", "score", "chat", "tools"})
    title: ClassVar[str] = "a chat model"

    def __init__(self, model: Model, template: ChatTemplate) -> None:
        self._model, self.template, self.tokenizer = model, template, model.tokenizer
        dated = {} if template.day is None else {"date": template.day}
        self.identity = {**model.identity, "chat_template": digest({"template": template.source}), **dated}
        self.score = model.score  # type: ignore[method-assign]

    def generate(
        self, requests: Mapping[int, Request], numbers: Sequence[int], decoding: Decoding
    ) -> Iterator[tuple[int, Completion]]:
        cut: dict[int, Request] = {}
        for number, written in self._model.generate(requests, numbers, decoding):
            if written.stop is not None and is_within_reasoning(written.text):
                cut[number] = replace(requests[number], stop=())
            else:
                yield number, without_reasoning(written)
        # A stop text ended their reasoning: they are written to the end, and it is looked for in what follows.
        for number, written in self._model.generate(cut, list(cut), decoding) if cut else ():
            yield number, until_stop(without_reasoning(written), requests[number].stop)

    def sample(
        self, requests: Mapping[int, Request], numbers: Sequence[int], count: int, decoding: Decoding
    ) -> Iterator[tuple[int, list[Completion]]]:
        for number, texts in self._model.sample(requests, numbers, count, decoding):
            yield number, [without_reasoning(one) for one in texts]

    def converse(
        self,
        requests: Mapping[int, Request],
        numbers: Sequence[int],
        tools: Sequence[Mapping[str, Any]],
        decoding: Decoding,
    ) -> Iterator[tuple[int, ChatReply]]:
        assert self.tokenizer is not None
        rendered = {}
        for number in numbers:
            text = self.template.text(requests[number].conversation, tools)
            rendered[number] = replace(requests[number], prompt=text, ids=self.tokenizer.encode(text))
        for number, written in self.generate(rendered, numbers, decoding):
            text, calls = calls_in(written.text) if tools else (written.text, ())
            yield number, ChatReply(replace(written, text=text), calls)


def _source(templates: str | Mapping[str, str], name: str | None, folder: Path) -> str:
    """Return the text of a template, or of all where none is named."""
    if isinstance(templates, str):
        if name is not None:
            raise NightjarError("its tokenizer has one chat template, without a name", folder, "name none")
        return templates
    if name is not None and name in templates:
        return templates[name]
    if name is not None or "default" not in templates:
        names = ", ".join(sorted(map(str, templates)))
        what = f"its chat templates are {names}, without " + (f"{name!r}" if name else "a default")
        raise NightjarError(what, folder, "name one of them (evaluate --chat-template NAME)")
    return str(templates)


def _plain(message: Message) -> dict[str, Any]:
    """The message as templates read it: arguments are an object there."""
    fields = message.as_json()
    for call in fields.get("tool_calls", ()):
        call["function"]["arguments"] = arguments_of(call["function"]["arguments"])
    return fields


def arguments_of(text: str) -> Any:
    """The arguments of a call; the text itself if it is no JSON."""
    try:
        return parse(text)
    except NotJson:
        return text


def calls_in(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """The text without the calls of tools in it, and these calls."""
    calls: list[ToolCall] = []
    for match in _CALL.finditer(text):
        fields = arguments_of(match[1])
        if isinstance(fields, dict) and isinstance(name := fields.get("name"), str):
            calls.append(ToolCall(f"call_{len(calls)}", name, json.dumps(fields.get("arguments", {}))))
    return _CALL.sub("", text).strip() if calls else text, tuple(calls)


def is_within_reasoning(text: object) -> bool:
    """Return True if a text ends before its reasoning does."""
    return isinstance(text, str) and _OPEN.match(text) is not None


def without_reasoning(written: Completion) -> Completion:
    """The answer alone."""
    return replace(written, text=_REASONING.sub("", written.text, count=1))
