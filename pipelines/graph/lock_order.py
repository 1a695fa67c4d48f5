"""The order of the entries in dvc.lock: stages that run side by side leave the order of `dvc repro`.

DVC keeps the place of an entry that exists and appends a new one when its stage ends. `remember` records the entries
that a rebuild finds and the order in which DVC would run all stages, and `placing` gives a new entry its place among
those that were added since. The record is removed when a rebuild has finished, so a rebuild that was interrupted and
then finished leaves the file of a single one.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from nightjar.core import paths
from nightjar.core.files import write_text
from nightjar.core.json_text import recorded

# Of each lock file: the names of its entries.
Names = Mapping[str, Iterable[str]]


def remember(root: Path, entries: Names, plan: Names) -> None:
    """Record the `entries` that a rebuild finds, or that the interrupted rebuild found before, and DVC's `plan`."""
    before, found = recorded(root / paths.LOCK_ORDER), {}
    for file, names in entries.items():
        now = list(names)
        kept, _ = _of(before, file) or (now, [])
        found[file] = {"found": kept if now[: len(kept)] == kept else now, "plan": list(plan[file])}
    write_text(root / paths.LOCK_ORDER, json.dumps(found))


def forget(root: Path) -> None:
    """Remove the record: the rebuild has finished."""
    (root / paths.LOCK_ORDER).unlink(missing_ok=True)


def placing(root: Path, path: Path, name: str) -> Callable[[list[str]], int]:
    """What gives the index of the new entry `name` among the names of the entries of the lock file `path`.

    It follows those that were found and those that DVC runs before it. Without a record it is the last.
    """
    return functools.partial(_place, root, path, name)


def _place(root: Path, path: Path, name: str, names: list[str]) -> int:
    found, plan = _of(recorded(root / paths.LOCK_ORDER), path.relative_to(root).as_posix()) or ([], [])
    rank = {it: at for at, it in enumerate(plan)}
    if names[: len(found)] != found or name not in rank:  # no rebuild, or another dvc.lock
        return len(names)
    later = (at for at in range(len(found), len(names)) if rank.get(names[at], 0) > rank[name])
    return next(later, len(names))


def _of(record: dict[str, Any], file: str) -> tuple[list[str], list[str]] | None:
    """What was found in a lock file, and the plan; None where the record is missing or damaged."""
    value = record.get(file)
    value = value if isinstance(value, dict) else {}
    lists = [it for key in ("found", "plan") if isinstance(it := value.get(key), list)]
    if len(lists) < 2:
        return None
    found, plan = ([str(name) for name in names] for names in lists)
    return found, plan
