"""Load a language model, causal or encoder-decoder (T5, mT5), with or without a LoRA adapter, ready for use."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from nightjar.core import garbage
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import read_object
from nightjar.lm.weights import verify

ADAPTER_CONFIG = "adapter_config.json"
# Never float16: T5's activations leave its range.
PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True)
class Tokenizer:
    """Text to ids and back; special tokens never come back as text.

    For an encoder-decoder the end token closes what `encode` gives, as its training saw it and as the published length
    checks count it (facts 1.7); for a causal model nothing is added.
    """

    backend: PreTrainedTokenizerBase
    encoder_decoder: bool = False

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.backend.encode(text, add_special_tokens=self.encoder_decoder)
        if self.encoder_decoder and ids[-1:] != [self.end]:
            ids.append(self.end)
        return ids

    def target(self, text: str) -> list[int]:
        """The ids of an answer to be learnt: as `encode`, the end token last for either kind."""
        ids = self.encode(text)
        return ids if self.encoder_decoder else [*ids, self.end]

    def fit(self, ids: list[int], length: int) -> list[int]:
        """The beginning of `ids`, at most `length` long; what ends an encoder-decoder's input still does."""
        if len(ids) <= length:
            return ids
        return [*ids[: length - 1], self.end] if self.encoder_decoder else ids[:length]

    def decode(self, ids: list[int]) -> str:
        text = self.backend.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return str(text)

    @property
    def end(self) -> int:
        """The id that ends a text."""
        return int(self.backend.eos_token_id)


@dataclass(frozen=True)
class LanguageModel:
    """A model in evaluation mode on its device, its tokenizer, and the digests that identify it."""

    model: Any
    tokenizer: Tokenizer
    sha256: str
    adapter_sha256: str | None = None

    @property
    def encoder_decoder(self) -> bool:
        """Whether an encoder reads the prompt and a decoder writes the answer, as in T5."""
        return self.tokenizer.encoder_decoder

    @property
    def device(self) -> torch.device:
        device: torch.device = self.model.device
        return device


def prepare(seed: int, threads: int) -> None:
    """Make this process repeatable: seed, number of threads, deterministic kernels, quiet libraries."""
    garbage.as_usual()
    # Read when CUDA starts: without it, its matrix products may differ in the last bits from run to run.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.manual_seed(seed)
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


def device_name() -> str:
    """What models run on here, "cpu" or the name of the GPU: the last bits of what they compute depend on it."""
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a model directory. Raises NightjarError if it has none."""
    if not (path / "tokenizer_config.json").exists():
        fix = "set models.language_model.source to a model that comes with one, then: nightjar rebuild base_model"
        raise NightjarError("no tokenizer in this model directory", path, fix)
    try:
        backend = AutoTokenizer.from_pretrained(str(path), local_files_only=True)
    except (OSError, ValueError, KeyError, ImportError) as error:
        what = f"transformers cannot load this tokenizer ({_first_line(error)})"
        raise NightjarError(what, path, "check the directory") from None
    return Tokenizer(backend, is_encoder_decoder(path))


def is_encoder_decoder(path: Path) -> bool:
    """Whether the model of this directory is one, by its config.json. Raises NightjarError if that is unreadable."""
    try:
        return bool(AutoConfig.from_pretrained(str(path), local_files_only=True).is_encoder_decoder)
    except (OSError, ValueError, KeyError) as error:
        what = f"transformers cannot read this model's configuration ({_first_line(error)})"
        raise NightjarError(what, path / "config.json", "check the directory") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def load(path: Path, precision: str = "float32", adapter: Path | None = None) -> LanguageModel:
    """The model of a directory of safetensors, on the GPU if there is one.

    `adapter` is a directory of a LoRA adapter, merged into the weights, or of a whole fine-tuned model, which then
    takes the place of `path`. `precision`: float32 or bfloat16. Checksums are verified first.
    Raises NightjarError if a directory is missing, damaged, or of the wrong kind.
    """
    if precision not in PRECISIONS:
        raise NightjarError(f"no precision {precision!r}", path, f"give one of {', '.join(PRECISIONS)}")
    whole = adapter is not None and not (adapter / ADAPTER_CONFIG).exists()
    base_digest = verify(path)
    adapter_digest = verify(adapter) if adapter is not None else None
    source = adapter if whole else path
    assert source is not None
    tokenizer = load_tokenizer(path)
    kind = AutoModelForSeq2SeqLM if tokenizer.encoder_decoder else AutoModelForCausalLM
    try:
        model: Any = kind.from_pretrained(
            str(source), dtype=getattr(torch, precision), local_files_only=True, use_safetensors=True
        )
    except (OSError, ValueError, KeyError) as error:
        what = f"transformers cannot load this model ({_first_line(error)})"
        raise NightjarError(what, source, "check the directory") from None
    if adapter is not None and not whole:
        from peft import PeftModel

        # Merged in float32: in bfloat16 the small update would be rounded away.
        wanted = model.dtype
        model = PeftModel.from_pretrained(model.float(), str(adapter), is_trainable=False).merge_and_unload()
        model = model.to(wanted)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return LanguageModel(model.to(device).eval(), tokenizer, base_digest, adapter_digest)


def read_recipe(adapter: Path) -> dict[str, Any]:
    """How a trained model was trained: the parameters that predict must repeat (calls, evidence)."""
    file = adapter / "recipe.json"
    if not file.is_file():
        raise NightjarError("no recipe.json", adapter, "run: nightjar rebuild train")
    return read_object(file, "make the model again: nightjar rebuild train", constants=True)
