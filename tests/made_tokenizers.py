"""Small tokenizers of the kinds that published models come with, in the file layout of each kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

TEXTS = [
    "The number of days is 2 + 3 = [Calculator(2 + 3) -> 5] 5. The answer to a question is Paris. N N"
] * 3


def _write(folder: Path, backend: Tokenizer | None, settings: dict[str, Any]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    if backend is not None:
        backend.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return backend.get_vocab_size() if backend is not None else 0


def _byte_level(special: list[str], **options: bool) -> Tokenizer:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=340,
        special_tokens=special,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator(TEXTS, trainer)
    backend.post_processor = processors.ByteLevel(**options) if options else None  # type: ignore[assignment]
    return backend


def _template(backend: Tokenizer, *parts: str) -> None:
    marks = [(part, backend.token_to_id(part)) for part in parts if part != "$A"]
    backend.post_processor = processors.TemplateProcessing(single=list(parts), special_tokens=marks)


def _pieces(special: list[str]) -> Tokenizer:
    """BPE on characters with "▁" for a blank and single bytes for what is unknown, as SentencePiece writes it."""
    backend = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    letters = sorted({*"".join(TEXTS), "▁"} - {" "})
    vocabulary = [*special, *(f"<0x{byte:02X}>" for byte in range(256)), *letters, "▁[", "▁t", "he", "->"]
    merges = [("▁", "["), ("▁", "t"), ("h", "e"), ("-", ">")]
    ids = {token: id for id, token in enumerate(vocabulary)}
    backend.model = models.BPE(ids, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    backend.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    backend.decoder = decoders.Sequence(parts)
    return backend


def opt(folder: Path) -> int:
    """OPT: vocab.json and merges.txt of GPT-2's kind, and "</s>" at the beginning by a setting."""
    backend = _byte_level(["<s>", "<pad>", "</s>", "<unk>"])
    _write(
        folder,
        None,
        {
            "tokenizer_class": "GPT2Tokenizer",
            "add_bos_token": True,
            "add_prefix_space": False,
            "errors": "replace",
            **{"bos_token": "</s>", "eos_token": "</s>", "unk_token": "</s>", "pad_token": "<pad>"},
        },
    )
    backend.model.save(str(folder))
    return backend.get_vocab_size()


def gpt2(folder: Path) -> int:
    """GPT-2 and GPT-J: nothing is added."""
    end = "<|endoftext|>"
    settings = {"tokenizer_class": "GPT2Tokenizer", "bos_token": end, "eos_token": end, "unk_token": end}
    return _write(folder, _byte_level([end], trim_offsets=False), settings)


def neox(folder: Path) -> int:
    """GPT-NeoX's kind: as GPT-2, and where the file is read as it is, the spans of tokens leave their blank out."""
    end = "<|endoftext|>"
    backend = _byte_level([end], trim_offsets=True, add_prefix_space=False)
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": end, "eos_token": end}
    return _write(folder, backend, settings)


def llama2(folder: Path) -> int:
    """Llama 2 and Mistral: SentencePiece's BPE with "▁" before the first word, and "<s>" at the beginning."""
    backend = _pieces(["<unk>", "<s>", "</s>"])
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence([backend.decoder, decoders.Strip(" ", 1, 0)])
    _template(backend, "<s>", "$A")
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    settings = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, **names}
    return _write(folder, backend, settings)


def llama3(folder: Path) -> int:
    """Llama 3: byte-level BPE whose file says what is put at the beginning."""
    backend = _byte_level(["<|begin_of_text|>", "<|end_of_text|>"])
    _template(backend, "<|begin_of_text|>", "$A")
    names = {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"}
    return _write(folder, backend, {"tokenizer_class": "PreTrainedTokenizerFast", **names})


def gemma(folder: Path) -> int:
    """Gemma: SentencePiece's BPE with nothing before the first word, and "<bos>" at the beginning."""
    backend = _pieces(["<pad>", "<eos>", "<bos>", "<unk>"])
    backend.normalizer = normalizers.Replace(" ", "▁")
    _template(backend, "<bos>", "$A")
    names = {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>", "pad_token": "<pad>"}
    return _write(folder, backend, {"tokenizer_class": "GemmaTokenizer", "add_bos_token": True, **names})


def t5(folder: Path) -> int:
    """T5: unigrams, and "</s>" at the end."""
    letters = sorted({*"".join(TEXTS), "▁"} - {" "})
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *((letter, -4.0) for letter in letters)]
    backend = Tokenizer(models.Unigram([*pieces, ("▁the", -1.0)], unk_id=2, byte_fallback=False))
    backend.add_special_tokens(["<pad>", "</s>", "<unk>"])
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    _template(backend, "$A", "</s>")
    names = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    return _write(folder, backend, {"tokenizer_class": "T5Tokenizer", "extra_ids": 0, **names})


def roberta(folder: Path) -> int:
    """RoBERTa: "<s>" and "</s>" around a text, "</s></s>" between two, and padding of the id 1."""
    backend = _byte_level(["<s>", "<pad>", "</s>"])
    backend.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=False, add_prefix_space=False
    )
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    return _write(folder, backend, {"tokenizer_class": "PreTrainedTokenizerFast", **names})


# Each kind of language model, and the token that it puts before a text.
KINDS = {
    opt: "</s>",
    gpt2: None,
    neox: None,
    llama2: "<s>",
    llama3: "<|begin_of_text|>",
    gemma: "<bos>",
    t5: None,
}
