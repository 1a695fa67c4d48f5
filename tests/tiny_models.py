"""Tiny random models in the file layout of real ones: `python -m tests.tiny_models FOLDER` writes them all.

They answer nonsense, but every stage runs on them in seconds, the same bytes every time.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

END, PAD = "<|end|>", "<|pad|>"


def _tokenizer(folder: Path, appends_end: bool = False) -> int:
    """A byte-level tokenizer: END has the id 0 and pads too; with `appends_end`, T5's way, PAD 0 and END 1."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    texts = [
        "Definition: Input: Output: Positive Example the of a is in [Calculator( [Calendar() -> ] Today is"
    ] * 3
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = [PAD, END] if appends_end else [END]
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=sorted(alphabet), show_progress=False
    )
    backend.train_from_iterator(texts, trainer)
    if appends_end:
        backend.post_processor = processors.TemplateProcessing(
            single=["$A", END], special_tokens=[(END, special.index(END))]
        )
    made = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=END, pad_token=special[0])
    made.save_pretrained(folder)
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


# The system message, the others and the calls of a conversation, and the names of its tools.
TEMPLATE = (
    "{% for one in tools or [] %}[{{ one.function.name }}]{% endfor %}"
    "{% for one in messages %}<{{ one.role }}>{{ one.content }}"
    "{% for call in one.tool_calls or [] %}{{ call.function.arguments.input }};{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def with_chat_template(model: Path, folder: Path) -> Path:
    """A copy of a language model whose tokenizer has a chat template that knows tools."""
    shutil.copytree(model, folder, dirs_exist_ok=True)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return folder


def encoder_decoder(folder: Path) -> Path:
    """A two-layer T5 of the newer kind (gated, its output layer its own), like the ones Tk-Instruct starts from."""
    size = _tokenizer(folder, appends_end=True)
    torch.manual_seed(4)
    config = T5Config(  # type: ignore[call-arg]
        # Two keys are not in the signature that it is checked by.
        vocab_size=size,
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_decoder_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        dropout_rate=0.0,
        initializer_factor=2.0,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    model = T5ForConditionalGeneration(config)
    # transformers ties the output layer to the embeddings whatever the configuration says, but loads and saves one that
    # differs; the published configurations tell of it by this one key.
    model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight))
    model.all_tied_weights_keys.pop("lm_head.weight")
    model.save_pretrained(folder)
    values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    del values["scale_decoder_outputs"]
    values["tie_word_embeddings"] = False
    (folder / "config.json").write_text(json.dumps(values, indent=2), encoding="utf-8")
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


def adapter(model: Path, folder: Path) -> Path:
    """A random LoRA adapter of rank 2 for the linear layers of a causal language model."""
    torch.manual_seed(2)
    config = LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM", init_lora_weights=False)
    made = get_peft_model(AutoModelForCausalLM.from_pretrained(str(model)), config)
    made.save_pretrained(str(folder))
    return folder


if __name__ == "__main__":
    root = Path(sys.argv[1])
    for make in (language_model, encoder_decoder, sentence_encoder):
        target = root / make.__name__
        target.mkdir(parents=True, exist_ok=True)
        make(target)
