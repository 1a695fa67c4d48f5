"""Load a causal language model, with or without a LoRA adapter, ready for scoring and generating."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from stages.errors import NightjarError
from stages.lm.weights import verify

ADAPTER_CONFIG = "adapter_config.json"


@dataclass(frozen=True)
class Tokenizer:
    """Text to ids and back, without special tokens being added or dropped ones coming back."""

    backend: PreTrainedTokenizerBase

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.backend.encode(text, add_special_tokens=False)
        return ids

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
    def device(self) -> torch.device:
        device: torch.device = self.model.device
        return device


def prepare(seed: int, threads: int) -> None:
    """Make this process repeatable: seed, number of threads, deterministic kernels, quiet libraries."""
    torch.manual_seed(seed)
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a model directory. Raises NightjarError if it has none."""
    if not (path / "tokenizer_config.json").exists():
        raise NightjarError("no tokenizer in this model directory", path, "run: nightjar rebuild base_model")
    return Tokenizer(AutoTokenizer.from_pretrained(str(path), local_files_only=True))


def load(path: Path, precision: str = "float32", adapter: Path | None = None) -> LanguageModel:
    """The causal model of a directory of safetensors, on the GPU if there is one.

    `adapter` is a directory of a LoRA adapter, merged into the weights, or of a whole fine-tuned model, which then
    takes the place of `path`. `precision`: float32 or bfloat16. Checksums are verified first.
    Raises NightjarError if a directory is missing, damaged, or of the wrong kind.
    """
    whole = adapter is not None and not (adapter / ADAPTER_CONFIG).exists()
    base_digest = verify(path)
    adapter_digest = verify(adapter) if adapter is not None else None
    source = adapter if whole else path
    assert source is not None
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(
            str(source), dtype=getattr(torch, precision), local_files_only=True, use_safetensors=True
        )
    except (OSError, ValueError, KeyError) as error:
        what = f"transformers cannot load this model ({str(error).splitlines()[0]})"
        raise NightjarError(what, source, "check the directory") from None
    if adapter is not None and not whole:
        from peft import PeftModel

        # Merged in float32: in bfloat16 the small update would be rounded away.
        wanted = model.dtype
        model = PeftModel.from_pretrained(model.float(), str(adapter), is_trainable=False).merge_and_unload()
        model = model.to(wanted)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return LanguageModel(model.to(device).eval(), load_tokenizer(path), base_digest, adapter_digest)


def read_recipe(adapter: Path) -> dict[str, Any]:
    """How a trained model was trained: the parameters that predict must repeat (calls, evidence)."""
    try:
        recipe: dict[str, Any] = json.loads((adapter / "recipe.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NightjarError("no recipe.json", adapter, "run: nightjar rebuild train") from None
    return recipe
