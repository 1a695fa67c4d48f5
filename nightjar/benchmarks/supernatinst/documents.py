"""Documents beside the task files of the public repository: the published lists, and how a document is read."""

from __future__ import annotations

from pathlib import Path

from nightjar.core.errors import NightjarError
from nightjar.core.files import check_input

TRACKS = ("default", "xlingual")
ROLES = ("train", "test", "excluded")


def read_document(file: Path) -> str | None:
    """The text of a file, None if it is missing. Raises NightjarError for one that is not UTF-8 or no ordinary file."""
    check_input(file)
    if not file.exists():
        return None
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise NightjarError(f"not UTF-8 at byte {error.start}", file, "save it as UTF-8") from None
