"""The place of the files that come with Nightjar beside its packages: dvc.yaml and the profiles."""

from __future__ import annotations

from importlib.metadata import files
from pathlib import Path

from nightjar.core.errors import NightjarError

_GRAPH = "dvc.yaml"


def packaged_folder() -> Path:
    """The folder with dvc.yaml and profiles: Nightjar's checkout, or where pip put them."""
    checkout = Path(__file__).parents[2]
    if (checkout / _GRAPH).is_file():
        return checkout
    for file in files("nightjar") or ():
        if file.name == _GRAPH:
            return Path(str(file.locate())).resolve().parent
    raise NightjarError("the dvc.yaml of Nightjar is missing", checkout, "install Nightjar again")
