"""GGUFs of every architecture that is read: logits and tokens as of the original, or one line that names the key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
import transformers

from nightjar.core.errors import NightjarError
from nightjar.models.directory.gguf_metadata import ARCHITECTURES
from nightjar.models.directory.preparation import prepare_model, prepare_tokenizer
from nightjar.models.engine.loading import load
from nightjar.models.tokenizer import load_tokenizer
from nightjar.params.inputs import PinnedSource

VOCABULARY = [chr(33 + n) for n in range(93)] + ["ab", "Ġ", "Ċ"]
SIZES = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-3,
}
ROPE = {"rope_parameters": {"rope_type": "default", "rope_theta": 5000.0}}
ENDS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
RMS, LAYER = "attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"
HEADS = {"attention.head_count": 4, "attention.head_count_kv": 2}
THETA = {"rope.freq_base": 5000.0}
EXPERTS = {"expert_count": 4, "expert_used_count": 2}
WINDOW = {"attention.key_length": 256, "attention.value_length": 256, "attention.sliding_window": 6}
# The configuration of a tiny model of each architecture, and what a converter writes of it beside its sizes.
MODELS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "llama": (transformers.LlamaConfig, SIZES | ROPE, HEADS | THETA | {RMS: 1e-3, "rope.dimension_count": 8}),
    "qwen2": (transformers.Qwen2Config, SIZES | ROPE, HEADS | THETA | {RMS: 1e-3}),
    "qwen3": (
        transformers.Qwen3Config,
        SIZES | ROPE | {"head_dim": 128},
        HEADS | THETA | {RMS: 1e-3, "attention.key_length": 128, "attention.value_length": 128},
    ),
    "qwen2moe": (
        transformers.Qwen2MoeConfig,
        SIZES
        | ROPE
        | {
            "moe_intermediate_size": 1408,
            "shared_expert_intermediate_size": 5632,
            "num_experts": 4,
            "num_experts_per_tok": 2,
        },
        HEADS | THETA | EXPERTS | {RMS: 1e-3},
    ),
    "qwen3moe": (
        transformers.Qwen3MoeConfig,
        SIZES
        | ROPE
        | {
            "head_dim": 16,
            "moe_intermediate_size": 768,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "norm_topk_prob": True,
        },
        HEADS | THETA | EXPERTS | {RMS: 1e-3, "attention.key_length": 16, "attention.value_length": 16},
    ),
    "gemma2": (
        transformers.Gemma2Config,
        SIZES | {"head_dim": 256, "sliding_window": 6},
        HEADS | WINDOW | {RMS: 1e-3, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0},
    ),
    "gemma3": (
        transformers.Gemma3TextConfig,
        SIZES | {"head_dim": 256, "sliding_window": 6, "num_hidden_layers": 6},
        HEADS | WINDOW | {RMS: 1e-3, "rope.freq_base": 1e6},
    ),
    "starcoder2": (
        transformers.Starcoder2Config,
        SIZES | {"norm_epsilon": 1e-3},
        HEADS | {LAYER: 1e-3, "rope.freq_base": 10000.0},
    ),
    "stablelm": (
        transformers.StableLmConfig,
        SIZES | {"layer_norm_eps": 1e-3},
        HEADS | {LAYER: 1e-3, "rope.dimension_count": 2, "use_parallel_residual": False},
    ),
    "gpt2": (
        transformers.GPT2Config,
        {"vocab_size": 96, "n_embd": 32, "n_layer": 2, "n_head": 4, "layer_norm_epsilon": 1e-3},
        {"attention.head_count": 4, LAYER: 1e-3},
    ),
    "falcon": (
        transformers.FalconConfig,
        {"vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
        {
            "attention.head_count": 4,
            "attention.head_count_kv": 1,
            LAYER: 1e-5,
            "tensor_data_layout": "jploski",
        },
    ),
    "mamba": (
        transformers.MambaConfig,
        {
            "vocab_size": 96,
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "state_size": 8,
            "layer_norm_epsilon": 1e-3,
        },
        {
            "attention.head_count": 0,
            RMS: 1e-3,
            "ssm.conv_kernel": 4,
            "ssm.state_size": 8,
            "ssm.inner_size": 64,
            "ssm.time_step_rank": 2,
        },
    ),
    "lfm2": (
        transformers.Lfm2Config,
        SIZES
        | ROPE
        | {
            "norm_eps": 1e-3,
            "block_auto_adjust_ff_dim": False,
            "layer_types": ["conv", "full_attention"],
        },
        HEADS | THETA | {RMS: 1e-3, "attention.head_count_kv": [0, 2], "shortconv.l_cache": 3},
    ),
}


def tiny(architecture: str) -> Any:
    """A model of random values, norms and biases among them."""
    kind, values, _ = MODELS[architecture]
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(kind(**values, **ENDS)).eval()
    with torch.no_grad():
        for value in model.parameters():
            value.add_(torch.randn_like(value) * 0.05)
    return model


def tensors(architecture: str, model: Any) -> Iterator[tuple[str, np.ndarray]]:
    """The tensors of a model as llama.cpp's converter names and orders them."""
    config = model.config
    kinds = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(kinds[architecture], config.num_hidden_layers)
    tied = set(model._tied_weights_keys or ()) if config.tie_word_embeddings else set()
    for name, tensor in model.state_dict().items():
        value, layer = tensor.numpy(), f"blk.{name.split('.')[2]}" if name.count(".") > 1 else ""
        if name.endswith("experts.gate_up_proj"):
            half = value.shape[1] // 2
            yield f"{layer}.ffn_gate_exps.weight", value[:, :half]
            yield f"{layer}.ffn_up_exps.weight", value[:, half:]
            continue
        if name.endswith("experts.down_proj"):
            yield f"{layer}.ffn_down_exps.weight", value
            continue
        if name in tied:
            continue
        named = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert named, name
        if architecture == "llama" and ("attn_q." in named or "attn_k." in named):
            heads = config.num_attention_heads if "attn_q" in named else config.num_key_value_heads
            value = value.reshape(heads, 2, -1, value.shape[1]).swapaxes(1, 2).reshape(value.shape)
        if architecture.startswith("gemma") and name.endswith("norm.weight"):
            value = value + 1
        if architecture == "gpt2" and "blk." in named and value.ndim == 2:
            value = value.T
        if value.ndim == 3:  # a convolution
            value = value[:, 0]
        if named.endswith("ffn_gate_inp_shexp.weight"):
            value = value[0]
        if named.endswith("ssm_a"):
            value = -np.exp(value)
        yield named, np.ascontiguousarray(value)


