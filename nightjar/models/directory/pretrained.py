"""The one way from a model directory to a model and a tokenizer of transformers: complete, or refused in one line.

transformers draws tensors that are missing at random and passes over those that it has no place for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules import module as modules
from transformers import MODEL_FOR_MASKED_LM_MAPPING, AutoModel, AutoModelForTextEncoding, AutoTokenizer
from transformers.utils import logging as transformers_logging

from nightjar.core.errors import NightjarError
from nightjar.core.json_text import quote_short
from nightjar.models.directory.headers import AGAIN, read_json_object, refusing
from nightjar.models.directory.weights import stored_tensors

ADAPTER, ADAPTER_CONFIG = "adapter_model.safetensors", "adapter_config.json"
# No code of a model runs; without the word, transformers asks on the terminal.
OFFLINE: Mapping[str, Any] = {"local_files_only": True, "trust_remote_code": False}
# A model may register tensors several times, tied ones above all, and have buffers that its file has not.
_TIMES, _MORE_TENSORS, _MORE_ELEMENTS = 8, 10_000, 2**26
# Classes for causal language models whose own forward reads a text in both directions.
NO_DECODERS = ("cpmant", "prophetnet", "xlnet")
NO_DECODER = "is no decoder: a token sees those that come after it"
DECODER_FIX = "give a causal language model (is_decoder of its configuration is true), or an encoder-decoder"
# Missing tensors that a message names.
_NAMED = 5


def read_tokenizer(folder: Path, **more: str) -> Any:
    """The tokenizer of a model directory as transformers makes it."""
    with refusing("transformers cannot load this tokenizer", folder):
        return AutoTokenizer.from_pretrained(str(folder), **OFFLINE, **more)


def read_model(
    folder: Path,
    kind: Any,
    dtype: torch.dtype,
    values: bool = True,
    fix: str = AGAIN,
    gguf: str | None = None,
    config: Any = None,
) -> Any:
    """The model of a directory as the class `kind` of transformers, with the tensors of the directory and no others.

    With `values` false, it is on the meta device: all is checked and nothing computed. `gguf` is the file if it is one,
    and `config` its configuration if it has been read. An encoder (AutoModel, AutoModelForTextEncoding) may lack its
    pooler, which it then has not, and its file may have the head of another task, or a decoder. Raises NightjarError
    for tensors that are missing, unexpected, of another shape or not floating-point.
    """
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    headers = stored_tensors(folder)
    size = sum(it.size for it in headers.values()) if gguf is None else 8 * (folder / gguf).stat().st_size
    more: dict[str, Any] = {"use_safetensors": True} if gguf is None else {"gguf_file": gguf}
    more |= {} if values else {"device_map": "meta"}
    more |= {} if config is None else {"config": config}
    if (folder / ADAPTER_CONFIG).exists():
        raise NightjarError("it holds an adapter, no whole model", folder, "give the directory of its base")
    with refusing("transformers cannot load this model", folder, fix), limit_size(len(headers), size, folder):
        model, report = kind.from_pretrained(
            str(folder),
            dtype=dtype,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            **OFFLINE,
            **more,
        )
    missing, unexpected = set(report["missing_keys"]), set(report["unexpected_keys"])
    if kind in (AutoModel, AutoModelForTextEncoding):
        if any(name.startswith("pooler.") for name in missing):
            model.pooler = None
        missing = {name for name in missing if not name.startswith("pooler.")}
        unexpected -= set(_of_heads(model, unexpected))
    parameters = dict(model.named_parameters())
    refuse_differences(
        folder,
        fix,
        missing=missing,
        unexpected=unexpected,
        of_another_shape={name for name, *_ in report["mismatched_keys"]},
        not_floating_point={name for name, it in headers.items() if not it.floating and name in parameters},
        not_finite=_not_finite(parameters) if values else set(),
    )
    return model


def _of_heads(model: Any, names: Iterable[str]) -> Iterator[str]:
    """Yield the names that belong to no part of an encoder, but to the head of some task."""
    parts = {name for name, _ in model.named_children()}
    for name in names:
        first, _, _ = name.removeprefix(f"{model.base_model_prefix}.").partition(".")
        if first not in parts:
            yield name


def read_adapter(model: Any, folder: Path) -> Any:
    """`model` with the adapter of a directory, whose tensors are exactly those that its configuration asks for.

    Raises NightjarError for tensors that are missing, unexpected or of another shape, for settings that peft does
    not know, and for an adapter that is no change of weights, such as a learnt prompt.
    """
    from peft import PeftConfig, PeftModel, load_peft_weights, set_peft_model_state_dict

    if not (folder / ADAPTER).is_file():
        raise NightjarError(f"no {ADAPTER} in this adapter", folder, AGAIN)
    headers, settings = stored_tensors(folder), read_json_object(folder / ADAPTER_CONFIG)
    size = sum(header.size for header in headers.values()) + sum(it.numel() for it in model.parameters())
    # The names that tensors of the base have in an adapter's file.
    base_shapes = {f"base_model.model.{name}": value.shape for name, value in model.state_dict().items()}
    with (
        refusing("peft cannot load this adapter", folder),
        limit_size(len(headers) + len(list(model.parameters())), size, folder),
    ):
        config = PeftConfig.from_pretrained(str(folder))
        if unknown := sorted(key for key, value in settings.items() if value and not hasattr(config, key)):
            names = quote_short(", ".join(unknown), 300, quoted=False)
            what = f"settings that this version of peft does not know: {names}"
            raise NightjarError(what, folder / ADAPTER_CONFIG, "make the adapter with this version of peft")
        if config.is_prompt_learning:
            raise NightjarError(
                "a learnt prompt, which has no weights to merge", folder, "give a LoRA adapter"
            )
        any_shape: Any = {"ignore_mismatched_sizes": True}  # what has another shape is missing then
        adapted: Any = PeftModel.from_pretrained(model, str(folder), is_trainable=False, **any_shape)
        # Once more, for the report that is not returned.
        mapping = getattr(model, "_checkpoint_conversion_mapping", None)
        tensors = load_peft_weights(str(folder), "cpu", key_mapping=mapping)
        report: Any = set_peft_model_state_dict(adapted, tensors, **any_shape)
    absent = {name for name in report.missing_keys if "default" in name.split(".")}
    other_shape = {name for name in absent if name.replace(".default", "") in tensors}
    # Embeddings of another vocabulary, which peft leaves out.
    resized = {name for name, value in tensors.items() if base_shapes.get(name, value.shape) != value.shape}
    learnt = {name: value for name, value in adapted.named_parameters() if "default" in name.split(".")}
    refuse_differences(
        folder,
        AGAIN,
        missing=absent - other_shape,
        of_another_shape=other_shape | resized,
        unexpected=set(report.unexpected_keys),
        not_finite=set() if model.device.type == "meta" else _not_finite(learnt),
    )
    _untie(adapted, folder)
    return adapted


def _untie(adapted: Any, folder: Path) -> None:
    """Give the output embeddings a tensor of their own where an adapter changes one end of tied embeddings.

    Peft adds the change to one end; merged into a tensor that both ends share, it would change the other one too.
    Raises NightjarError for an encoder-decoder, whose output depends on the tie, and for an adapter with a tie of its
    own.
    """
    from peft.tuners.tuners_utils import BaseTunerLayer

    model = adapted.get_base_model()
    ends = [model.get_input_embeddings(), model.get_output_embeddings()]
    layers = [
        embeddings.get_base_layer() if isinstance(embeddings, BaseTunerLayer) else embeddings
        for embeddings in ends
    ]
    weights = [getattr(getattr(layer, "original_module", layer), "weight", None) for layer in layers]
    changed = any(
        isinstance(embeddings, BaseTunerLayer) or hasattr(embeddings, "modules_to_save")
        for embeddings in ends
    )
    if not changed or weights[0] is None or weights[0] is not weights[1]:
        return
    adapter_ties = any(getattr(it, "ensure_weight_tying", False) for it in adapted.peft_config.values())
    if model.config.is_encoder_decoder and not any(
        isinstance(embeddings, BaseTunerLayer) for embeddings in ends
    ):
        return
    if adapter_ties or model.config.is_encoder_decoder:
        what = "it changes embeddings that are tied to the output"
        raise NightjarError(what, folder, "merge it into its base by peft, and give the whole model")
    output = getattr(layers[1], "original_module", layers[1])
    output.weight = torch.nn.Parameter(weights[1].detach().clone(), requires_grad=False)
    model.config.tie_word_embeddings = False


def _not_finite(values: Mapping[str, torch.Tensor]) -> set[str]:
    """The names of those whose sum is not finite, which takes a tenth of the time of a look at every element."""
    return {name for name, value in values.items() if not bool(value.sum(dtype=torch.float32).isfinite())}


def refuse_differences(folder: Path, fix: str, **differences: set[str]) -> None:
    """Raise NightjarError with the names of the tensors that differ, by how they do, if there are any."""
    reasons = []
    for how, names in differences.items():
        if names:
            first = ", ".join(quote_short(name, 120, quoted=False) for name in sorted(names)[:_NAMED])
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            reasons.append(f"tensors {how.replace('_', ' ')}: {first}{more}")
    if reasons:
        raise NightjarError(
            f"the weights are not those of the configuration ({'; '.join(reasons)})", folder, fix
        )


def check_decoder(model: Any, folder: Path) -> None:
    """Raise NightjarError if the configuration of a causal model lets a token see those that come after it.

    `equality` compares that on a text, once the values are there.
    """
    config = model.config.get_text_config(decoder=True)
    encodes = type(config) in MODEL_FOR_MASKED_LM_MAPPING or config.model_type == "bert-generation"
    if (
        (encodes and getattr(config, "is_decoder", None) is False)
        or any(getattr(config, name, None) is False for name in ("causal", "is_causal"))
        or getattr(config, "use_bidirectional_attention", None) in (True, "all")
        or config.model_type in NO_DECODERS
    ):
        raise NightjarError(f"{type(model).__name__} {NO_DECODER}", folder, DECODER_FIX)


@torch.inference_mode()
def check_finite(model: Any, ids: list[int], folder: Path) -> None:
    """Read a few tokens. Raise NightjarError if the model cannot, or gives values that are not finite."""
    with refusing("this model cannot read a text", folder):
        batch = torch.tensor([ids], device=model.device)
        more = {"decoder_input_ids": batch} if model.config.is_encoder_decoder else {}
        if not bool(model(input_ids=batch, **more)[0].isfinite().all()):
            raise NightjarError("what this model computes is not finite", folder, AGAIN)


def check_vocabulary(ids: Iterable[int], model: Any, folder: Path) -> None:
    """Raise NightjarError if the tokenizer has no tokens, or ids that the model has no embedding for."""
    largest, rows = max(ids, default=-1), model.get_input_embeddings().weight.shape[0]
    if not 0 <= largest < rows:
        what = f"the tokenizer's largest id is {largest:,}" if largest >= 0 else "the tokenizer has no tokens"
        raise NightjarError(
            f"{what}, the model has embeddings for {rows:,}", folder, "give the tokenizer of the model"
        )


def position_limit(model: Any, relative: int) -> int:
    """Return the number of tokens that a model has positions for; `relative` where these have no end (T5, XLNet).

    Those of RoBERTa begin after the number of the padding token.
    """
    positions = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(positions, int) or positions < 1:
        return relative
    embeddings = getattr(model.base_model, "embeddings", None)
    padding = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
    return positions if padding is None else positions - padding - 1


@contextmanager
def limit_size(tensors: int, elements: int, where: Path) -> Iterator[None]:
    """Stop a model that registers many more tensors or elements than its file has, before they are filled."""
    counts = {"tensors": 0, "elements": 0}
    limits = {"tensors": _TIMES * tensors + _MORE_TENSORS, "elements": _TIMES * elements + _MORE_ELEMENTS}

    def count(_: Any, name: str, value: torch.Tensor | None) -> None:
        counts["tensors"] += 1
        counts["elements"] += 0 if value is None else value.numel()
        for what, limit in limits.items():
            if counts[what] > limit:
                reason = f"the configuration asks for far more {what} than the weights have"
                raise NightjarError(reason, where, AGAIN)

    hooks = [
        modules.register_module_parameter_registration_hook(count),
        modules.register_module_buffer_registration_hook(count),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
