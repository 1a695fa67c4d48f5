"""Write or remove entries of a lock file at once, and without formatting the others again, which takes DVC seconds in a
large file. The other entries keep their bytes. A file that DVC would not have written in this form is left to DVC.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from dvc.stage import PipelineStage
from dvc.stage.serialize import to_lockfile
from dvc.utils.serialize import ParseError, dumps_yaml, parse_yaml

from nightjar.core.files import write_text

HEAD = "schema: '2.0'\nstages:\n"


def write(
    path: Path,
    stage: PipelineStage,
    place: Callable[[list[str]], int] = len,
    known: dict[Path, str] | None = None,
) -> dict[str, Any] | None:
    """Write the entry of `stage` to its lock file `path`, and return it; None if that is not possible. Raises OSError.

    A new entry is inserted at the index that `place` returns for the names of the others; by default it is the last.
    `known` keeps the text of a file that was checked or written here, so that it is not parsed again.
    """
    known = {} if known is None else known
    alone = dumps_yaml({"schema": "2.0", "stages": to_lockfile(stage)})
    block = alone.removeprefix(HEAD)
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else HEAD
        after, names = splice(text, block, stage.name, place)
        entry: dict[str, Any] = parse_yaml(alone, path)["stages"][stage.name]
        if known.get(path) == text:
            sound = _entries(alone)[2] == [stage.name]
        else:
            found = parse_yaml(after, path)["stages"]
            sound = list(found) == names and found[stage.name] == entry
    except (UnicodeError, ParseError, ValueError):
        return None
    if not sound:
        return None
    write_text(path, after)
    known[path] = after
    return entry


def splice(text: str, block: str, name: str, place: Callable[[list[str]], int]) -> tuple[str, list[str]]:
    """The text of a lock file with `block`, the lines of the entry `name`, and the names of its entries.

    Raises ValueError or ParseError if the text has another form.
    """
    lines, heads, names = _entries(text)
    if name in names:
        first = names.index(name)
        rest = lines[heads[first + 1] :]
    else:
        first = place(names)
        names.insert(first, name)
        rest = lines[heads[first] :]
    return "".join([*lines[: heads[first]], block, *rest]), names


def without(text: str, gone: Collection[str]) -> str:
    """The text of a lock file without the entries `gone`. Raises ValueError or ParseError if it has another form."""
    lines, heads, names = _entries(text)
    kept = [
        line for at, name in enumerate(names) if name not in gone for line in lines[heads[at] : heads[at + 1]]
    ]
    return "".join([*lines[: heads[0]], *kept, *lines[heads[-1] :]])


def _entries(text: str) -> tuple[list[str], list[int], list[str]]:
    """The lines of a lock file, where its entries begin and the last one ends, and their names."""
    if not text.startswith(HEAD):
        raise ValueError("not as DVC writes it")
    lines = text.splitlines(keepends=True)
    ends = next((at for at in range(2, len(lines)) if not lines[at][:1].isspace()), len(lines))
    heads = [at for at in range(2, ends) if lines[at][:2] == "  " and not lines[at][2:3].isspace()]
    names = list(parse_yaml("".join(lines[at] for at in heads), "dvc.lock")) if heads else []
    if len(names) != len(heads) or not all(lines[at].endswith(":\n") for at in heads):
        raise ValueError("not as DVC writes it")
    return lines, [*heads, ends], names
