"""Damaged model directories are refused in one line that names them, and unusual but whole ones are read."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from nightjar.core.errors import NightjarError
from nightjar.models.directory.headers import read_tensors
from nightjar.models.directory.pretrained import read_model
from nightjar.models.directory.weights import read_recipe, write_checksums
from nightjar.models.engine.loading import load
from nightjar.models.reader import load as load_reader
from nightjar.search.encoder import SentenceEncoder
from tests import tiny_models

CONFIG, WEIGHTS, ADAPTER = "config.json", "model.safetensors", "adapter_model.safetensors"
NORM, Q_PROJ = "model.norm.weight", "model.layers.1.self_attn.q_proj.weight"
Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def adapter(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.adapter(tiny_model, tmp_path_factory.mktemp("adapter"))


@pytest.fixture(scope="module")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.sentence_encoder(tmp_path_factory.mktemp("encoder"))


def weights(change: Callable[[dict[str, torch.Tensor]], object], file: str = WEIGHTS) -> Change:
    """Change the tensors of a directory."""

    def apply(folder: Path) -> None:
        held = load_file(folder / file)
        change(held)
        save_file(held, folder / file, {"format": "pt"})

    return apply


def settings(file: str = CONFIG, **values: Any) -> Change:
    """Change keys of a JSON file."""

    def apply(folder: Path) -> None:
        told = json.loads((folder / file).read_text())
        (folder / file).write_text(json.dumps(told | values))

    return apply


def content(change: Callable[[bytes], bytes], file: str = WEIGHTS) -> Change:
    """Change the bytes of a file."""
    return lambda folder: (folder / file).write_bytes(change((folder / file).read_bytes()))


def header(change: Callable[[dict[str, Any]], object]) -> Change:
    """Change the header of a weight file, and its length with it."""

    def apply(data: bytes) -> bytes:
        length = int.from_bytes(data[:8], "little")
        told = json.loads(data[8 : 8 + length])
        change(told)
        text = json.dumps(told).encode()
        return len(text).to_bytes(8, "little") + text + data[8 + length :]

    return content(apply)


def special(file: str, to: str | None = None) -> Change:
    """A named pipe, or a link to a device, in the place of a file."""

    def apply(folder: Path) -> None:
        (folder / file).unlink(missing_ok=True)
        if to:
            (folder / file).symlink_to(to)
        else:
            os.mkfifo(folder / file)

    return apply


def vocabulary(change: Callable[[dict[str, Any]], object]) -> Change:
    """Change tokenizer.json."""

    def apply(folder: Path) -> None:
        told = json.loads((folder / "tokenizer.json").read_text())
        change(told)
        (folder / "tokenizer.json").write_text(json.dumps(told))

    return apply


def empty(told: dict[str, Any]) -> None:
    told["added_tokens"] = []
    told["model"] |= {"vocab": {}, "merges": []}


MODELS: dict[str, tuple[Change, str]] = {
    "a tensor is missing": (weights(lambda w: w.pop(Q_PROJ)), f"missing: {Q_PROJ}"),
    "a tensor too many": (weights(lambda w: w.update(other=w[NORM] + 1)), "unexpected: other"),
    "another shape": (weights(lambda w: w.update({NORM: torch.ones(3)})), f"another shape: {NORM}"),
    "no number": (weights(lambda w: w[NORM].fill_(torch.nan)), f"not finite: {NORM}"),
    "integers": (weights(lambda w: w.update({NORM: w[NORM].int()})), f"not floating point: {NORM}"),
    "no tensors": (weights(lambda w: w.clear()), "missing: lm_head.weight, model.embed_tokens.weight"),
    "fewer layers": (settings(num_hidden_layers=1), r"unexpected: model\.layers\.1"),
    "more layers": (settings(num_hidden_layers=3), r"missing: model\.layers\.2"),
    "a billion layers": (settings(num_hidden_layers=10**9), "num_hidden_layers is out of range"),
    "a billion tokens": (settings(vocab_size=10**9), "far more elements than the weights"),
    "width 0": (settings(hidden_size=0), "another shape: model.embed_tokens.weight"),
    "negative width": (settings(intermediate_size=-48), "cannot load this model"),
    "unknown type": (settings(model_type="none"), "model type `none`"),
    "code of its own": (settings(model_type="mine", auto_map={"AutoConfig": "c.C"}), "custom code"),
    "a key twice": (content(lambda data: b'{"model_type": "llama",' + data[1:], CONFIG), "occurs twice"),
    "cut": (content(lambda data: data[:-1]), "not a safetensors file, or damaged .*not fully covered"),
    "empty": (content(lambda data: b""), "not a safetensors file, or damaged .*too small"),
    "garbage": (content(lambda data: bytes(range(256)) * 99), "not a safetensors file, or damaged .*too large"),
    "overlap": (header(lambda h: h[NORM].update(data_offsets=[0, 128])), "not a safetensors file, or damaged"),
    "weights from a pipe": (special(WEIGHTS), "a named pipe"),
    "weights from a device": (special(WEIGHTS, "/dev/zero"), "a character device"),
    "configuration from a pipe": (special(CONFIG), "a named pipe"),
    "checksums from a pipe": (special("checksums.json"), "a named pipe"),
    "an id without embedding": (
        vocabulary(lambda t: t["added_tokens"].append(t["added_tokens"][0] | {"id": 5000, "content": "<new>"})),
        "the model has embeddings for",
    ),
    "an empty vocabulary": (vocabulary(empty), "token"),
    "merges without their prefix": (
        vocabulary(lambda t: t["model"].update(continuing_subword_prefix="x" * 99)),
        "merges without the prefix",
    ),
    "no vocabulary": (vocabulary(lambda t: t.pop("model")), "tokenizer cannot be read"),
    "an adapter's configuration": (
        lambda folder: (folder / "adapter_config.json").write_text("{}"),
        "holds an adapter",
    ),
}  # fmt: skip


def refused(read: Callable[[], object], folder: Path, match: str) -> None:
    with pytest.raises(NightjarError, match=match) as caught:
        read()
    assert len(str(caught.value)) < 1000
    assert folder.name in str(caught.value)


@pytest.mark.parametrize("case", MODELS)
def test_a_damaged_model_is_refused(case: str, tiny_model: Path, tmp_path: Path) -> None:
    change, match = MODELS[case]
    folder = shutil.copytree(tiny_model, tmp_path / "damaged")
    change(folder)
    refused(lambda: load(folder), folder, match)


LORA = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"


def renamed(held: dict[str, torch.Tensor]) -> None:
    for name in list(held):
        held[name.replace("base_model.model.", "other.")] = held.pop(name)


ADAPTERS: dict[str, tuple[Change, str]] = {
    "other keys": (weights(renamed, ADAPTER), "missing: .*unexpected: "),
    "a tensor is missing": (weights(lambda w: w.pop(LORA), ADAPTER), r"missing: .*q_proj\.lora_A"),
    "a tensor too many": (weights(lambda w: w.update(other=w[LORA] + 1), ADAPTER), "unexpected: other"),
    "from a pipe": (special(ADAPTER), "a named pipe"),
    "another file": (lambda folder: (folder / ADAPTER).rename(folder / WEIGHTS), f"no {ADAPTER}"),
    "unknown type": (settings("adapter_config.json", peft_type="NONE"), "peft cannot load this adapter"),
    "a huge rank": (settings("adapter_config.json", r=10**9), "far more elements|allocate"),
    "other modules": (settings("adapter_config.json", target_modules=["none"]), "peft cannot load"),
    "a setting of another version": (settings("adapter_config.json", new_scale=3), "does not know: new_scale"),
    "one that cannot be merged": (settings("adapter_config.json", alora_invocation_tokens=[1]), "be merged"),
    "a learnt prompt": (
        lambda folder: (folder / "adapter_config.json").write_text(
            '{"peft_type": "PROMPT_TUNING", "task_type": "CAUSAL_LM", "num_virtual_tokens": 4}'
        ),
        "a learnt prompt",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ADAPTERS)
def test_a_damaged_adapter_is_refused(case: str, tiny_model: Path, adapter: Path, tmp_path: Path) -> None:
    change, match = ADAPTERS[case]
    folder = shutil.copytree(adapter, tmp_path / "damaged")
    change(folder)
    refused(lambda: load(tiny_model, adapter=folder), folder, match)


@pytest.mark.parametrize("file", ["model.safetensors", "../model/model.safetensors", 5])
def test_a_list_of_shards_names_files_of_the_directory(
    file: object, tiny_model: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_model, tmp_path / "model")
    (folder / WEIGHTS).rename(folder / "model-00001-of-00001.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {NORM: file}}))
    refused(lambda: load(folder), folder, "names weight files that are missing")


def test_a_model_in_shards_is_read(tiny_model: Path, tmp_path: Path) -> None:
    whole = load(tiny_model)
    shutil.copytree(tiny_model, tmp_path, dirs_exist_ok=True)
    (tmp_path / WEIGHTS).unlink()
    whole.model.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    read = load(tmp_path).model.state_dict()
    assert all(torch.equal(read[name], value) for name, value in whole.model.state_dict().items())


def test_modules_that_an_adapter_saves_are_read(tiny_t5: Path, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=2, target_modules=["q"], modules_to_save=["lm_head"], task_type="SEQ_2_SEQ_LM")
    made = get_peft_model(load(tiny_t5).model, config)
    with torch.no_grad():
        made.base_model.model.lm_head.modules_to_save["default"].weight.fill_(0.5)
    made.save_pretrained(tmp_path)
    assert load(tiny_t5, adapter=tmp_path).model.lm_head.weight.eq(0.5).all()
    weights(lambda held: held.pop("base_model.model.lm_head.weight"), ADAPTER)(tmp_path)
    refused(lambda: load(tiny_t5, adapter=tmp_path), tmp_path, r"lm_head\.weight")


@pytest.mark.parametrize(
    "changes",
    [
        {"target_modules": ["lm_head"]},
        {"target_modules": ["embed_tokens"]},
        {"target_modules": ["q_proj", "embed_tokens", "lm_head"]},
        {"target_modules": ["q_proj"], "modules_to_save": ["lm_head"]},
        {"target_modules": ["q_proj"], "modules_to_save": ["embed_tokens"]},
        {"target_modules": "all-linear"},
    ],
    ids=str,
)
def test_an_adapter_of_tied_embeddings_gives_the_logits_of_peft_without_merging(
    changes: dict[str, Any], tiny_model: Path, tmp_path: Path
) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(tiny_model)
    assert base.lm_head.weight is base.model.embed_tokens.weight
    torch.manual_seed(3)
    adapted = get_peft_model(base, LoraConfig(r=2, task_type="CAUSAL_LM", **changes)).eval()
    with torch.no_grad():
        for name, value in adapted.named_parameters():
            if "lora" in name or "modules_to_save" in name:
                value.normal_(std=0.3)
    adapted.save_pretrained(tmp_path)
    ids = torch.tensor([[5, 17, 40, 9, 5]])
    with torch.inference_mode():
        unmerged = adapted(input_ids=ids).logits
        merged = load(tiny_model, adapter=tmp_path).model(input_ids=ids).logits
    assert not torch.allclose(
        unmerged, AutoModelForCausalLM.from_pretrained(tiny_model)(input_ids=ids).logits, atol=1e-2
    )
    torch.testing.assert_close(merged, unmerged, rtol=1e-4, atol=1e-4)


def test_an_adapter_with_resized_embeddings_is_refused_by_name(tiny_model: Path, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(tiny_model)
    base.resize_token_embeddings(base.config.vocab_size + 3)
    adapted = get_peft_model(base, LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM"))
    adapted.save_pretrained(tmp_path, save_embedding_layers=True)
    refused(lambda: load(tiny_model, adapter=tmp_path), tmp_path, r"of another shape: .*embed_tokens\.weight")


def test_a_tokenizer_and_a_chat_template_of_an_adapter_that_differ_are_named(
    tiny_model: Path, adapter: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    same, other = (shutil.copytree(adapter, tmp_path / name) for name in ("same", "other"))
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(tiny_model / file, same / file)
    tokenizer = Tokenizer.from_file(str(tiny_model / "tokenizer.json"))
    tokenizer.add_tokens(["<call>"])
    tokenizer.save(str(other / "tokenizer.json"))
    (other / "chat_template.jinja").write_text("{{ messages }}")
    for folder in (same, other):
        write_checksums(folder)
    load(tiny_model, adapter=same)
    assert not caplog.messages
    load(tiny_model, adapter=other)
    assert [message.split(" differs ")[0] for message in caplog.messages] == [
        f"{other}: its tokenizer",
        f"{other}: its chat template",
    ]


def test_names_of_older_checkpoints_are_read(tmp_path: Path) -> None:
    """GPT-2 of the hub: no prefix, and masks that are no weights beside them."""
    from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=8, n_layer=2, n_head=2))
    model.save_pretrained(tmp_path)

    def older(held: dict[str, torch.Tensor]) -> None:
        for name in list(held):
            held[name.removeprefix("transformer.")] = held.pop(name)
        held["h.0.attn.bias"] = torch.ones(1, 1, 16, 16)

    weights(older)(tmp_path)
    read = read_model(tmp_path, AutoModelForCausalLM, torch.float32)
    assert torch.equal(read.transformer.h[1].mlp.c_fc.weight, model.transformer.h[1].mlp.c_fc.weight)


def test_an_encoder_may_have_the_head_of_another_task_but_no_layer_less(
    tiny_encoder: Path, tmp_path: Path
) -> None:
    from transformers import BertConfig, BertForMaskedLM

    BertForMaskedLM(BertConfig.from_pretrained(tiny_encoder)).save_pretrained(tmp_path)
    for file in tiny_encoder.glob("token*"):
        shutil.copy(file, tmp_path)
    assert any(name.startswith("cls.") for name in read_tensors(tmp_path / WEIGHTS))
    settings(architectures=["BertForMaskedLM"])(tmp_path)
    readers: list[Callable[[Path], object]] = [SentenceEncoder, lambda folder: load_reader(folder, 1)]
    for read in readers:
        read(tmp_path)
    for layers, match in ((1, r"unexpected: .*encoder\.layer\.1"), (3, r"missing: encoder\.layer\.2")):
        settings(num_hidden_layers=layers)(tmp_path)
        for read in readers:
            refused(lambda read=read: read(tmp_path), tmp_path, match)


def test_a_reader_reads_a_text_when_it_is_loaded(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_encoder, tmp_path / "encoder")
    settings(hidden_dropout_prob=float("nan"))(folder)
    refused(lambda: load_reader(folder, 1), folder, "cannot read a text")


@pytest.mark.parametrize("value", ["64", 0, -1, 1.5, None])
def test_the_limit_of_an_encoder_is_a_number_of_tokens(
    value: object, tiny_encoder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_encoder, tmp_path / "encoder")
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": value}))
    refused(lambda: SentenceEncoder(folder), folder, "no whole number max_seq_length")


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"evidence": "two"}, "evidence is no number"),
        ({"evidence": -1}, "evidence is no number"),
        ({"calls": "yes"}, "calls is neither"),
        ({"data": ["train"]}, "no names"),
    ],
)
def test_a_recipe_has_the_values_of_one(values: dict[str, object], match: str, tmp_path: Path) -> None:
    recipe = {"evidence": 0, "calls": False, "data": "train", "recipe": "mine"}
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    assert read_recipe(tmp_path) == recipe
    (tmp_path / "recipe.json").write_text(json.dumps(recipe | values))
    refused(lambda: read_recipe(tmp_path), tmp_path / "recipe", match)