def add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    """Write a key with the type of its value."""
    kinds: dict[type, Callable[[str, Any], None]] = {
        bool: writer.add_bool,
        int: writer.add_uint32,
        float: writer.add_float32,
        list: writer.add_array,
        str: writer.add_string,
    }
    kinds[type(value)](key, value)


def write(
    architecture: str,
    folder: Path,
    metadata: dict[str, Any] | None = None,
    more: dict[str, list[float]] | None = None,
) -> Any:
    """Write a tiny model as a GGUF and return it.

    `metadata` changes keys (None: without the key), `more` has more tensors.
    """
    model = tiny(architecture)
    config = model.config
    sizes = {
        "context_length": getattr(config, "max_position_embeddings", 64),
        "embedding_length": config.hidden_size,
        "block_count": config.num_hidden_layers,
        "feed_forward_length": SIZES["intermediate_size"],
        "vocab_size": config.vocab_size,
    }
    keys = {f"{architecture}.{key}": value for key, value in (sizes | MODELS[architecture][2]).items()}
    keys |= {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": VOCABULARY,
        "tokenizer.ggml.token_type": [1] * len(VOCABULARY),
        "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.eos_token_id": 0,
        "tokenizer.ggml.bos_token_id": 0,
    }
    if architecture.startswith("gemma"):  # its tokenizer is a SentencePiece model, with special tokens
        keys |= {
            "tokenizer.ggml.model": "llama",
            "tokenizer.ggml.pre": "default",
            "tokenizer.ggml.tokens": [
                "<pad>",
                "<eos>",
                "<bos>",
                "<unk>",
                "<mask>",
                *VOCABULARY[5:-2],
                "▁",
                "▁a",
            ],
            "tokenizer.ggml.scores": [0.0] * len(VOCABULARY),
            "tokenizer.ggml.merges": None,
            "tokenizer.ggml.eos_token_id": 1,
            "tokenizer.ggml.bos_token_id": 2,
            "tokenizer.ggml.unknown_token_id": 3,
            "tokenizer.ggml.add_space_prefix": False,
        }
    folder.mkdir()
    writer = gguf.GGUFWriter(folder / "model.gguf", architecture)
    for key, value in (keys | (metadata or {})).items():
        if value is not None:
            add(writer, key, value)
    for name, tensor in tensors(architecture, model):
        writer.add_tensor(name, tensor)
    for name, numbers in (more or {}).items():
        writer.add_tensor(name, np.array(numbers, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model


def refused(architecture: str, folder: Path, metadata: dict[str, Any]) -> str:
    """The line that refuses a GGUF with these keys."""
    write(architecture, folder / "source", metadata)
    with pytest.raises(NightjarError) as caught:
        prepare_model(PinnedSource(source=str(folder / "source")), folder / "output")
    assert not (folder / "output").exists()
    line = str(caught.value)
    assert "\n" not in line and "model.gguf" in line and "as safetensors" in line
    return line


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_logits_are_those_of_the_original(architecture: str, tmp_path: Path) -> None:
    model = write(architecture, tmp_path / "source")
    prepare_model(PinnedSource(source=str(tmp_path / "source")), tmp_path / "output")
    lm = load(tmp_path / "output")
    ids = torch.randint(0, 96, (1, 20), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert torch.allclose(model(ids).logits, lm.model(input_ids=ids).logits, atol=1e-5)


@pytest.mark.parametrize(
    ("architecture", "setting", "value"),
    [
        ("llama", "rope.scaling.type", "yarn"),
        ("llama", "rope.scaling.factor", 4.0),
        ("llama", "rope.scaling.yarn_beta_fast", 32.0),
        ("llama", "rope.scale_linear", 2.0),
        ("llama", "attention.key_length", 16),
        ("llama", "attention.value_length", 16),
        ("llama", "attention.head_count", None),
        ("llama", "attention.scale", 1.0),
        ("llama", "attention.sliding_window", 8),
        ("llama", "attention.causal", False),
        ("llama", "attention.layer_norm_rms_epsilon", None),
        ("llama", "final_logit_softcapping", 30.0),
        ("llama", "logit_scale", 0.5),
        ("llama", "embedding_scale", 12.0),
        ("llama", "some_new_setting", 1),
        ("qwen2", "attention.head_count_kv", None),
        ("gemma3", "rope.freq_base", None),
        ("qwen2", "rope.dimension_count", 4),
        ("qwen2", "rope.dimension_sections", [2, 1, 1, 0]),
        ("qwen2moe", "expert_weights_norm", True),
        ("qwen2moe", "expert_weights_scale", 2.5),
        ("qwen3moe", "expert_gating_func", 2),
        ("gemma2", "attn_logit_softcapping", 20.0),
        ("gemma2", "final_logit_softcapping", 0.0),
        ("gemma2", "attention.scale", 1.0),
        ("gemma3", "attention.sliding_window", None),
        ("gemma3", "attention.sliding_window_pattern", 2),
        ("gemma3", "final_logit_softcapping", 30.0),
        ("gemma3", "rope.freq_base_swa", 5000.0),
        ("starcoder2", "rope.freq_base", 5000.0),
        ("stablelm", "rope.freq_base", 5000.0),
        ("stablelm", "rope.dimension_count", 4),
        ("stablelm", "use_parallel_residual", True),
        ("gpt2", "attention.max_alibi_bias", 8.0),
        ("gpt2", "attention.clamp_kqv", 8.0),
        ("falcon", "attention.layer_norm_epsilon", 1e-3),
        ("falcon", "attention.head_count_kv", 2),
        ("mamba", "ssm.dt_b_c_rms", True),
        ("lfm2", "attention.sliding_window", 8),
    ],
)
def test_a_key_that_is_not_read_is_refused(
    architecture: str, setting: str, value: Any, tmp_path: Path
) -> None:
    line = refused(architecture, tmp_path, {f"{architecture}.{setting}": value})
    assert f"{architecture}.{setting} (" in line


def test_keys_that_change_nothing_pass(tmp_path: Path) -> None:
    neutral = {
        "rope.scaling.type": "none",
        "rope.scaling.factor": 1.0,
        "rope.scaling.original_context_length": 64,
        "attention.key_length": 8,
        "attention.scale": 8**-0.5,
        "attention.sliding_window": 64,
        "attention.causal": True,
        "final_logit_softcapping": 0.0,
        "expert_used_count": 0,
        "logit_scale": 1.0,
        "tensor_data_layout": "Meta AI original pth",
    }
    metadata = {f"llama.{key}": value for key, value in neutral.items()}
    metadata |= {"general.file_type": 0, "general.sampling.temp": 0.5, "tokenizer.ggml.eot_token_id": 3}
    write("llama", tmp_path / "source", metadata, {"rope_freqs.weight": [1.0] * 4})
    prepare_model(PinnedSource(source=str(tmp_path / "source")), tmp_path / "output")


@pytest.mark.parametrize(
    "name", ["rope_freqs.weight", "blk.0.attn_sinks.weight", "blk.0.attn_output.bias", "other"]
)
def test_a_tensor_without_a_place_is_refused(name: str, tmp_path: Path) -> None:
    write("llama", tmp_path / "source", more={name: [8.0] * 4})
    with pytest.raises(NightjarError, match=r"no place in the model|positions are scaled \(rope_freqs"):
        prepare_model(PinnedSource(source=str(tmp_path / "source")), tmp_path / "output")
    assert not (tmp_path / "output").exists()


def test_an_architecture_that_is_not_compared_is_refused(tmp_path: Path) -> None:
    write("llama", tmp_path / "source")
    file = tmp_path / "source/model.gguf"
    file.write_bytes(file.read_bytes().replace(b"llama", b"grok3"))
    for make in (prepare_model, prepare_tokenizer):
        with pytest.raises(NightjarError, match=r"architecture 'grok3' is not read.* or one of: falcon"):
            make(PinnedSource(source=str(tmp_path / "source")), tmp_path / "output")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", "t5"),
        ("model", None),
        ("pre", None),
        ("pre", "default"),
        ("pre", "deepseek-llm"),
        ("add_eos_token", True),
        ("add_sep_token", True),
        ("add_space_prefix", True),
        ("remove_extra_whitespaces", True),
        ("precompiled_charsmap", [1, 2]),
        ("some_new_setting", True),
    ],
)
def test_a_tokenizer_that_is_not_read_is_refused(key: str, value: Any, tmp_path: Path) -> None:
    assert f"tokenizer.ggml.{key} (" in refused("llama", tmp_path, {f"tokenizer.ggml.{key}": value})


@pytest.mark.parametrize(("begins", "ids"), [(None, ()), (False, ()), (True, (5,))])
def test_texts_begin_as_the_file_says(begins: bool | None, ids: tuple[int, ...], tmp_path: Path) -> None:
    metadata = {"tokenizer.ggml.add_bos_token": begins, "tokenizer.ggml.bos_token_id": 5}
    write("llama", tmp_path / "source", metadata)
    prepare_tokenizer(PinnedSource(source=str(tmp_path / "source")), tmp_path / "output")
    assert load_tokenizer(tmp_path / "output").begin == ids


def test_a_word_that_is_a_token_needs_no_merges(tmp_path: Path) -> None:
    """The tokenizer of Llama 3 looks words up before it merges."""
    tokens = [*VOCABULARY[:-2], "xyz", "Ġ"]
    for pre, ids in (("gpt-2", [87, 88, 89]), ("llama-bpe", [94])):
        metadata = {
            "tokenizer.ggml.pre": pre,
            "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.add_bos_token": False,
        }
        write("llama", tmp_path / f"{pre}-source", metadata)
        prepare_tokenizer(PinnedSource(source=str(tmp_path / f"{pre}-source")), tmp_path / pre)
        assert load_tokenizer(tmp_path / pre).encode("xyz") == ids
