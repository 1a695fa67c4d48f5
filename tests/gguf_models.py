"""A tiny language model as a GGUF, the way llama.cpp writes one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import load

# llama.cpp's name of every tensor of a layer.
LAYER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def in_gguf(lm: LanguageModel) -> Iterator[tuple[str, str, np.ndarray]]:
    """The name of every tensor of a tied Llama, llama.cpp's name of it, and its values as llama.cpp has them."""
    config, weights = lm.model.config, lm.model.state_dict()
    names = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
    for n in range(config.num_hidden_layers):
        names |= {f"model.layers.{n}.{k}.weight": f"blk.{n}.{v}.weight" for k, v in LAYER.items()}
    for name, theirs in names.items():
        value = weights[name].numpy()
        if "q_proj" in name or "k_proj" in name:  # llama.cpp rotates neighbours, transformers the two halves
            heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
            value = value.reshape(heads, 2, -1, value.shape[1]).swapaxes(1, 2).reshape(value.shape)
        yield name, theirs, value


def as_gguf(model: Path, folder: Path) -> LanguageModel:
    """Write `model`, a tied Llama, as a GGUF the way llama.cpp does, and return it with the quantised weights."""
    import gguf

    lm = load(model)
    config = lm.model.config
    writer = gguf.GGUFWriter(folder / "tiny.gguf", "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    backend = json.loads((model / "tokenizer.json").read_text())
    vocabulary = backend["model"]["vocab"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(sorted(vocabulary, key=vocabulary.__getitem__))
    writer.add_token_types([3, *[1] * (len(vocabulary) - 1)])  # the end token is a control token
    writer.add_token_merges([" ".join(pair) for pair in backend["model"]["merges"]])
    writer.add_eos_token_id(0)
    writer.add_bos_token_id(0)
    weights = lm.model.state_dict()
    for name, theirs, value in in_gguf(lm):
        kind = gguf.GGMLQuantizationType.F32
        if value.ndim == 2 and value.shape[1] % 32 == 0:
            kind = gguf.GGMLQuantizationType.Q4_1
            own = weights[name].numpy()  # quantised row by row, so that the order of the rows is all one
            weights[name].copy_(torch.from_numpy(gguf.dequantize(gguf.quantize(own, kind), kind)))
        writer.add_tensor(theirs, gguf.quantize(value, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return lm
