"""Models as they are loaded, and what they compute."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from threading import Thread

import pytest
import torch
from safetensors.torch import load_file

from nightjar.core.errors import NightjarError
from nightjar.models.directory.weights import weights_digest
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import ForwardWork, count_work, load, prepare
from nightjar.models.engine.log_probabilities import logprobs_at
from nightjar.models.tokenizer import load_tokenizer


def test_the_end_token_closes_what_an_encoder_decoder_reads_and_nothing_else(
    tiny_model: Path, tiny_t5: Path
) -> None:
    causal, t5 = load_tokenizer(tiny_model), load_tokenizer(tiny_t5)
    assert causal.end not in causal.encode("Input: a")
    assert t5.encode("Input: a").count(t5.end) == 1 and t5.encode("Input: a")[-1] == t5.end
    for tokenizer in (causal, t5):
        assert tokenizer.target("a b").count(tokenizer.end) == 1
        assert tokenizer.target("a b")[-1] == tokenizer.end
        assert tokenizer.decode(tokenizer.target(" a b")) == " a b"
    assert t5.fit(t5.encode("abcdef"), 3) == [*t5.encode("abcdef")[:2], t5.end]
    assert causal.fit(causal.encode("abcdef"), 3) == causal.encode("abcdef")[:3]
    assert t5.fit(t5.encode("ab"), 9) == t5.encode("ab")


def test_an_end_token_is_added_where_the_tokenizer_adds_none(tiny_t5: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_t5, tmp_path / "model")
    values = json.loads((folder / "tokenizer.json").read_text())
    values["post_processor"] = None
    (folder / "tokenizer.json").write_text(json.dumps(values))
    assert load_tokenizer(folder).encode("Input: a") == load_tokenizer(tiny_t5).encode("Input: a")


def test_an_output_layer_of_its_own_survives_loading_and_saving(tiny_t5: Path, tmp_path: Path) -> None:
    """As in T5 1.1: transformers' default would tie it to the embeddings and scale what goes in."""
    first = load(tiny_t5)
    stored = load_file(tiny_t5 / "model.safetensors")["lm_head.weight"]
    first.model.save_pretrained(tmp_path)
    for model in (first.model, load(tiny_t5, adapter=tmp_path).model):
        assert torch.equal(model.lm_head.weight, stored)
        assert not torch.equal(model.shared.weight, stored)
        assert not model.config.scale_decoder_outputs


def test_a_merged_adapter_of_an_encoder_decoder_computes_what_the_adapter_computes(
    tiny_t5: Path, tmp_path: Path
) -> None:
    from peft import LoraConfig, get_peft_model

    prepare(seed=0, threads=1)
    lm = load(tiny_t5)
    config = LoraConfig(r=2, target_modules="all-linear", task_type="SEQ_2_SEQ_LM", init_lora_weights=False)
    tuned = get_peft_model(lm.model, config).eval()
    tuned.save_pretrained(tmp_path)
    ids = torch.tensor([lm.tokenizer.encode("Input: a b\nOutput:")])
    with torch.inference_mode():
        plain, adapted, merged = (
            model(input_ids=ids, decoder_input_ids=torch.tensor([[0, 5, 7]])).logits
            for model in (load(tiny_t5).model, tuned, load(tiny_t5, adapter=tmp_path).model)
        )
    assert not torch.allclose(plain, adapted, atol=0.1)
    assert torch.allclose(merged, adapted, atol=1e-3, rtol=1e-3)


def test_what_a_model_can_is_known_without_torch(tiny_model: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nimport pipelines.commands.evaluation_run\n"
        "from nightjar.models.backends import backend\n"
        f"print(sorted(backend('', Path({str(tiny_model)!r})).can), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['generate', 'sample', 'score', 'steer', 'tools'] False\n"


def test_weights_that_change_are_read_again(tiny_model: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "model"))
    before = weights_digest(folder)
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert weights_digest(folder) == sha256(file.read_bytes()).hexdigest() != before


def test_float16_is_refused(tiny_t5: Path) -> None:
    with pytest.raises(NightjarError, match="no precision 'float16'"):
        load(tiny_t5, "float16")


def test_tokens_and_passes_of_this_thread_are_counted(lm: LanguageModel) -> None:
    rows = [([1, 2, 3, 4], [3]), ([5, 6], [1])]
    with count_work(lm) as work:
        logprobs_at(lm, rows)
        beside = Thread(target=logprobs_at, args=(lm, rows))
        beside.start()
        beside.join()
        with count_work(lm) as inner:
            logprobs_at(lm, rows[:1])
    # Two rows of three tokens, padding included; then one.
    assert inner == ForwardWork(passes=1, tokens=3)
    assert work == ForwardWork(passes=2, tokens=9)
    logprobs_at(lm, rows)
    assert work == ForwardWork(passes=2, tokens=9)
    with pytest.raises(ZeroDivisionError), count_work(lm):
        _ = 1 / 0
    assert not lm.model._forward_pre_hooks
