"""Where the model of a tool comes from, and one line when it is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightjar.core.errors import NightjarError
from nightjar.models.weights import digest
from nightjar.tools.reader import Reader, model_folder


def test_a_directory_and_a_model_of_the_hub(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None]] = []

    def snapshot(name: str, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((name, revision))
        return str(tiny_model)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    here, hub = Reader(str(tiny_model), "a"), Reader("hub:some/model@v1", "a")
    assert here.sha256 == hub.sha256 == digest(tiny_model)
    assert asked == [("some/model", "v1")]
    assert here.lines(["b", "c"], 4) == hub.lines(["b", "c"], 4)


def test_a_model_that_is_not_there_or_pickled(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no such model directory"):
        Reader("models/base/nowhere", "")
    (tmp_path / "pytorch_model.bin").touch()
    with pytest.raises(NightjarError, match="only pickled weights"):
        Reader(str(tmp_path), "")
    assert model_folder("a:b") == Path("a:b")  # no other prefix has a meaning
