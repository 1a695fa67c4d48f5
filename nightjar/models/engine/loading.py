"""Load a language model, causal or encoder-decoder (T5, mT5), with or without a LoRA adapter, ready for use."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import get_ident
from typing import Any
from weakref import WeakSet

import tokenizers
import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM
from transformers.utils import logging as transformers_logging

from nightjar.core import startup
from nightjar.core.arguments import AnyPath, check_count
from nightjar.core.errors import NightjarError
from nightjar.models.directory.headers import read_json_object, refusing
from nightjar.models.directory.pretrained import (
    ADAPTER_CONFIG,
    check_decoder,
    check_finite,
    check_vocabulary,
    read_adapter,
    read_model,
)
from nightjar.models.directory.weights import verify_checksum
from nightjar.models.engine.equality import choose_engine
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.tokenizer import PROBE, Tokenizer, load_tokenizer

# The models that this process has loaded and still uses.
LOADED: WeakSet[LanguageModel] = WeakSet()
log = logging.getLogger("nightjar")
# Never float16: T5's activations leave its range.
PRECISIONS = ("float32", "bfloat16")


def prepare(seed: int, threads: int) -> None:
    """Make this process repeatable: seed, number of threads, deterministic kernels, quiet libraries."""
    check_count(threads, "threads")
    startup.collect_as_usual()
    # Read at the first matrix product: with AMX, those in bfloat16 sum in another order where more than 32 rows are
    # together. Answers would depend on the batch, and with tools on the time that these take (docs/reliability.md).
    os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
    # Read when CUDA starts: without it, its matrix products may differ in the last bits from run to run.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.manual_seed(seed)
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Deterministic mode fills memory before it is written, to show reads of it; that takes a tenth of a forward pass.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


def device_name() -> str:
    """Return the device that models run on, "cpu" or the name of the GPU: last bits depend on it."""
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def load(path: AnyPath, precision: str = "float32", adapter: AnyPath | None = None) -> LanguageModel:
    """The model of a directory of safetensors, on the GPU if there is one.

    `adapter` is a directory of a LoRA adapter, merged into the weights, or of a whole fine-tuned model, which then
    takes the place of `path`. `precision`: float32 or bfloat16. Checksums are verified first.
    """
    path, adapter = Path(path), None if adapter is None else Path(adapter)
    if precision not in PRECISIONS:
        raise NightjarError(f"no precision {precision!r}", path, f"give one of {', '.join(PRECISIONS)}")
    base_digest = verify_checksum(path)
    adapter_digest = verify_checksum(adapter) if adapter is not None else None
    tokenizer = load_tokenizer(path)
    for part in _unused_parts(tokenizer, path, adapter) if adapter is not None else ():
        log.warning("%s: its %s differs from that of %s, and is not used", adapter, part, path)
    model = read_full_model(path, tokenizer, adapter, getattr(torch, precision))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = model.to(device).eval()
    check_finite(model, tokenizer.encode(PROBE), adapter or path)
    lm = LanguageModel(model, tokenizer, base_digest, adapter_digest)
    lm = replace(lm, engine=choose_engine(lm, adapter or path))
    LOADED.add(lm)
    return lm


def _unused_parts(tokenizer: Tokenizer, path: Path, adapter: Path) -> Iterator[str]:
    """Name the parts of an adapter's tokenizer that differ from its base's, which limits and encodes prompts."""
    file = adapter / "tokenizer.json"
    if file.is_file():
        with refusing("this tokenizer cannot be read", file):
            vocabulary = tokenizers.Tokenizer.from_file(str(file)).get_vocab()
        if vocabulary != tokenizer.backend.get_vocab():
            yield "tokenizer"
    template = _chat_template(adapter)
    if template and template != _chat_template(path):
        yield "chat template"


def _chat_template(folder: Path) -> Any:
    """The chat template in a directory, as a text or by names; None without one."""
    file, settings = folder / "chat_template.jinja", folder / "tokenizer_config.json"
    if file.is_file():
        return file.read_text(encoding="utf-8", errors="replace")
    return read_json_object(settings).get("chat_template") if settings.is_file() else None


def read_full_model(
    path: Path, tokenizer: Tokenizer, adapter: Path | None, dtype: torch.dtype, values: bool = True
) -> Any:
    """The model of `load`, without its checksums; with `values` false only checked, on the meta device."""
    fine_tuned = adapter is not None and not (adapter / ADAPTER_CONFIG).exists()
    source = adapter if fine_tuned and adapter is not None else path
    kind = AutoModelForSeq2SeqLM if tokenizer.encoder_decoder else AutoModelForCausalLM
    model = read_model(source, kind, dtype, values)
    if not tokenizer.encoder_decoder:
        check_decoder(model, source)
    check_vocabulary(tokenizer.backend.get_vocab().values(), model, source)
    if adapter is not None and not fine_tuned:
        # Merged in float32: in bfloat16 the small update would be rounded away.
        model = read_adapter(model.float(), adapter)
        if values:
            with refusing("this adapter cannot be merged into the weights", adapter):
                model = model.merge_and_unload().to(dtype)
    return model


@dataclass
class ForwardWork:
    """Forward passes, and the tokens that they computed: those of all rows, padding included."""

    passes: int = 0
    tokens: int = 0


@contextmanager
def count_work(lm: LanguageModel) -> Iterator[ForwardWork]:
    """Count the passes of `lm` within the block that this thread starts: tools may use the model in theirs."""
    work, thread = ForwardWork(), get_ident()

    def count(model: Any, args: Any, arguments: dict[str, Any]) -> None:
        if get_ident() == thread:
            work.passes += 1
            work.tokens += arguments["input_ids"].numel()

    hook = lm.model.register_forward_pre_hook(count, with_kwargs=True)
    try:
        yield work
    finally:
        hook.remove()
