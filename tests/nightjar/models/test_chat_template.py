"""The chat template of local weights: the text of messages, calls of tools, and answers without reasoning."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from nightjar.core.errors import NightjarError
from nightjar.models.chat_template import ChatTemplate, TemplatedModel, calls_in
from nightjar.models.completions import Completion
from nightjar.models.interface import Decoding, Message, Model, Request, ToolCall
from nightjar.models.tokenizer import load_tokenizer
from nightjar.params.chat import DAY, Chat
from tests import made_tokenizers, tiny_models

TALK = (Message("system", "Be brief."), Message("user", "1+1?"))
SHOWN = "<system>Be brief.<user>1+1?<assistant>"
TOOLS = [{"name": "Calculator", "description": "Computes.", "parameters": {}}]


@pytest.fixture()
def folder(tiny_model: Path, tmp_path: Path) -> Path:
    return tiny_models.with_chat_template(tiny_model, tmp_path / "chat")


def test_messages_become_the_text_of_the_template(folder: Path) -> None:
    template = ChatTemplate(folder)
    assert template.text(TALK) == SHOWN
    assert template.text(TALK, TOOLS) == f"[Calculator]{SHOWN}" and template.knows_tools
    call = ToolCall("a", "Calculator", '{"input": "1+1"}')
    said = template.text([*TALK, Message("assistant", "", (call,)), Message("tool", "2", call_id="a")], TOOLS)
    assert said == "[Calculator]<system>Be brief.<user>1+1?<assistant>1+1;<tool>2<assistant>"


def test_a_model_without_a_template_and_messages_that_it_refuses(folder: Path, tiny_model: Path) -> None:
    with pytest.raises(NightjarError, match="its tokenizer has no chat template"):
        ChatTemplate(tiny_model)
    (folder / "chat_template.jinja").write_text("{{ raise_exception('no system message') }}")
    with pytest.raises(NightjarError, match=r"its chat template cannot write these messages.*no system"):
        ChatTemplate(folder).text(TALK)


def test_a_template_without_a_system_role_and_several_without_a_default_say_what_to_do(folder: Path) -> None:
    single = folder / "chat_template.jinja"
    single.write_text("{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}text")
    assert ChatTemplate(folder).text(TALK[1:]) == "text"
    with pytest.raises(NightjarError, match=r"\(no\): it has no system role; leave the system message out"):
        ChatTemplate(folder).text(TALK)
    single.unlink()
    named = folder / "additional_chat_templates"
    named.mkdir()
    for name in ("rag", "plain"):
        (named / f"{name}.jinja").write_text(name)
    for name, lack in ((None, "a default"), ("tool", "'tool'")):
        with pytest.raises(
            NightjarError, match=f"its chat templates are plain, rag, without {lack}; name one"
        ):
            ChatTemplate(folder, name=name)
    for name in ("rag", "plain"):
        template = ChatTemplate(folder, name=name)
        assert template.text(TALK) == template.text(TALK, [{"name": "f"}]) == template.source == name
    single.write_text("plain")
    assert ChatTemplate(folder).text(TALK) == "plain"
    assert ChatTemplate(folder, name="rag").text(TALK) == "rag"


def test_a_single_template_has_no_name(folder: Path) -> None:
    with pytest.raises(NightjarError, match="its tokenizer has one chat template, without a name; name none"):
        ChatTemplate(folder, name="rag")


class Scripted(Model):
    """Gives the same text after every prompt."""

    can = frozenset({"generate", "sample"})
    identity: Mapping[str, Any] = {"sha256": "a"}

    def __init__(self, folder: Path, text: str) -> None:
        self.tokenizer, self.text, self.prompts = load_tokenizer(folder), text, list[str]()

    def generate(
        self, requests: Mapping[int, Request], wanted: Sequence[int], decoding: Decoding
    ) -> Iterator[tuple[int, Completion]]:
        self.prompts += [requests[number].prompt for number in wanted]
        for number in wanted:
            (stop,) = requests[number].stop or ("no stop",)
            before, found, _ = self.text.partition(stop)
            yield number, Completion(before, stop=found or None)

    def sample(
        self, requests: Mapping[int, Request], wanted: Sequence[int], count: int, decoding: Decoding
    ) -> Iterator[tuple[int, list[Completion]]]:
        return ((number, [Completion(self.text)] * count) for number in wanted)


@pytest.mark.parametrize(
    ("written", "answer"),
    [("4", "4"), ("<think>2 and 2</think> 4", "4"), ("so 4</think>4", "4"), ("<think>2 and", "")],
)
def test_reasoning_is_no_part_of_an_answer(folder: Path, written: str, answer: str) -> None:
    model = TemplatedModel(Scripted(folder, written), ChatTemplate(folder))
    asked = {0: Request("2+2?", [], 5)}
    assert [text.text for _, text in model.generate(asked, [0], Decoding())] == [answer]
    ((_, texts),) = model.sample(asked, [0], 2, Decoding(0.5))
    assert [text.text for text in texts] == [answer] * 2
    assert model.identity["sha256"] == "a" and model.identity["chat_template"]


def test_a_stop_text_ends_the_answer_and_not_its_reasoning(folder: Path) -> None:
    model = Scripted(folder, "<think>\n2 and 2</think>\n\n4\nAnd more")
    asked = {number: Request("2+2?", [], 5, ("\n",)) for number in range(2)}
    texts = dict(TemplatedModel(model, ChatTemplate(folder)).generate(asked, [0, 1], Decoding()))
    assert {(text.text, text.stop) for text in texts.values()} == {("4", "\n")} and set(texts) == {0, 1}


def test_a_model_with_a_template_calls_tools(folder: Path) -> None:
    written = (
        '<think>a sum</think><tool_call>{"name": "Calculator", "arguments": {"input": "1+1"}}</tool_call>'
    )
    model = Scripted(folder, written)
    asked = {0: Request("", [], 5, messages=TALK)}
    chat = TemplatedModel(model, ChatTemplate(folder))
    ((_, reply),) = chat.converse(asked, [0], TOOLS, Decoding())
    assert model.prompts == [f"[Calculator]{SHOWN}"]
    assert (reply.text.text, reply.calls) == ("", (ToolCall("call_0", "Calculator", '{"input": "1+1"}'),))


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>{}</tool_call>",
        '<tool_call>{"name": 3}</tool_call>',
        "<tool_call>{" + "[" * 9000 + "}</tool_call>",
        '<tool_call>{"name": "a"',
    ],
)
def test_what_is_no_call_remains_text(text: str) -> None:
    assert calls_in(text) == (text, ())


def test_the_token_of_the_beginning_is_there_once(tmp_path: Path) -> None:
    """The tokenizer puts one before a text, and the template writes it too."""
    made_tokenizers.llama3(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    template = "<|begin_of_text|>{% for one in messages %}{{ one.content }}{% endfor %}"
    (tmp_path / "chat_template.jinja").write_text(template)
    assert ChatTemplate(tmp_path).text(TALK) == "Be brief.1+1?"


DATED = (
    "{{ strftime_now('%Y-%m-%d') }}|{{ date_string }}|{% for one in messages %}{{ one.content }}{% endfor %}"
)


def test_today_is_the_day_of_the_settings(folder: Path) -> None:
    """The clock of transformers gives another day, which no test can be run on twice."""
    (folder / "chat_template.jinja").write_text(DATED)
    assert ChatTemplate(folder).text(TALK[1:]) == "2024-07-26|26 Jul 2024|1+1?"
    assert ChatTemplate(folder, "1999-01-02").text(TALK[1:]) == "1999-01-02|02 Jan 1999|1+1?"


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%d %B %Y", "%-d %b %y, %A", "%%d 100%% %H:%M:%S", "%j%%%a", "no field"]
)
@pytest.mark.parametrize(
    "place", ["{{{{ {} }}}}", "{{% macro told() %}}{{{{ {} }}}}{{% endmacro %}}{{{{ told() }}}}"]
)
def test_every_form_of_the_day_is_that_of_strftime(folder: Path, form: str, place: str) -> None:
    call = "strftime_now(form)" if form == "no field" else f"strftime_now('{form}')"
    text = (
        "\n {% set form = 'no field' %}" + place.format(call) + "{% if strftime_now is defined %}!{% endif %}"
    )
    (folder / "chat_template.jinja").write_text(text)
    assert ChatTemplate(folder, "1999-01-02").text(TALK).strip() == f"{date(1999, 1, 2).strftime(form)}!"


def test_a_line_end_before_the_text_stays_where_the_template_names_the_day(folder: Path) -> None:
    for text in ("\n a{{ '' }}", "\n a{{ strftime_now('') }}"):
        (folder / "chat_template.jinja").write_text(text)
        assert ChatTemplate(folder).text(TALK) == "\n a"


def test_the_day_is_a_part_of_what_a_model_is_where_its_template_names_it(folder: Path) -> None:
    plain = TemplatedModel(Scripted(folder, ""), ChatTemplate(folder, "1999-01-02"))
    assert "date" not in plain.identity and plain.template.day is None
    (folder / "chat_template.jinja").write_text(DATED)
    dated = [TemplatedModel(Scripted(folder, ""), ChatTemplate(folder, day)) for day in ("1999-01-02", DAY)]
    assert [one.identity["date"] for one in dated] == ["1999-01-02", DAY]


@pytest.mark.parametrize("text", ["today", "19990102", "1999-13-01", "1999-W01-1", ""])
def test_a_day_has_one_form(text: str) -> None:
    with pytest.raises(ValidationError, match="give a day as YYYY-MM-DD"):
        Chat(date=text)
