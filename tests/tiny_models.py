"""Tiny random models in the file layout of real ones: `python -m tests.tiny_models FOLDER` writes both.

They answer nonsense, but every stage runs on them in seconds, the same bytes every time.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

END = "<|end|>"


def _tokenizer(folder: Path) -> int:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    texts = [
        "Definition: Input: Output: Positive Example the of a is in [Calculator( [Calendar() -> ] Today is"
    ] * 3
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=[END], initial_alphabet=sorted(alphabet), show_progress=False
    )
    backend.train_from_iterator(texts, trainer)
    PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=END, pad_token=END).save_pretrained(folder)
    return backend.get_vocab_size()


def language_model(folder: Path) -> Path:
    """A two-layer Llama with grouped heads, like SmolLM2's architecture in small."""
    size = _tokenizer(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=size,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
        initializer_range=0.2,
        tie_word_embeddings=True,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def sentence_encoder(folder: Path) -> Path:
    """A two-layer BERT with the byte-level tokenizer of the language model."""
    size = _tokenizer(folder)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=size,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=512,
        pad_token_id=0,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


if __name__ == "__main__":
    root = Path(sys.argv[1])
    for make in (language_model, sentence_encoder):
        target = root / make.__name__
        target.mkdir(parents=True, exist_ok=True)
        make(target)
