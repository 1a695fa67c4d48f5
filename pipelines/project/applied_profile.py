"""The profile that `nightjar use` applied to a project: its name, its notes, and what a user added to params.yaml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nightjar.core import paths
from nightjar.core.config import read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_input
from nightjar.params import profile_values


def profile_notes(root: Path, profile: str) -> profile_values.About:
    """Return the notes of `profile` and of those it extends. Raises NightjarError as `profiles.apply` does."""
    return profile_values.apply(read_yaml(root / profile_values.DEFAULTS), root, profile)


def applied(root: Path) -> str:
    """The profile that `nightjar use` applied; empty without one, or where the file that names it is damaged."""
    try:
        check_input(root / paths.PROFILE)
        return (root / paths.PROFILE).read_text(encoding="utf-8").strip()
    except (OSError, ValueError, NightjarError):
        return ""


def applied_targets(root: Path) -> list[str]:
    """The stages that the profile which `nightjar use` applied is for; none, for all, without such a profile."""
    try:
        return profile_notes(root, applied(root)).targets
    except (OSError, ValueError, NightjarError):
        return []


def added_by_user(root: Path, changed: Iterable[profile_values.Change]) -> list[str]:
    """The removed keys that no profile of the project at `root` has: a user added them to params.yaml."""
    removed = [change.key for change in changed if change.kind == "removed"]
    if not removed:
        return []
    all_entries = []
    for name in profile_values.names(root):
        with suppress(NightjarError):
            all_entries.append(profile_values.values(root, name))
    return [key for key in removed if not any(_has(values, key) for values in all_entries)]


def _has(values: Any, key: str) -> bool:
    for name in key.split("."):
        if not isinstance(values, Mapping) or name not in values:
            return False
        values = values[name]
    return True
