"""Why a stage would not stay as it is: what changed, and from which value to which. Knows nothing of DVC."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from nightjar.core.display import counted_as

MISSING = object()
# Of a value that has none to compare with, in characters.
LONGEST = 60

# `missing`: a dependency or a parameter that the stage cannot run without.
Kind = Literal["new", "command", "parameter", "dependency", "output", "upstream", "always", "missing"]
# `follows`: it depends on a stage that runs, and DVC decides afterwards. `would be recorded`: DVC records in dvc.lock
# the files that exist, of a frozen stage or of data that were added by hand. `would be skipped`: it depends on a stage
# that would fail.
State = Literal[
    "up to date",
    "would run",
    "would be restored",
    "would be recorded",
    "would fail",
    "would be skipped",
    "follows",
]
# States of stages whose outputs will not be made, and of those whose future outputs are unknown.
NEVER: frozenset[State] = frozenset({"would fail", "would be skipped"})
OPEN: frozenset[State] = NEVER | {"would run", "follows"}


@dataclass(frozen=True)
class Reason:
    """Why a stage would not stay as it is: the kind of change, what changed, and both values where DVC has the old.

    The value of a path is DVC's `hash` with its `size` in bytes and the number of `files` of a folder, where known.
    """

    kind: Kind
    what: str
    old: Any = MISSING
    new: Any = MISSING

    def __str__(self) -> str:
        if self.old is MISSING and self.new is MISSING:
            return self.what
        texts = (
            isinstance(self.old, str) and isinstance(self.new, str) and self.old.split() != self.new.split()
        )
        show = _version_text if self.kind in ("dependency", "output") else _show
        old, new = (str(it) if texts and it else show(it) for it in (self.old, self.new))
        if MISSING in (self.old, self.new):  # a whole group may have been added or removed
            old, new = (_begun(it) for it in (old, new))
        return f"{self.what}: {old} → {new}"

    def as_json(self) -> dict[str, Any]:
        values = {name: value for name in ("old", "new") if (value := getattr(self, name)) is not MISSING}
        return {"kind": self.kind, "what": self.what, **values}


def differences(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """The leaves in which two values differ; a value that does not exist is MISSING."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from differences(f"{path}.{key}", old.get(key, MISSING), new.get(key, MISSING))
    elif old is MISSING or new is MISSING or old != new:
        yield path, old, new


def _version_text(value: Any) -> str:
    if value is MISSING:
        return _show(value)
    size = value.get("size")
    return value["hash"][:8] + ("" if size is None else f" ({counted_as(size, 'byte')})")


def _begun(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _show(value: Any) -> str:
    """The value as in a parameter file."""
    if value is MISSING:
        return "(nothing)"
    if isinstance(value, date):
        return str(value)
    return json.dumps(value, default=str, ensure_ascii=False)
