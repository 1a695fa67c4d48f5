"""The tokenizer of a model directory: text to token ids and back, with the ids that transformers gives.

A directory whose `tokenizer.json` holds the whole tokenizer is read by the library tokenizers alone. transformers,
which knows the exceptions, reads the others; it also imports torch, which takes seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any

import tokenizers

from nightjar.core.arguments import AnyPath
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_input
from nightjar.models.directory.headers import AGAIN, read_json_object, refusing

# What tokenizers and models are tried with when they are loaded.
PROBE = "a b"
SETTINGS, TOKENIZER = "tokenizer_config.json", "tokenizer.json"
# The classes of transformers that take tokenizer.json as it is. The others build a tokenizer by their own rules.
_GENERIC = ("TokenizersBackend", "PreTrainedTokenizerFast")
# Settings that change no id and no text (chat templates and padding are not used here).
_HARMLESS = {
    "backend",
    "chat_template",
    "clean_up_tokenization_spaces",
    "is_local",
    "local_files_only",
    "model_input_names",
    "model_max_length",
    "padding_side",
    "tokenizer_class",
    "truncation_side",
}
_NAMED = {f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")}
# Files beside tokenizer.json that transformers reads too.
_BESIDE = ("special_tokens_map.json", "added_tokens.json", "tekken.json")
# From so many tokens on, transformers may replace the pattern of Mistral models.
_LARGE = 100_000


@dataclass(frozen=True)
class Tokenizer:
    """Text to ids and back; special tokens never come back as text. `end` is the id that ends a text.

    `begin`: the ids that the tokenizer's own settings put before a text of a causal model, as OPT, Llama, Gemma and
    Mistral expect one. For an encoder-decoder the end token closes what `encode` gives, as its training saw it and as
    the published length checks count it (Tk-Instruct's ni_collator.py); for a causal model nothing is added behind.
    """

    backend: tokenizers.Tokenizer
    end: int
    encoder_decoder: bool = False
    begin: tuple[int, ...] = ()

    @property
    def before_text(self) -> list[int]:
        """The ids that the first token of a text is predicted from: `begin`, or the end token of the text before."""
        return list(self.begin) or [self.end]

    def encode(self, text: str) -> list[int]:
        """The ids of a text that nothing comes before, as the model expects it."""
        if not self.encoder_decoder:
            return [*self.begin, *self.continuation(text)]
        ids: list[int] = self.backend.encode(text).ids
        return ids if ids[-1:] == [self.end] else [*ids, self.end]

    def continuation(self, text: str) -> list[int]:
        """The ids of a text that follows another one, without special tokens."""
        ids: list[int] = self.backend.encode(text, add_special_tokens=False).ids
        return ids

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """The ids of `text` without special tokens, and for each the characters (start, end) it covers.

        Where a tokenizer trims its spans (trim_offsets of GPT-NeoX's kind), the blank before a word is the word's.
        """
        encoded = self.backend.encode(text, add_special_tokens=False)
        before = accumulate((end for _, end in encoded.offsets), max, initial=0)
        spans = [(min(start, last), end) for (start, end), last in zip(encoded.offsets, before, strict=False)]
        return encoded.ids, spans

    def target(self, text: str) -> list[int]:
        """The ids of an answer to be learnt, the end token last."""
        return self.encode(text) if self.encoder_decoder else [*self.continuation(text), self.end]

    def fit(self, ids: list[int], length: int) -> list[int]:
        """The beginning of `ids`, at most `length` long; what ends an encoder-decoder's input still does."""
        if len(ids) <= length:
            return ids
        return [*ids[: length - 1], self.end] if self.encoder_decoder else ids[:length]

    def decode(self, ids: list[int]) -> str:
        text: str = self.backend.decode(ids, skip_special_tokens=True)
        return text


def load_tokenizer(path: AnyPath) -> Tokenizer:
    """The tokenizer of a model directory."""
    path = Path(path)
    if not (path / SETTINGS).exists():
        fix = "set models.language_model.source to a model that comes with one, then: nightjar rebuild base_model"
        raise NightjarError("no tokenizer in this model directory", path, fix)
    settings = read_json_object(path / SETTINGS)
    check_input(path / TOKENIZER)
    backend, end = _by_itself(path, settings) or _by_transformers(path)
    if end is None:
        fix = f"name its eos_token in {SETTINGS}"
        raise NightjarError("the tokenizer has no end-of-text token", path, fix)
    backend.no_truncation()
    backend.no_padding()
    encoder_decoder = is_encoder_decoder(path)
    with refusing("this tokenizer cannot be used", path):
        tokenizer = Tokenizer(backend, end, encoder_decoder, () if encoder_decoder else _begin(backend))
        if not tokenizer.decode(tokenizer.encode(PROBE)):
            raise NightjarError("this tokenizer makes no tokens of a text", path, AGAIN)
    return tokenizer


def _begin(backend: tokenizers.Tokenizer) -> tuple[int, ...]:
    """The ids that the tokenizer puts before a text."""
    encoded = backend.encode(PROBE)
    marked = zip(encoded.ids, encoded.special_tokens_mask, strict=True)
    return tuple(id for id, _ in takewhile(lambda one: one[1], marked))


def is_encoder_decoder(path: Path) -> bool:
    """Return True if the config.json of a directory is that of an encoder-decoder."""
    file = path / "config.json"
    config = read_json_object(file)
    if isinstance(value := config.get("is_encoder_decoder"), bool):
        return value
    named = config.get("architectures")
    if isinstance(named, list) and named and all(str(name).endswith("ForCausalLM") for name in named):
        return False
    from transformers import AutoConfig

    with refusing("transformers cannot read this model's configuration", file):
        full_config = AutoConfig.from_pretrained(str(path), local_files_only=True, trust_remote_code=False)
        return bool(full_config.is_encoder_decoder)


def _by_itself(path: Path, settings: Mapping[str, Any]) -> tuple[tokenizers.Tokenizer, int | None] | None:
    """The tokenizer in tokenizer.json and its end token; None if transformers would make another one of it."""
    if settings.get("tokenizer_class") not in _GENERIC or not settings.keys() <= _HARMLESS | _NAMED:
        return None
    if not (path / TOKENIZER).exists() or any((path / name).exists() for name in _BESIDE):
        return None
    with refusing("this tokenizer cannot be read", path / TOKENIZER):
        backend = tokenizers.Tokenizer.from_file(str(path / TOKENIZER))
        added = {token.content: token for token in backend.get_added_tokens_decoder().values()}
        for token in (settings[name] for name in _NAMED & settings.keys()):
            if token is not None and not (isinstance(token, str) and token in added and _plain(added[token])):
                return None
        end = settings.get("eos_token")
        if backend.get_vocab_size() > _LARGE:
            return None
        return backend, None if end is None else backend.token_to_id(end)


def _plain(token: tokenizers.AddedToken) -> bool:
    """Return True for a special token that takes nothing of the text around it."""
    return token.special and not (token.lstrip or token.rstrip or token.single_word or token.normalized)


def _by_transformers(path: Path) -> tuple[tokenizers.Tokenizer, int | None]:
    from nightjar.models.directory.pretrained import read_tokenizer

    loaded = read_tokenizer(path)
    if not loaded.is_fast:
        what = f"{type(loaded).__name__} cannot be written as {TOKENIZER}"
        raise NightjarError(what, path, "use a model whose tokenizer can")
    return loaded.backend_tokenizer, loaded.eos_token_id


def like_length(lengths: Sequence[int], most_tokens: int) -> list[list[int]]:
    """Batch row numbers, the shortest rows first: at most `most_tokens` with padding, and at least one row."""
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda row: lengths[row]):
        if batches and (len(batches[-1]) + 1) * lengths[row] <= most_tokens:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches
