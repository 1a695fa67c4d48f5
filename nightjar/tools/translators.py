"""Three ways to translate into English: a translation model, Apertium, and a language model with a few examples."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

from nightjar.core.errors import NightjarError
from nightjar.models.tokenizer import PROBE
from nightjar.models.weights import verify
from nightjar.tools.reader import Reader, model_folder

# Tokens of a translation, and seconds that Apertium may take for one.
TOKENS, APERTIUM_SECONDS = 128, 20.0
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


class Apertium:
    """The program `apertium` with the language pairs that are installed; each text is a process of its own, which may
    take `seconds`.

    Raises NightjarError if the program is not installed, or does not list its pairs.
    """

    def __init__(self, seconds: float = APERTIUM_SECONDS) -> None:
        self.seconds = seconds
        found = shutil.which("apertium")
        if found is None:
            fix = "install it with pairs into English, such as apertium-eng-spa, or set another engine"
            raise NightjarError("the program apertium is not installed", "tools.all.machine_translation", fix)
        self.program = found
        # Installing or removing a pair changes what is translated.
        self.modes = frozenset(_output([found, "-l"], seconds).split())
        self.identity = " ".join([_output([found, "-V"], seconds).strip(), *sorted(self.modes)])

    @staticmethod
    def installed() -> bool:
        """Whether the program is there."""
        return shutil.which("apertium") is not None

    def knows(self, language: str) -> bool:
        return self._mode(language) is not None

    def translate(self, texts: Sequence[tuple[str, str]]) -> list[str | None]:
        return [self._one(self._mode(language), text) for language, text in texts]

    def _mode(self, language: str) -> str | None:
        three = (_names(language) or ("", language))[1]
        names = (f"{three}-eng", f"{language}-en", f"{three}-en", f"{language}-eng")
        return next((mode for mode in names if mode in self.modes), None)

    def _one(self, mode: str | None, text: str) -> str | None:
        # -u: words that it does not know are left as they are, without an asterisk.
        return _output([self.program, "-u", mode], self.seconds, text).strip() or None if mode else None


def _output(command: list[str], seconds: float, text: str = "") -> str:
    """What a program prints for `text`. Raises NightjarError if it fails or takes longer than `seconds`."""
    pipe, none = subprocess.PIPE, subprocess.DEVNULL
    try:
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=none, start_new_session=True)
    except OSError as error:
        raise _failed(command, type(error).__name__) from None
    try:
        printed, _ = process.communicate(text.encode(), timeout=seconds)
    except subprocess.TimeoutExpired:
        # Apertium is a script: with it, the programs that it started end.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise _failed(command, f"no result after {seconds:g} s") from None
    if process.returncode:
        raise _failed(command, f"exit status {process.returncode}")
    return printed.decode("utf-8", "replace")


def _failed(command: list[str], what: str) -> NightjarError:
    return NightjarError(f"apertium: {what}", " ".join(command[1:]), "check the installation of apertium")


class TranslationModel:
    """A sequence-to-sequence model, such as NLLB or M2M100, or one that reads any language without its
    name.

    `source` is a directory of safetensors or hub:NAME@REVISION. It is loaded when it is first asked, in float32; each
    text is translated alone, so that no result depends on the others. Raises NightjarError if there is no such model.
    """

    def __init__(self, source: str) -> None:
        self.folder = model_folder(source)
        self.identity = f"model {verify(self.folder)[:16]}"

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
    """Model and tokenizer of a directory. Raises NightjarError if transformers cannot load them."""
    import torch
    from transformers import AutoModelForSeq2SeqLM

    from nightjar.models.pretrained import check_finite, check_vocabulary, read_model, read_tokenizer

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
