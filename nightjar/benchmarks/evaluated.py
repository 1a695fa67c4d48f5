"""The folder of an evaluation of any model (`nightjar evaluate`): where its predictions and questions are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nightjar.core.errors import NightjarError
from nightjar.core.json_text import read_object

RECORD = "evaluation.json"


def predictions(path: Path, benchmark: str) -> Path:
    """The predictions of a benchmark if `path` is the folder of an evaluation; any other path as it is.

    Raises NightjarError if the evaluation does not have them.
    """
    if not (path / RECORD).is_file():
        return path
    name = read_object(path / RECORD, "evaluate again").get("name")
    found = path / "data/predict" / benchmark / str(name)
    if not found.is_dir():
        raise NightjarError(f"it has no predictions of {benchmark}", path, "evaluate this benchmark")
    return found


def questions(path: Path, benchmark: str) -> Path | None:
    """The questions of a benchmark if `path` is the folder of an evaluation, else None."""
    return path / "data/questions" / benchmark if (path / RECORD).is_file() else None


def left_out(folder: Path) -> Mapping[str, Mapping[str, str]]:
    """The tasks of each benchmark that an evaluation left out, with the reason; none in any other folder."""
    if not (folder / RECORD).is_file():
        return {}
    found: Mapping[str, Mapping[str, str]] = (
        read_object(folder / RECORD, "evaluate again").get("left_out") or {}
    )
    return found
