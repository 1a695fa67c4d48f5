"""Print requirements.lock: what is installed here, as constraints. `make lock` calls it.

Names and versions only, sorted: no addresses, not this project itself, and without the local part of a
version (torch 2.13.0+cpu is 2.13.0), so that pip takes the build that suits each machine.
"""

from __future__ import annotations

import re
from importlib.metadata import distributions

# Installers: they belong to the environment, not to the project.
LEFT_OUT = frozenset({"nightjar", "pip", "setuptools", "wheel"})


def lines() -> list[str]:
    """One `name==version` for each installed distribution, sorted by normalised name."""
    found = {}
    for distribution in distributions():
        name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
        if name not in LEFT_OUT:
            found[name] = distribution.version.partition("+")[0]
    return [f"{name}=={version}" for name, version in sorted(found.items())]


if __name__ == "__main__":
    print("\n".join(lines()))
