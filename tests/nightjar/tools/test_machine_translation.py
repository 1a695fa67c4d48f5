"""Translation: which input is translated, by which engine, and what an engine that fails costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from nightjar.tools import Call, Request, Text, Toolbox, make, translators
from nightjar.tools.machine_translation import LONGEST, QUOTED, MachineTranslation
from tests.nightjar.tools.test_translators import ENGLISH, GERMAN, SPANISH, program


class Fixed:
    """Translates some languages by naming itself."""

    def __init__(self, identity: str, *languages: str) -> None:
        self.identity, self.languages = identity, languages

    def knows(self, language: str) -> bool:
        return language in self.languages

    def translate(self, texts: Sequence[tuple[str, str]]) -> list[str | None]:
        return [f"{self.identity}: {language}: {text}" for language, text in texts]


def test_the_first_engine_that_knows_the_language_translates_it() -> None:
    tool = MachineTranslation([Fixed("first", "es"), Fixed("second", "es", "de")])
    asked = [SPANISH, ENGLISH, GERMAN, "12 + 3", "hola", SPANISH + " x" * LONGEST, "", f"{SPANISH}\n"]
    assert tool.run([Request(text) for text in asked]) == [
        f"first: es: {SPANISH}",
        None,  # English
        f"second: de: {GERMAN}",
        None,
        "second: de: hola",
        None,
        None,
        f"first: es: {SPANISH}",
    ]
    why = [tool.why(Request(text)) for text in (ENGLISH, "12 + 3", asked[5], "O homem suprimido")]
    for reason, told in zip(why, ("it is English", "no letter", "too long", "no engine"), strict=True):
        assert told in reason


@pytest.mark.parametrize("text", ["tortuga", "Hund", "chat noir", "casa", "南京", "O homem suprimido"])
def test_a_word_or_two_is_translated(text: str) -> None:
    """The confidence of 0.8 is for the choice of documents; the first is an example of the paper."""
    (result,) = MachineTranslation([Fixed("all", "es", "de", "fr", "it", "zh", "pt")]).run([Request(text)])
    assert result is not None and result.endswith(f": {text}")
    certain = {"chat noir": "fr", "casa": "it", "南京": "zh", "O homem suprimido": "pt"}.get(text)
    assert certain is None or result == f"all: {certain}: {text}"
    assert MachineTranslation([]).run([Request(text)]) == [None]


def test_a_certain_language_is_read_as_no_other() -> None:
    assert MachineTranslation([Fixed("one", "es")]).run([Request("O homem suprimido")]) == [None]
    # English with confidences of 0.73 and 0.76.
    tool = MachineTranslation([Fixed("all", "es", "de", "fr", "it")])
    for text in ("the turtle", "house"):
        assert tool.run([Request(text)]) == [None] and tool.why(Request(text)) == "it is English"


def test_documents() -> None:
    tool = MachineTranslation([])
    quoted = f"They wrote on the wall: {SPANISH}. That is not what we wanted to read."
    assert tool.suits(Text(quoted), 0.5) == QUOTED
    assert tool.suits(Text(f"{ENGLISH}.\n{quoted}\n{ENGLISH}."), 0.5)
    assert not tool.suits(Text(quoted.replace(": ", "\n").replace(". ", "\n")), 0.5)
    assert not tool.suits(Text(ENGLISH), 0.5)
    # The context of a target and the target are read as one text.
    assert tool.suits(Text("That is what they wanted.", f"They wrote on the wall:\n{SPANISH}"), 0.5)


class TestSettings:
    def test_a_model_is_needed(self) -> None:
        with pytest.raises(NightjarError, match="needs a translation model"):
            make("machine_translation", None, {"engine": "model"})
        with pytest.raises(NightjarError, match="no such model directory"):
            make("machine_translation", None, {"engine": "model", "model": "nowhere"})

    def test_apertium_is_needed(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(NightjarError, match="apertium is not installed"):
            make("machine_translation", None, {"engine": "apertium"})

    def test_auto_takes_what_there_is(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_model: Path, tiny_t5: Path
    ) -> None:
        def engines(**settings: str) -> list[str]:
            tool = make("machine_translation", None, {"language_model": str(tiny_model), **settings})
            assert isinstance(tool, MachineTranslation)
            return [type(one).__name__ for one in tool.translators]

        monkeypatch.setenv("PATH", str(tmp_path))
        assert engines() == ["Few"]
        assert engines(model=str(tiny_t5)) == ["TranslationModel", "Few"]
        program(tmp_path, "pass")
        assert engines(model=str(tiny_t5)) == ["TranslationModel", "Apertium", "Few"]
        assert engines(engine="apertium") == ["Apertium"]
        assert engines(engine="language_model", model=str(tiny_t5)) == ["Few"]


def test_a_translation_model_without_codes_reads_any_language(
    tiny_t5: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translators, "TOKENS", 8)
    tool = make("machine_translation", None, {"engine": "model", "model": str(tiny_t5)})
    results = tool.run([Request(SPANISH), Request(GERMAN), Request(ENGLISH)])
    assert results[0] and results[1] and results[2] is None


def test_a_model_that_does_not_translate_costs_its_call_only(tiny_model: Path) -> None:
    tool = make("machine_translation", None, {"engine": "model", "model": str(tiny_model)})
    toolbox = Toolbox([tool])
    assert toolbox.run([Call("MT", SPANISH), Call("MT", ENGLISH)]) == [None, None]
    assert toolbox.problems == {"MT: failed": 1}


def test_the_language_model_gets_the_name_of_the_language(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts: list[str] = []

    def remember(self: Any, given: Sequence[str], most: int) -> list[str]:
        prompts.extend(given)
        return ["A line."] * len(given)

    monkeypatch.setattr("nightjar.tools.reader.Reader.lines", remember)
    settings = {"engine": "language_model", "language_model": str(tiny_model)}
    tool = make("machine_translation", None, settings)
    assert tool.run([Request(SPANISH), Request(ENGLISH), Request(GERMAN)]) == ["A line.", None, "A line."]
    assert prompts == [f"Spanish: {SPANISH}\nEnglish:", f"German: {GERMAN}\nEnglish:"]
    few = translators.Few(str(tiny_model))
    assert few.knows("sh") and few.knows("als") and not few.knows("xx")
