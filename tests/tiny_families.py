"""Tiny random causal models of every class of transformers: `families()` names them, `build` makes one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from transformers import CONFIG_MAPPING, MODEL_FOR_CAUSAL_LM_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

# Sizes by the names that configurations have for them.
SIZES: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "dim", "emb_dim"), 32),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "n_inner", "decoder_ffn_dim", "encoder_ffn_dim"), 48),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads"), 4),
    **dict.fromkeys(("decoder_attention_heads", "encoder_attention_heads"), 4),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx"), 128),
    "encoder_layers": 1,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LATENT: dict[str, Any] = {
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
    "num_key_value_heads": 4,
}  # fmt: skip
INDEXED = {**LATENT, "index_n_heads": 2, "index_head_dim": 16}
MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_chunk_size": 16}
LINEAR: dict[str, Any] = {
    "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2, "linear_num_value_heads": 4,
    "linear_key_head_dim": 8, "linear_value_head_dim": 8,
}  # fmt: skip
ROTARY = {"rotary_dim": 4}
CONVOLUTION = {"layer_types": ["conv", "full_attention"]}
# What else families need; None takes a size away.
SETTINGS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("deepseek_v2", "deepseek_v3", "glm4_moe_lite", "longcat_flash", "minicpm3", "youtu"), LATENT),
    **dict.fromkeys(("axk2", "deepseek_v32", "glm_moe_dsa"), INDEXED),
    **dict.fromkeys(("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"), LINEAR),
    **dict.fromkeys(("lfm2", "lfm2_moe", "lfm3"), CONVOLUTION),
    **dict.fromkeys(("codegen", "gptj"), ROTARY),
    "bamba": {**MAMBA, "attn_layer_indices": [1]},
    "dots1": {"n_shared_experts": 1},
    "falcon_h1": {**MAMBA, "mamba_d_ssm": 64, "mamba_n_groups": 1},
    "falcon": {"head_dim": None, "num_key_value_heads": None},
    "gpt_neo": {"num_hidden_layers": None, "attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {**MAMBA, "layer_types": ["mamba", "attention"]},
    "jamba": {"attn_layer_offset": 1, "attn_layer_period": 2, "mamba_d_state": 8},
    "mamba2": {"num_heads": 8, "head_dim": 8, "state_size": 8, "n_groups": 1, "chunk_size": 16},
    "nemotron_h": {
        "chunk_size": 16, "mamba_num_heads": 8, "mamba_head_dim": 8, "ssm_state_size": 8, "n_groups": 1,
        "num_hidden_layers": None, "layer_types": ["mamba", "attention", "moe"],
    },
    "recurrent_gemma": {"num_hidden_layers": 3, "lru_width": 32},
    "reformer": {
        "axial_pos_embds": False, "attn_layers": ["local", "local"], "local_attn_chunk_length": 16,
        "attention_head_size": 8, "feed_forward_size": 48,
    },
    "xlnet": {"max_position_embeddings": None, "d_inner": 48},
    "xmod": {"default_language": "en_XX"},
    "zaya": {"num_experts_per_tok": 1},
}  # fmt: skip
# Models of more than a causal decoder, and configurations that no few settings make tiny.
LARGE = frozenset(
    [
        "axk1",
        "bailing_hybrid",
        "blt",
        "cohere_compass_text",
        "dbrx",
        "dots3_note",
        "dots3_note_text",
        "emu3",
        "fuyu",
        "gemma3",
        "gemma3n",
        "gemma3n_text",
        "gemma4",
        "gemma4_assistant",
        "gemma4_text",
        "gemma4_unified",
        "gemma4_unified_assistant",
        "gemma4_unified_text",
        "git",
        "got_ocr2",
        "kimi_linear",
        "llama4",
        "mllama",
        "moss_transcribe_diarize",
        "musicgen",
        "musicgen_melody",
        "phi4_multimodal",
        "prophetnet",
        "qwen3_5",
        "qwen3_5_moe",
        "qwen4_exp",
        "qwen4_exp_text",
        "xlstm",
        "zamba",
        "zamba2",
    ]
)


def families() -> list[str]:
    """The types of causal models that can be made tiny."""
    return [name for name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES if name not in LARGE]


def configuration(family: str, **settings: Any) -> Any:
    """A tiny configuration of a family, a decoder if it can be one."""
    kind: Any = CONFIG_MAPPING[family]
    usual = kind()
    sizes = {name: size for name, size in SIZES.items() if hasattr(usual, name)}
    decoder = {"is_decoder": True} if "is_decoder" in _names(kind) or hasattr(usual, "is_decoder") else {}
    values = {"vocab_size": 320, **sizes, **decoder, **SETTINGS.get(family, {}), **settings}
    return kind(**{name: value for name, value in values.items() if value is not None})


def _names(kind: Any) -> Iterator[str]:
    yield from inspect.signature(kind.__init__).parameters


def build(family: str, dtype: torch.dtype = torch.float32, **settings: Any) -> Any:
    """A model of a family with random weights, large enough that what is wrong shows."""
    config = configuration(family, **settings)
    torch.manual_seed(0)
    kind: Any = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    model = kind._from_config(config, dtype=dtype).eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(0.2 * torch.randn(value.shape) + (value if value.dim() < 2 else 0))
            # Some stay in float32 when a model is read in bfloat16.
            if any(part in name for part in model._keep_in_fp32_modules_strict or ()):
                value.data = value.data.float()
    return model
