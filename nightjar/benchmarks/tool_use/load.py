"""Reads the published files of a folder into records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nightjar.benchmarks.card import Record, Refused
from nightjar.benchmarks.tool_use import asdiv, svamp, web_questions
from nightjar.core.errors import NightjarError

_MODULES = (svamp, asdiv, web_questions)


def load(folder: Path) -> Iterator[Record | Refused]:
    """The rows of folder/svamp, folder/asdiv and folder/webquestions, task after task; a missing one is skipped.

    Raises NightjarError if all of them are missing, or a file in one that is there cannot be read.
    """
    present = [module for module in _MODULES if (folder / module.FILE).parent.is_dir()]
    if not present:
        names = ", ".join(str(Path(module.FILE).parent) for module in _MODULES)
        raise NightjarError("no data set of tool_use", folder, f"put at least one of {names} in it")
    for module in present:
        yield from module.load(folder)
