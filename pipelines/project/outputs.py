"""The places where a command may write: the one rule for every output that a user names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE, read_optional
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import check_place
from pipelines.project.names import GRAPH

# Folders of tools, wherever they are.
TOOLS = frozenset({".git", ".dvc", ".venv", paths.OWN.name})
# What a project has beside the outputs of its stages.
OWN = (
    "bench", "docs", "nightjar", "pipelines", "profiles", "stages", "tests", paths.LEDGER.as_posix(),
    paths.SAMPLE.as_posix(), paths.STUDIES.as_posix(), "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile",
    "README.md", "dvc.lock", GRAPH, PARAMS_FILE.name, "prefect.yaml", "pyproject.toml", "requirements.lock",
)  # fmt: skip


def check(path: Path) -> None:
    """Raise NightjarError if `path` is among a project's own files or outputs of DVC, holds them, or is in a folder of
    a tool; also if nothing can be made there. Links on the way are followed; what is at `path` is not looked at.
    """
    try:
        check_place(path)
    except OSError as error:
        raise from_os_error(error, path) or error from None
    # Not `Path.resolve`, which raises for links in a circle. The last name may be /dev/stdout.
    place = Path(os.path.realpath(path.parent), path.name)
    if path.name in ("", ".."):
        place = Path(os.path.realpath(path))
    root = next(filter(_is_project, place.parents), None)
    inside, current = place.relative_to(root or place.anchor), Path.cwd()
    holds = _is_project(current) and current.is_relative_to(place)
    if holds or (root and any(_overlap(inside, project_path) for project_path in _project_paths(root))):
        raise NightjarError("the project's own files are there", path, "name a place beside them")
    if TOOLS & set(inside.parts) or (root and inside.name and inside.parts[0].startswith(".")):
        raise NightjarError("a folder of Git, DVC, Python or Nightjar", path, "name a place elsewhere")
    candidates = (it for it in (place, *place.parents) if it.name and os.path.lexists(f"{it}.dvc"))
    if versioned := next(candidates, None):
        raise NightjarError(f"DVC keeps {versioned.name}", path, "name a place elsewhere")


def _is_project(folder: Path) -> bool:
    """Return whether a folder is that of a project, or of an evaluation, which has no graph."""
    return (folder / PARAMS_FILE).is_file() or (folder / GRAPH).is_file()


def _overlap(a: Path, b: Path) -> bool:
    return a.is_relative_to(b) or b.is_relative_to(a)


def _project_paths(root: Path) -> Iterator[Path]:
    yield from map(Path, OWN)
    try:
        stages = read_optional(root / GRAPH)["stages"].values()
        outputs = [out for stage in stages for out in _outputs(stage.get("do", stage))]
    except (NightjarError, AttributeError, KeyError, TypeError):
        outputs = ["data", "models"]
    yield from map(Path, outputs)


def _outputs(stage: dict[str, Any]) -> Iterator[str]:
    """Yield the outputs of a stage of dvc.yaml; of names with variables, the folder before the first."""
    for key in ("outs", "metrics", "plots"):
        for item in stage.get(key) or ():
            name = item if isinstance(item, str) else next(iter(item))
            prefix, variable, _ = name.partition("${")
            if prefix := prefix.rpartition("/")[0] if variable else prefix:
                yield prefix
