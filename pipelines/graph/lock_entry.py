"""Write one entry of a lock file without formatting all the others again, which takes DVC seconds in a large file.

The other entries keep their bytes, and the file is replaced at once. The result is read again: where it is not what DVC
would read after its own write, nothing is written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dvc.stage import PipelineStage
from dvc.stage.serialize import to_lockfile
from dvc.utils.serialize import ParseError, dumps_yaml, parse_yaml

from nightjar.core.files import write_text

# The last text of each file that was written or read here, with its values.
_known: dict[Path, tuple[str, Any]] = {}


def write(path: Path, stage: PipelineStage) -> bool:
    """Write the entry of `stage` to its lock file `path`; whether that was possible. Raises OSError."""
    try:
        text = path.read_text(encoding="utf-8")
        before = _values(path, text)
        alone = dumps_yaml({"schema": "2.0", "stages": to_lockfile(stage)})
        entry = parse_yaml(alone, path)["stages"]
        after = splice(text, alone.partition("stages:\n")[2])
        wanted = {**before, "stages": {**before["stages"], **entry}}
        found = parse_yaml(after, path)
    except (FileNotFoundError, UnicodeError, ParseError, LookupError, TypeError, ValueError):
        return False
    if found != wanted or list(found["stages"]) != list(wanted["stages"]):
        return False
    write_text(path, after)
    _known[path] = after, found
    return True


def _values(path: Path, text: str) -> Any:
    known, values = _known.get(path, ("", None))
    return values if text == known else parse_yaml(text, path)


def splice(text: str, block: str) -> str:
    """The text of a lock file with `block`, the lines of an entry, in place of the entry with the same first line.

    Without such an entry, the block follows the last one. Raises ValueError if the text has no list of stages.
    """
    lines = text.splitlines(keepends=True)
    begins = lines.index("stages:\n") + 1
    ends = next((at for at in range(begins, len(lines)) if not lines[at][:1].isspace()), len(lines))
    names = [at for at in range(begins, ends) if lines[at][:2] == "  " and not lines[at][2:3].isspace()]
    first = block.partition("\n")[0] + "\n"
    at = next((at for at in names if lines[at] == first), ends)
    after = next((other for other in [*names, ends] if other > at), ends)
    return "".join(lines[:at]) + block + "".join(lines[after:])
