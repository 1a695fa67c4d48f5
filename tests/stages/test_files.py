"""Files appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from stages import files


def test_write_text_is_whole_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "new" / "facts.json"
    files.write_text(file, "one")

    def fail(*_: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="gone"):
        files.write_text(file, "two")
    assert file.read_text() == "one"
