"""Reads the published files of a folder into records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.tool_use import (
    asdiv,
    lama,
    mawps,
    mlqa,
    natural_questions,
    running_text,
    svamp,
    templama,
    trivia_qa,
    web_questions,
)
from nightjar.core.errors import NightjarError

# The folder of each data set, and what reads it from the folder above.
LOADERS: dict[str, Callable[[Path], Iterator[Record | Refused]]] = {
    lama.FOLDER: lama.load,
    asdiv.FOLDER: asdiv.load,
    svamp.FOLDER: svamp.load,
    mawps.FOLDER: mawps.load,
    web_questions.FOLDER: web_questions.load,
    natural_questions.FOLDER: natural_questions.load,
    trivia_qa.FOLDER: trivia_qa.load,
    mlqa.FOLDER: mlqa.load,
    templama.FOLDER: templama.load,
    running_text.WIKITEXT: running_text.load_wikitext,
    running_text.HELD_OUT: running_text.load_held_out,
}


def load(folder: Path) -> Iterator[Record | Refused]:
    """The rows of the data sets whose folders are in `folder`, one after another; a missing one is skipped.

    Raises NightjarError if all of them are missing, or a file in one that is there cannot be read.
    """
    present = [name for name in LOADERS if (folder / name).is_dir()]
    if not present:
        raise NightjarError(
            "no data set of tool_use", folder, f"put at least one of {', '.join(LOADERS)} in it"
        )
    for name in present:
        yield from LOADERS[name](folder)
