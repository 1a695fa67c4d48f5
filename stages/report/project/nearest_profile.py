"""The profile that parameters are nearest to, and the keys that differ from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.params import profile_values

# The profile of params.yaml in Git.
SAMPLE = "sample"


def nearest_profile(
    root: Path, present: Mapping[str, Any]
) -> tuple[str | None, list[profile_values.Change], list[str]]:
    """Return the profile with the fewest keys that differ from `present`, those keys, and a line a broken profile.

    Only groups in `present` are compared. Of profiles equally near, the sample comes first, then the alphabet. The
    name is None where no profile can be read.
    """
    profile: tuple[str | None, list[profile_values.Change]] = (None, [])
    unreadable = []
    for name in sorted(profile_values.names(root), key=lambda name: (name != SAMPLE, name)):
        try:
            of_profile = profile_values.values(root, name)
        except NightjarError as error:
            unreadable.append(str(error))
            continue
        differing = list(profile_values.changes({key: of_profile.get(key) for key in present}, present))
        if profile[0] is None or len(differing) < len(profile[1]):
            profile = (name, differing)
    return *profile, unreadable
