"""Tiny random causal models of every class of transformers: `families()` names them, `build` makes one."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, PreTrainedConfig
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
# More sizes of the parts of a model that reads pictures or sound.
PARTS: dict[str, Any] = {"depth": 1, "num_heads": 4, "out_hidden_size": 32, "encoder_ffn_dim": 48}
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
INDEXED_LINEAR: dict[str, Any] = {
    **LINEAR, "layer_types": ["linear_attention", "indexed_attention"], "shared_expert_intermediate_size": 16,
    "hc_lowrank": 8, "hc_count": 2, "indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": 8,
    "indexer_budget": 8, "indexer_compress_ratio": 2,
}  # fmt: skip
WINDOWED: dict[str, Any] = {"layer_types": ["sliding_attention", "full_attention"], "global_head_dim": 16}
PER_LAYER = {**WINDOWED, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 320}
NOTE: dict[str, Any] = {
    **INDEXED, "layer_types": ["indexed_attention", "sliding_attention"], "n_shared_experts": 1,
    "shared_experts_intermediate_size": 16, "swa_num_attention_heads": 4, "swa_num_key_value_heads": 4,
    "swa_q_lora_rank": 16, "swa_kv_lora_rank": 16, "swa_head_dim": 16, "swa_qk_nope_head_dim": 8, "swa_v_head_dim": 8,
}  # fmt: skip
GROUPS: dict[str, Any] = {"n_group": 2, "topk_group": 1, "mlp_layer_types": ["dense", "sparse"]}
HYBRID: dict[str, Any] = {
    "num_hidden_layers": 3, "layers_block_type": ["linear_attention", "hybrid", "hybrid"], "head_dim": None,
    "mamba_d_state": 8, "use_mamba_kernels": False,
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
    "axk1": {**LATENT, **GROUPS, "n_routed_experts": 8},
    "bailing_hybrid": {**LATENT, **GROUPS, "layer_types": ["linear_attention", "full_attention"]},
    "bamba": {**MAMBA, "attn_layer_indices": [1]},
    "blt": {
        "use_cache": False, "encoder_hash_byte_group_vocab": 320, "encoder_config": {"hidden_size_global": 32},
        "decoder_config": {"hidden_size_global": 32},
    },
    "cohere_compass_text": {
        "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000.0}},
    },
    "dbrx": {
        "num_key_value_heads": None, "max_position_embeddings": None,
        "attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0, "clip_qkv": 8.0},
        "ffn_config": {"ffn_hidden_size": 48, "hidden_size": 32, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "dots1": {"n_shared_experts": 1},
    "dots3_note": {
        "text_config": NOTE, "audio_config": {"adapter_input_size": 32, "adapter_out_dim": 32},
        "vision_config": {"num_hidden_layers": None, "adapter_in_dim": 32, "adapter_out_dim": 32},
    },
    "dots3_note_text": NOTE,
    "falcon_h1": {**MAMBA, "mamba_d_ssm": 64, "mamba_n_groups": 1},
    "falcon": {"head_dim": None, "num_key_value_heads": None},
    "gemma3n_text": {**PER_LAYER, "num_kv_shared_layers": 0, "laurel_rank": 8},
    "gemma4": {"text_config": PER_LAYER},
    "gemma4_text": PER_LAYER,
    "gemma4_unified": {"text_config": WINDOWED},
    "gemma4_unified_text": WINDOWED,
    "gpt_neo": {"num_hidden_layers": None, "attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {**MAMBA, "layer_types": ["mamba", "attention"]},
    "jamba": {"attn_layer_offset": 1, "attn_layer_period": 2, "mamba_d_state": 8},
    "kimi_linear": {
        **LATENT, "q_lora_rank": None, "layer_types": ["linear_attention", "full_attention"], "linear_head_dim": 8,
        "linear_num_heads": 4,
    },
    "mamba2": {"num_heads": 8, "head_dim": 8, "state_size": 8, "n_groups": 1, "chunk_size": 16},
    "nemotron_h": {
        "chunk_size": 16, "mamba_num_heads": 8, "mamba_head_dim": 8, "ssm_state_size": 8, "n_groups": 1,
        "num_hidden_layers": None, "layer_types": ["mamba", "attention", "moe"],
    },
    "phi4_multimodal": {"audio_config": {"nemo_conv_channels": 16, "num_blocks": 1}},
    "prophetnet": {
        "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4, "num_encoder_layers": 2,
        "num_decoder_layers": 2, "num_hidden_layers": None,
    },
    "qwen3_5": {"text_config": LINEAR},
    "qwen3_5_moe": {"text_config": LINEAR},
    "qwen4_exp": {"text_config": INDEXED_LINEAR},
    "qwen4_exp_text": INDEXED_LINEAR,
    "recurrent_gemma": {"num_hidden_layers": 3, "lru_width": 32},
    "reformer": {
        "axial_pos_embds": False, "attn_layers": ["local", "local"], "local_attn_chunk_length": 16,
        "attention_head_size": 8, "feed_forward_size": 48,
    },
    "roc_bert": {"shape_vocab_size": 320, "pronunciation_vocab_size": 320},
    "xlnet": {"max_position_embeddings": None, "d_inner": 48},
    "xlstm": {"hidden_size": 128, "num_heads": 4, "chunk_size": 16},
    "xmod": {"default_language": "en_XX"},
    "zamba": {**HYBRID, "n_mamba_heads": 2},
    "zamba2": {**HYBRID, "n_mamba_heads": 8, "chunk_size": 16, "adapter_rank": 8},
    "zaya": {"num_experts_per_tok": 1},
}  # fmt: skip
# Those that no text can be read with here, and why.
UNTESTED = {
    "gemma3n": "its pictures need the package timm, which is not installed; gemma3n_text is tested",
    **dict.fromkeys(
        ("gemma4_assistant", "gemma4_unified_assistant"), "drafts from the keys and values of another model"
    ),
    **dict.fromkeys(("musicgen", "musicgen_melody"), "its tokens are sound, in several books at once"),
}


def families() -> list[str]:
    """The types of causal models that can be made tiny."""
    return [name for name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES if name not in UNTESTED]


def configuration(family: str, **settings: Any) -> Any:
    """A tiny configuration of a family, a decoder if it can be one."""
    return _tiny(CONFIG_MAPPING[family], {"vocab_size": 320, **SETTINGS.get(family, {}), **settings})


def _tiny(kind: Any, settings: dict[str, Any]) -> Any:
    """A configuration of this class and of its parts; None among the settings takes a size away."""
    usual = kind()
    known = {*vars(usual), *usual.attribute_map, *inspect.signature(kind.__init__).parameters}
    values = {name: size for name, size in SIZES.items() if name in known}
    if "is_decoder" in known:
        values["is_decoder"] = True
    for name, part in vars(usual).items():
        if isinstance(part, PreTrainedConfig):
            sizes = PARTS | ({"vocab_size": 320} if "vocab_size" in vars(part) else {})
            own = {key: size for key, size in sizes.items() if key in vars(part)}
            values[name] = _tiny(type(part), {**own, **settings.get(name, {})})
    more = {
        name: value for name, value in settings.items() if not isinstance(values.get(name), PreTrainedConfig)
    }
    return kind(**{name: value for name, value in {**values, **more}.items() if value is not None})


def build(family: str, dtype: torch.dtype = torch.float32, **settings: Any) -> Any:
    """A model of a family with random weights, large enough that what is wrong shows."""
    config = configuration(family, **settings)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(0.2 * torch.randn(value.shape) + (value if value.dim() < 2 else 0))
            # Some stay in float32 when a model is read in bfloat16.
            if any(part in name for part in model._keep_in_fp32_modules_strict or ()):
                value.data = value.data.float()
    return model
