"""Comparison of a GGUF's metadata with the configuration that transformers makes of it.

transformers passes over metadata that it does not know, and takes its own defaults. A key is accepted if the
configuration that transformers makes computes with the same value, or if no value of it changes what is computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.core.json_text import quote_short

FIX = "give the same model as safetensors"
# Those whose tiny random models give the same logits as a GGUF and as safetensors.
ARCHITECTURES = (
    "falcon",
    "gemma2",
    "gemma3",
    "gpt2",
    "lfm2",
    "llama",
    "mamba",
    "qwen2",
    "qwen2moe",
    "qwen3",
    "qwen3moe",
    "stablelm",
    "starcoder2",
)
# The tensors have these sizes too: a wrong one is found there.
_SIZES = (
    "block_count",
    "context_length",
    "embedding_length",
    "expert_count",
    "expert_feed_forward_length",
    "expert_shared_feed_forward_length",
    "feed_forward_length",
    "shortconv.l_cache",
    "ssm.conv_kernel",
    "ssm.inner_size",
    "ssm.state_size",
    "ssm.time_step_rank",
    "vocab_size",
)
# Settings that matter only beside another one, which is compared.
_DEPENDENT = ("rope.scaling.finetuned", "rope.scaling.original_context_length")
# Settings that no configuration has: the values that change nothing.
_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "attention.causal": (True,),
    "attention.clamp_kqv": (0,),
    "attention.max_alibi_bias": (0,),
    "embedding_scale": (0, 1),
    "expert_gating_func": (1,),
    "expert_group_count": (0, 1),
    "expert_group_used_count": (0, 1),
    "expert_weights_scale": (0, 1),
    "leading_dense_block_count": (0,),
    "logit_scale": (0, 1),
    "nextn_predict_layers": (0,),
    "pooling_type": (0,),
    "residual_scale": (0, 1),
    "rope.scale_linear": (0, 1),
    "rope.scaling.attn_factor": (0, 1),
    "rope.scaling.factor": (0, 1),
    "rope.scaling.type": ("none",),
    "ssm.dt_b_c_rms": (False,),
    "swin_norm": (False,),
}
# The order of values in tensors that transformers expects.
_LAYOUTS = {"llama": "Meta AI original pth", "falcon": "jploski"}
# Keys of a tokenizer that change no token of a text.
_TOKENS = (
    "bos_token_id",
    "cls_token_id",
    "eom_token_id",
    "eos_token_id",
    "eot_token_id",
    "eos_token_ids",
    "mask_token_id",
    "merges",
    "model",
    "padding_token_id",
    "pre",
    "scores",
    "seperator_token_id",
    "token_type",
    "token_type_count",
    "tokens",
    "unknown_token_id",
    "add_bos_token",
)
# llama.cpp splits texts for these like GPT-2, as transformers does where it knows no pattern. SmolLM's own tokenizer
# also splits digits: it differs by the spaces and line ends in front of a number alone.
_LIKE_GPT2 = ("gpt-2", "jais", "mpt", "olmo", "smollm")
# A piece of text that is a token is one whatever the merges are.
_WHOLE_TOKENS = (
    *("falcon-h1", "falcon3", "jina-v5-nano", "lfm2", "llama-bpe", "llama-v3", "llama3"),
    *("midm-2.0", "pixtral", "tekken"),
)


def check_architecture(metadata: Mapping[str, Any], weights: Path) -> None:
    """Raise NightjarError for an architecture whose computation from a GGUF is not that of the original model."""
    name = metadata.get("general.architecture")
    if name not in ARCHITECTURES:
        what = f"a GGUF of the architecture {quote_short(str(name))} is not read"
        raise NightjarError(what, weights, f"{FIX}, or one of: {', '.join(ARCHITECTURES)}")


def check_metadata(metadata: Mapping[str, Any], config: Any, weights: Path) -> None:
    """Raise NightjarError for metadata that changes what the model computes, and is not in `config`.

    `config` is what transformers makes of the metadata. A key that is absent stands for the value that llama.cpp
    takes then.
    """
    architecture = str(metadata["general.architecture"])
    prefix = f"{architecture}."
    settings = {key.removeprefix(prefix): value for key, value in metadata.items() if key.startswith(prefix)}
    computed = _computed(architecture, config)
    for setting, value in (settings | _defaults(architecture, settings, computed)).items():
        if setting in _SIZES or setting in _DEPENDENT:
            continue
        accepted = computed.get(setting, _NEUTRAL.get(setting, ()))
        if setting == "attention.sliding_window" and accepted == (0,):
            # A window as long as the longest text hides nothing.
            accepted = (0, value) if value >= settings.get("context_length", math.inf) else (0,)
        if not any(_equal(value, it) for it in accepted):
            reads = f"; it reads {quote_short(str(accepted[0]), quoted=False)}" if accepted else ""
            stated = quote_short(str(value), quoted=False) if setting in settings else "absent"
            what = f"transformers does not read {quote_short(prefix + setting, quoted=False)} ({stated}) from it{reads}"
            raise NightjarError(what, weights, FIX)


def _equal(value: Any, computed: Any) -> bool:
    if isinstance(value, int | float) and isinstance(computed, int | float):
        return math.isclose(value, computed, rel_tol=1e-6)  # a GGUF has float32
    return bool(value == computed)


def _computed(architecture: str, config: Any) -> dict[str, tuple[Any, ...]]:
    """The values that a configuration computes with, by the setting of a GGUF."""
    heads = getattr(config, "num_attention_heads", 0)
    values: dict[str, tuple[Any, ...]] = {
        "attention.head_count": (heads,),
        "attn_logit_softcapping": (getattr(config, "attn_logit_softcapping", None) or 0,),
        "final_logit_softcapping": (getattr(config, "final_logit_softcapping", None) or 0,),
        "expert_used_count": (getattr(config, "num_experts_per_tok", None) or 0,),
        "expert_weights_norm": (getattr(config, "norm_topk_prob", False),),
        "use_parallel_residual": (getattr(config, "use_parallel_residual", True),),
        "tensor_data_layout": (_LAYOUTS.get(architecture, ""),),
    }
    names = ("rms_norm_eps", "norm_eps", "norm_epsilon", "layer_norm_eps", "layer_norm_epsilon")
    epsilon = next(getattr(config, name) for name in names if hasattr(config, name))
    values |= {f"attention.layer_norm_{kind}epsilon": (epsilon,) for kind in ("", "rms_")}
    if not heads:
        return values
    groups: Any = getattr(config, "num_key_value_heads", None) or heads
    layers = getattr(config, "layer_types", None) or ()
    if architecture == "falcon":
        groups = 1 if config.multi_query else heads
    elif architecture == "lfm2":
        groups = [groups if kind == "full_attention" else 0 for kind in layers]
    length = getattr(config, "head_dim", None) or config.hidden_size // heads
    scale = getattr(config, "query_pre_attn_scalar", length) ** -0.5
    slides = "sliding_attention" in layers if layers else getattr(config, "use_sliding_window", True)
    values |= {
        "attention.head_count_kv": (groups,),
        "attention.key_length": (length,),
        "attention.value_length": (length,),
        "attention.scale": (scale,),
        "attention.sliding_window": ((slides and getattr(config, "sliding_window", None)) or 0,),
    }
    rope = getattr(config, "rope_parameters", None)
    if rope:
        by_kind = rope if "full_attention" in rope else {"full_attention": rope}
        full = by_kind["full_attention"]
        near = by_kind.get("sliding_attention", full)
        values |= {
            "rope.dimension_count": (int(length * full.get("partial_rotary_factor", 1)),),
            "rope.freq_base": (full["rope_theta"],),
            "rope.freq_base_swa": (near["rope_theta"],),
        }
    return values


def _defaults(
    architecture: str, settings: Mapping[str, Any], computed: Mapping[str, tuple[Any, ...]]
) -> dict[str, Any]:
    """The values that llama.cpp takes where a GGUF has none, for the settings that a configuration has."""
    heads = settings.get("attention.head_count", 0)
    if not isinstance(heads, int) or "attention.key_length" not in computed:
        return {"attention.head_count": 0} if "attention.head_count" not in settings else {}
    length = settings.get("embedding_length", 0) // max(heads, 1)
    keys = settings.get("attention.key_length", length)
    values = {
        "attention.head_count": 0,
        "attention.head_count_kv": heads,
        "attention.key_length": length,
        "attention.value_length": length,
        "attention.scale": keys**-0.5 if keys else 0,
        "attention.sliding_window": 4096 if architecture == "gemma2" else 0,
        "rope.dimension_count": keys,
        "rope.freq_base": 10000.0,
        "rope.freq_base_swa": 10000.0
        if architecture == "gemma3"
        else settings.get("rope.freq_base", 10000.0),
    }
    if architecture == "gemma2":
        values |= {"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0}
    rms = architecture not in ("falcon", "gpt2", "stablelm", "starcoder2")
    values[f"attention.layer_norm_{'rms_' if rms else ''}epsilon"] = 0  # every file has to have it
    return {key: value for key, value in values.items() if key in computed and key not in settings}


def check_tokens(metadata: Mapping[str, Any], weights: Path) -> None:
    """Raise NightjarError for a tokenizer whose texts become other tokens by transformers."""
    from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

    prefix = "tokenizer.ggml."
    kind = metadata.get(f"{prefix}model")
    spaces = kind == "llama" and not str(metadata["general.architecture"]).startswith("gemma")
    neutral: dict[str, tuple[Any, ...]] = {
        "model": ("gpt2", "llama"),
        "pre": (*_LIKE_GPT2, *GGUF_PRE_TOKENIZER_SPLITS) if kind == "gpt2" else (None, "default"),
        "add_eos_token": (False,),
        "add_sep_token": (False,),
        "add_space_prefix": (spaces,),
        "remove_extra_whitespaces": (False,),
    }
    values = {"model": None, "pre": None} | {
        key.removeprefix(prefix): value for key, value in metadata.items() if key.startswith(prefix)
    }
    for key, value in values.items():
        fine = key in _TOKENS or key.startswith("fim_") or key in ("prefix_token_id", "suffix_token_id")
        if value not in neutral[key] if key in neutral else not fine:
            stated = "absent" if value is None else quote_short(str(value), quoted=False)
            what = f"transformers does not read {quote_short(prefix + key, quoted=False)} ({stated}) from it"
            raise NightjarError(what, weights, FIX)
    if unread_keys := [
        key for key in metadata if key.startswith(("tokenizer.huggingface", "tokenizer.rwkv"))
    ]:
        raise NightjarError(f"transformers does not read {unread_keys[0]} from it", weights, FIX)


def first_tokens(metadata: Mapping[str, Any]) -> tuple[int, ...]:
    """The ids that llama.cpp puts before every text."""
    begins = metadata["tokenizer.ggml.model"] == "llama"
    begins = begins or metadata.get("tokenizer.ggml.pre") in _WHOLE_TOKENS
    if not metadata.get("tokenizer.ggml.add_bos_token", begins):
        return ()
    return (int(metadata.get("tokenizer.ggml.bos_token_id", 1)),)


def ignores_merges(metadata: Mapping[str, Any]) -> bool:
    """Tell whether a piece of text that is a token needs no merges, which a GGUF says by the name of its pattern."""
    return metadata["tokenizer.ggml.model"] == "gpt2" and metadata.get("tokenizer.ggml.pre") in _WHOLE_TOKENS
