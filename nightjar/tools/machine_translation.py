"""Machine translation into English: the language by fastText's model, then one of two engines (Toolformer).

The paper translates with NLLB-600M. Where no translation model can be had, a language model translates after a few
examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from nightjar.core import paths
from nightjar.core.config import StrictModel
from nightjar.core.errors import NightjarError
from nightjar.prompts.tool_prompts import CALL_NAMES, head
from nightjar.tools import language
from nightjar.tools.tool import Text, Tool, ToolRequest
from nightjar.tools.translators import Few, TranslationModel, Translator

# Characters of a text to translate.
LONGEST = 500
# A language is likelier than all others together above this confidence. That of documents is language.CONFIDENCE.
MAJORITY = 0.5
# Toolformer's rule (appendix A), as it is counted.
QUOTED = f"{language.CHUNK} tokens in another language, with English before and after"


class TranslationSettings(StrictModel):
    """`engine`: the model that translates, `model` or `language_model`; each is a directory or hub:NAME@REVISION."""

    engine: Literal["model", "language_model"] = "language_model"
    model: str | None = None
    language_model: str = paths.LANGUAGE_MODEL.as_posix()


class MachineTranslation(Tool):
    """Translation as a tool. Input that is English, or that has no letter, has no result.

    A word or two is often too short for fastText. Where no language is likelier than all others together, the input is
    read as the likeliest but English that the engine knows.
    """

    name = CALL_NAMES["machine_translation"]
    description = "Translates a text of any language to English."
    argument = "the text to be translated"
    instructions = head("machine_translation")
    seconds = 600.0
    settings = TranslationSettings

    def __init__(self, translator: Translator) -> None:
        self.translator = translator
        self.version = f"2 {language.version()}, {translator.identity}"

    @classmethod
    def make(cls, resource: Path | None, settings: TranslationSettings) -> MachineTranslation:
        if settings.engine == "language_model":
            return cls(Few(settings.language_model))
        if settings.model is None:
            what = "the engine model needs a translation model"
            fix = "name a directory or hub:NAME@REVISION"
            raise NightjarError(what, "tools.all.machine_translation.model", fix)
        return cls(TranslationModel(settings.model))

    def suits(self, text: Text, chance: float) -> str:
        """Name the rule for a paragraph that quotes another language; a context and its body are one paragraph."""
        joined = " ".join(f"{text.context} {text.body}".split())
        paragraphs = [joined] if text.context else text.body.split("\n")
        return QUOTED if any(map(language.quotes_another_language, paragraphs)) else ""

    def run(self, requests: Sequence[ToolRequest]) -> list[str | None]:
        languages = [self._language(request.input) for request in requests]
        texts = [
            (name, " ".join(request.input.split()))
            for name, request in zip(languages, requests, strict=True)
            if name is not None
        ]
        translations = iter(self.translator.translate(texts) if texts else ())
        return [None if name is None else next(translations) for name in languages]

    def why(self, request: ToolRequest) -> str:
        if len(request.input) > LONGEST:
            return f"too long: {len(request.input)} characters, at most {LONGEST} are allowed"
        guess = language.identify(request.input)
        if guess.language == language.ENGLISH and guess.confidence > MAJORITY:
            return "it is English"
        if not any(map(str.isalpha, request.input)):
            return "it has no letter"
        return f"the engine does not know its language ({guess.language})"

    def _language(self, text: str) -> str | None:
        """The language that `text` is translated from; None for a text that is not translated."""
        if len(text) > LONGEST or not any(map(str.isalpha, text)):
            return None
        best, *others = language.likeliest(text)
        guesses = [best] if best.confidence > MAJORITY else [best, *others]
        foreign = (guess.language for guess in guesses if guess.language != language.ENGLISH)
        return next(filter(self.translator.knows, foreign), None)
