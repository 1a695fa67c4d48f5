"""Lines after prompts: each is that of its prompt alone, whatever shares the batch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from weakref import WeakSet

import pytest
import torch

from nightjar.core.errors import NightjarError
from nightjar.models.directory.weights import weights_digest
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import load
from nightjar.tools import line_generation as module
from nightjar.tools.line_generation import generate_lines
from nightjar.tools.reader import Reader, model_folder

PROMPTS = [f"{number} boxes of {'pens ' * (number % 5)}is" for number in range(7)]


def test_a_line_depends_on_its_own_prompt_alone(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = load(tiny_model)
    alone = [generate_lines(lm, "Input: ", [text], 8)[0] for text in PROMPTS]
    assert len(set(alone)) > 3
    assert generate_lines(lm, "Input: ", PROMPTS, 8) == alone
    assert generate_lines(lm, "Input: ", PROMPTS[::-1], 8) == alone[::-1]
    assert generate_lines(lm, "Input: ", [], 8) == []
    # Every row is close: all of them are decoded again.
    monkeypatch.setattr(module, "NEAR", float("inf"))
    assert generate_lines(lm, "Input: ", PROMPTS[:3], 8) == alone[:3]


def test_close_choices_are_made_again_alone(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise as another batch would bring it changes no line."""
    lm = load(tiny_model)
    alone = [generate_lines(lm, "Input: ", [text], 8)[0] for text in PROMPTS]
    generate = module.generate

    def noisy(lm, ids, *rest, controller=None, base=None):  # type: ignore[no-untyped-def]
        made = generate(lm, ids, *rest, controller=controller, base=base)
        if controller is None or len(ids) == 1:
            return made
        wrong = [margin < module.NEAR for margin in controller.smallest]
        return [
            type(one)("wrong", 1, True) if is_wrong else one
            for one, is_wrong in zip(made, wrong, strict=True)
        ]

    monkeypatch.setattr(module, "generate", noisy)
    monkeypatch.setattr(module, "NEAR", 0.05)
    assert generate_lines(lm, "Input: ", PROMPTS, 8) == alone


def test_a_model_that_is_loaded_is_shared(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second copy of the same weights would take their memory again; another precision is shared on a GPU alone."""
    for precision in ("float32", "bfloat16"):
        loaded = WeakSet([lm := load(tiny_model, precision)])
        monkeypatch.setattr(module, "LOADED", loaded)
        module.model.cache_clear()
        assert (module.model(tiny_model, lm.sha256) is lm) == (precision == "float32")
        assert module.model(tiny_model, lm.sha256).model.dtype == torch.float32
    module.model.cache_clear()
    monkeypatch.setattr(LanguageModel, "device", SimpleNamespace(type="cuda"))
    assert module.model(tiny_model, lm.sha256) is lm
    # Other weights beside it have its precision.
    module.model.cache_clear()
    monkeypatch.setattr(module, "LOADED", WeakSet([other := replace(lm, adapter_sha256="0" * 64)]))
    assert module.model(tiny_model, lm.sha256) is not other
    assert module.model(tiny_model, lm.sha256).model.dtype == torch.bfloat16
    module.model.cache_clear()


def test_an_encoder_decoder_reads_too(tiny_t5: Path) -> None:
    lm = load(tiny_t5)
    alone = [generate_lines(lm, "Input: ", [text], 4)[0] for text in PROMPTS[:3]]
    assert generate_lines(lm, "Input: ", PROMPTS[:3], 4) == alone
    assert all("\n" not in line for line in alone)


def test_a_directory_and_a_model_of_the_hub(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None]] = []

    def snapshot(name: str, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((name, revision))
        return str(tiny_model)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    here, hub = Reader(str(tiny_model), "a"), Reader("hub:some/model@v1", "a")
    assert here.sha256 == hub.sha256 == weights_digest(tiny_model)
    assert asked == [("some/model", "v1")]
    assert here.lines(["b", "c"], 4) == hub.lines(["b", "c"], 4)


def test_a_model_that_is_not_there_or_pickled(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no such model directory"):
        Reader("models/base/nowhere", "")
    (tmp_path / "pytorch_model.bin").touch()
    with pytest.raises(NightjarError, match="only pickled weights"):
        Reader(str(tmp_path), "")
    assert model_folder("a:b") == Path("a:b")  # no other prefix has a meaning
