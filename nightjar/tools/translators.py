"""Two ways to translate into English: a translation model, and a language model with a few examples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

from nightjar.models.directory.weights import verify_checksum
from nightjar.models.tokenizer import PROBE
from nightjar.tools.reader import Reader, model_folder

# Tokens of a translation.
TOKENS = 128
# Examples of the language model's prompt, written for this project.
HEAD = """\
Translate each sentence into English.

Spanish: La tienda cierra a las seis.
English: The shop closes at six.

German: Der Zug nach Norden fährt am Montag.
English: The train to the north leaves on Monday.

French: Elle habite une petite maison près du pont.
English: She lives in a small house near the bridge.

"""
# NLLB's codes where they are not the ISO 639-3 code and the only script of the language.
NLLB = {
    "ar": "arb_Arab",
    "az": "azj_Latn",
    "et": "est_Latn",
    "fa": "pes_Arab",
    "ku": "kmr_Latn",
    "lv": "lvs_Latn",
    "mg": "plt_Latn",
    "mn": "khk_Cyrl",
    "ms": "zsm_Latn",
    "ne": "npi_Deva",
    "no": "nob_Latn",
    "or": "ory_Orya",
    "ps": "pbt_Arab",
    "qu": "quy_Latn",
    "sq": "als_Latn",
    "sw": "swh_Latn",
    "uz": "uzn_Latn",
    "yi": "ydd_Hebr",
    "zh": "zho_Hans",
}
# Codes of fastText's model that are Wikipedia's and not those of ISO 639.
WIKIPEDIA = {
    "als": ("Swiss German", "gsw"),
    "bh": ("Bhojpuri", "bho"),
    "eml": ("Emilian", "egl"),
    "sh": ("Serbo-Croatian", "hbs"),
}
# What a translation model names its target by.
TARGETS = ("eng_Latn", "__en__")


class Translator(Protocol):
    """`identity` changes whenever a translation may change."""

    identity: str

    def knows(self, language: str) -> bool:
        """Return true if it can read the language, given by its code in fastText's model."""
        ...

    def translate(self, texts: Sequence[tuple[str, str]]) -> list[str | None]:
        """The English of each (language, text), in order; None where there is none."""
        ...


class Few:
    """A language model with a few examples. A small one mostly paraphrases; it is there where nothing else is."""

    def __init__(self, source: str) -> None:
        self.reader = Reader(source, HEAD)
        self.identity = f"language model {self.reader.sha256[:16]}"

    def knows(self, language: str) -> bool:
        return _names(language) is not None

    def translate(self, texts: Sequence[tuple[str, str]]) -> list[str | None]:
        prompts = [f"{(_names(language) or ('', ''))[0]}: {text}\nEnglish:" for language, text in texts]
        return [line or None for line in self.reader.lines(prompts, TOKENS)]


class TranslationModel:
    """A sequence-to-sequence model, such as NLLB or M2M100, or one that reads any language without its
    name.

    `source` is a directory of safetensors or hub:NAME@REVISION. It is loaded when it is first asked, in float32; each
    text is translated alone, so that no result depends on the others.
    """

    def __init__(self, source: str) -> None:
        self.folder = model_folder(source)
        self.identity = f"model {verify_checksum(self.folder)[:16]}"

    def knows(self, language: str) -> bool:
        return self._target is None or self._code(language) is not None

    def translate(self, texts: Sequence[tuple[str, str]]) -> list[str | None]:
        return [self._translated(language, text) for language, text in texts]

    def _translated(self, language: str, text: str) -> str | None:
        import torch

        model, tokenizer = _load(self.folder)
        forced = {}
        if self._target is not None:
            code = self._code(language)
            if code is None:
                return None
            tokenizer.src_lang = code.strip("_")
            forced = {"forced_bos_token_id": tokenizer.convert_tokens_to_ids(self._target)}
        ids = tokenizer(text, return_tensors="pt").to(model.device)
        with torch.inference_mode():
            output_ids = model.generate(**ids, **forced, max_new_tokens=TOKENS, num_beams=1, do_sample=False)
        return tokenizer.decode(output_ids[0], skip_special_tokens=True).strip() or None

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        vocabulary: dict[str, int] = _load(self.folder)[1].get_vocab()
        return vocabulary

    @cached_property
    def _target(self) -> str | None:
        """The token for English; None for a model that has no tokens for languages."""
        return next((token for token in TARGETS if token in self._vocabulary), None)

    def _code(self, language: str) -> str | None:
        """The model's token for a language; None if it has none."""
        if self._target == "__en__":
            code = f"__{language}__"
            return code if code in self._vocabulary else None
        if (nllb_code := NLLB.get(language)) in self._vocabulary:
            return nllb_code
        three = (_names(language) or ("", language))[1]
        pattern = re.compile(rf"{re.escape(three)}_[A-Z][a-z]{{3}}")
        return min(filter(pattern.fullmatch, self._vocabulary), default=None)


@lru_cache(maxsize=1)
def _load(folder: Path) -> tuple[Any, Any]:
    """Model and tokenizer of a directory."""
    import torch
    from transformers import AutoModelForSeq2SeqLM

    from nightjar.models.directory.pretrained import (
        check_finite,
        check_vocabulary,
        read_model,
        read_tokenizer,
    )

    tokenizer = read_tokenizer(folder)
    fix = "give a sequence-to-sequence model such as NLLB"
    model = read_model(folder, AutoModelForSeq2SeqLM, torch.float32, fix=fix)
    check_vocabulary(tokenizer.get_vocab().values(), model, folder)
    check_finite(model, tokenizer(PROBE)["input_ids"], folder)
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval(), tokenizer


@lru_cache(maxsize=256)
def _names(language: str) -> tuple[str, str] | None:
    """The English name and the ISO 639-3 code of a language by its code in fastText's model; None if it is unknown."""
    from iso639 import Lang
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    if language in WIKIPEDIA:
        return WIKIPEDIA[language]
    try:
        lang = Lang(language)
    except (DeprecatedLanguageValue, InvalidLanguageValue):
        return None
    return lang.name, lang.pt3
