"""Machine translation into English: the language by fastText's model, then one of three engines (Toolformer).

The paper translates with NLLB-600M. Where no translation model can be had, Apertium translates the language pairs that
are installed, by rules; where neither is there, a language model translates after a few examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from nightjar.core import paths
from nightjar.core.config import Model
from nightjar.core.errors import NightjarError
from nightjar.prompts.tool_prompts import CALL_NAMES, head
from nightjar.tools import language
from nightjar.tools.tool import Request, Text, Tool
from nightjar.tools.translators import Apertium, Few, TranslationModel, Translator

# Characters of a text to translate.
LONGEST = 500
# A language is likelier than all others together above this confidence. That of documents is language.CONFIDENCE.
MAJORITY = 0.5
# Toolformer's rule (appendix A), as it is counted.
QUOTED = f"{language.CHUNK} tokens in another language, with English before and after"


class Settings(Model):
    """`engine`: model, apertium or language_model; auto takes, for each language, the first of these that there is.

    `model`: the translation model, a directory or hub:NAME@REVISION; None: none. `language_model`: likewise.
    With auto, results depend on the programs that are installed.
    """

    engine: Literal["auto", "model", "apertium", "language_model"] = "auto"
    model: str | None = None
    language_model: str = paths.LANGUAGE_MODEL.as_posix()


class MachineTranslation(Tool):
    """Translation as a tool. Input that is English, or that has no letter, has no result.

    A word or two is often too short for fastText. Where no language is likelier than all others together, the input is
    read as the likeliest but English that there is an engine for.
    """

    name = CALL_NAMES["machine_translation"]
    description = "Translates a text of any language to English."
    argument = "the text to be translated"
    instructions = head("machine_translation")
    seconds = 600.0
    settings = Settings

    def __init__(self, translators: Sequence[Translator]) -> None:
        self.translators = translators
        engines = ", ".join(one.identity for one in translators)
        self.version = f"2 {language.version()}, {engines}"

    @classmethod
    def make(cls, resource: Path | None, settings: Settings) -> MachineTranslation:
        """Raises NightjarError if an engine that the settings name is missing."""
        engine, translators = settings.engine, list[Translator]()
        if settings.model is not None and engine in ("auto", "model"):
            translators.append(TranslationModel(settings.model))
        elif engine == "model":
            what = "the engine model needs a translation model"
            raise NightjarError(
                what, "tools.all.machine_translation.model", "name a directory or hub:NAME@REVISION"
            )
        if engine == "apertium" or (engine == "auto" and Apertium.installed()):
            translators.append(Apertium())
        if engine in ("auto", "language_model"):
            translators.append(Few(settings.language_model))
        return cls(translators)

    def suits(self, text: Text, chance: float) -> str:
        """Name the rule for a paragraph that quotes another language; a context and its body are one paragraph."""
        joined = " ".join(f"{text.context} {text.body}".split())
        paragraphs = [joined] if text.context else text.body.split("\n")
        return QUOTED if any(map(language.quotes_another_language, paragraphs)) else ""

    def run(self, requests: Sequence[Request]) -> list[str | None]:
        results: list[str | None] = [None] * len(requests)
        work: dict[int, list[tuple[int, str, str]]] = {}
        for place, request in enumerate(requests):
            if reading := self._read_as(request.input):
                engine, spoken = reading
                work.setdefault(engine, []).append((place, spoken, " ".join(request.input.split())))
        for engine, rows in work.items():
            translations = self.translators[engine].translate([(spoken, text) for _, spoken, text in rows])
            for (place, _, _), result in zip(rows, translations, strict=True):
                results[place] = result
        return results

    def why(self, request: Request) -> str:
        if len(request.input) > LONGEST:
            return f"too long: {len(request.input)} characters, at most {LONGEST} are allowed"
        guess = language.identify(request.input)
        if guess.language == language.ENGLISH and guess.confidence > MAJORITY:
            return "it is English"
        if not any(map(str.isalpha, request.input)):
            return "it has no letter"
        return f"there is no engine for its language ({guess.language})"

    def _read_as(self, text: str) -> tuple[int, str] | None:
        """The number of the engine that translates `text`, and the language that it reads it as; None for neither."""
        if len(text) > LONGEST or not any(map(str.isalpha, text)):
            return None
        best, *others = language.likeliest(text)
        possible = [best] if best.confidence > MAJORITY else [best, *others]
        spoken = [guess.language for guess in possible if guess.language != language.ENGLISH]
        able = ((n, name) for name in spoken for n, one in enumerate(self.translators) if one.knows(name))
        return next(able, None)
