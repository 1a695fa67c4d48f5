"""The folder of an evaluation of any model (`nightjar evaluate`): where its predictions and questions are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import read_object

RECORD = "evaluation.json"


class Record(BaseModel):
    """What is read of the file evaluation.json: what was asked, an identity of all that decides the results, the name
    of the system, and the tasks that are left out of each benchmark with the reason.
    """

    model_config = ConfigDict(strict=True, extra="ignore")

    asked: dict[str, Any] = {}
    identity: str = ""
    name: str = Field(pattern="^[a-z0-9_]{1,200}$")
    left_out: dict[str, dict[str, str]] = {}


def read(folder: Path) -> Record:
    """The record of the evaluation in a folder. Raises NightjarError if it is missing or damaged."""
    path, fix = folder / RECORD, "restore it, or evaluate into another folder"
    try:
        return Record.model_validate(read_object(path, fix))
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise NightjarError(what, path, fix) from None


def predictions(path: Path, benchmark: str) -> Path:
    """The predictions of a benchmark if `path` is the folder of an evaluation; any other path as it is.

    Raises NightjarError if the evaluation does not have them.
    """
    if not (path / RECORD).is_file():
        return path
    found = path / paths.PREDICTIONS / benchmark / read(path).name
    if not found.is_dir():
        raise NightjarError(f"it has no predictions of {benchmark}", path, "evaluate this benchmark")
    return found


def questions(path: Path, benchmark: str) -> Path | None:
    """The questions of a benchmark if `path` is the folder of an evaluation, else None."""
    return path / paths.QUESTIONS / benchmark if (path / RECORD).is_file() else None


def left_out(folder: Path) -> Mapping[str, Mapping[str, str]]:
    """The tasks of each benchmark that an evaluation left out, with the reason; none in any other folder."""
    return read(folder).left_out if (folder / RECORD).is_file() else {}
