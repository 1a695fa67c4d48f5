"""The lock file of DVC: its entries are read, and one is written or some removed while the others keep their bytes.

DVC formats the whole file for each entry, which takes seconds in a large one. A file that DVC would not have written in
this form is left to DVC.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from pipelines.project.names import LOCK_FILE

if TYPE_CHECKING:
    from dvc.stage import PipelineStage

HEAD = "schema: '2.0'\nstages:\n"


def entries(root: Path) -> dict[str, dict[str, Any]]:
    """The entries of dvc.lock by their stages; none without the file. Raises NightjarError for one that is no YAML."""
    path = root / LOCK_FILE
    if not path.is_file():
        return {}
    from nightjar.core.config import parse, read_text  # here, not above: pydantic takes long to load

    document = parse(read_text(path), path)
    stages = document.get("stages") if isinstance(document, dict) else None
    return {str(name): entry for name, entry in (stages or {}).items() if isinstance(entry, dict)}


def remove(root: Path, names: Collection[str]) -> None:
    """Remove entries from dvc.lock. Raises NightjarError if the file is not in the form that DVC writes."""
    path = root / LOCK_FILE
    lines, heads, names_there = _blocks(path.read_text(encoding="utf-8"), path)
    kept_lines = [
        line
        for at, name in enumerate(names_there)
        if name not in names
        for line in lines[heads[at] : heads[at + 1]]
    ]
    write_text(path, "".join([*lines[: heads[0]], *kept_lines, *lines[heads[-1] :]]))


def write(
    path: Path, stage: PipelineStage, rank: Mapping[str, int], texts: dict[Path, str] | None = None
) -> dict[str, Any] | None:
    """Write the entry of `stage` to its lock file `path`, and return it; None if that is not possible. Raises OSError.

    A new entry goes before the first with a higher `rank`. Stages that end in any order therefore leave a new file as
    `dvc repro` does, if the ranks are its order. `texts` keeps the text of a file that was checked or written here, so
    that it is not parsed again.
    """
    from dvc.stage.serialize import to_lockfile
    from dvc.utils.serialize import ParseError, dumps_yaml, parse_yaml

    texts = {} if texts is None else texts
    alone = dumps_yaml({"schema": "2.0", "stages": to_lockfile(stage)})
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else HEAD
        lines, heads, names = _blocks(text, path)
        place = rank.get(stage.name, len(rank))
        later = (at for at, name in enumerate(names) if rank.get(name, -1) > place)
        new = stage.name not in names
        first = next(later, len(names)) if new else names.index(stage.name)
        following = lines[heads[first + (not new)] :]
        after = "".join([*lines[: heads[first]], alone.removeprefix(HEAD), *following])
        names[first : first + (not new)] = [stage.name]
        entry: dict[str, Any] = parse_yaml(alone, path)["stages"][stage.name]
        if texts.get(path) == text:
            sound = _blocks(alone, path)[2] == [stage.name]
        else:
            stages = parse_yaml(after, path)["stages"]
            sound = list(stages) == names and stages[stage.name] == entry
    except (UnicodeError, ParseError, NightjarError):
        return None
    if not sound:
        return None
    write_text(path, after)
    texts[path] = after
    return entry


def _blocks(text: str, path: Path) -> tuple[list[str], list[int], list[str]]:
    """The lines of a lock file, where its entries begin and the last one ends, and their names.

    Raises NightjarError if it has another form.
    """
    from nightjar.core.config import parse

    lines = text.splitlines(keepends=True)
    ends = next((at for at in range(2, len(lines)) if not lines[at][:1].isspace()), len(lines))
    heads = [at for at in range(2, ends) if lines[at][:2] == "  " and not lines[at][2:3].isspace()]
    names = list(parse("".join(lines[at] for at in heads), path)) if heads else []
    plain = text.startswith(HEAD) and all(lines[at].endswith(":\n") for at in heads)
    if not plain or len(names) != len(heads):
        fix = "run: dvc repro, which writes it anew, or take it from Git"
        raise NightjarError("not as DVC writes it", path, fix)
    return lines, [*heads, ends], list(map(str, names))
