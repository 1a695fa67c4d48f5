"""Read any DVC repository: its graph, and what its stages read. DVC is loaded when a function is called."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from pipelines.graph.graph import Graph

if TYPE_CHECKING:
    from dvc.repo import Repo


def read(folder: Path | None = None) -> Graph:
    """The graph of the DVC repository at `folder` (by default the current one) or above it.

    Raises NightjarError if there is none, or if dvc.yaml, dvc.lock or params.yaml cannot be read.
    """
    return _read(folder, judged=True)


def outline(folder: Path | None = None) -> Graph:
    """The graph without states and reasons, and without a wait for DVC's lock. Raises NightjarError as `read` does."""
    return _read(folder, judged=False)


def _read(folder: Path | None, judged: bool) -> Graph:
    from pipelines.graph import dvc_adapter, dvc_status  # here, not above: DVC takes long to load

    with dvc_adapter.opened(folder or Path(), locked=judged) as project:
        return dvc_status.graph(project, judged)


def outline_with(root: Path, file: Path, text: str) -> Graph:
    """The outline of the repository at `root`, as it would be if `file` had this text."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(root / "dvc.yaml", folder)
        for path, written in ((Path(".dvc/config"), "[core]\nno_scm = true\n"), (file, text)):
            write_text(Path(folder) / path, written)
        return Graph(root, outline(Path(folder)).stages)


def find_root() -> Path:
    """The root of the DVC repository at the current folder or above it. Raises NightjarError if there is none."""
    current = Path.cwd()
    for folder in (current, *current.parents):
        if (folder / ".dvc").is_dir():
            return folder
    raise NightjarError("not a DVC repository", current, "run from the project's root")


@contextlib.contextmanager
def opened(where: Path, locked: bool = True) -> Iterator[Repo]:
    """DVC's object of the repository at `where`: see dvc_adapter.opened."""
    from pipelines.graph import dvc_adapter

    with dvc_adapter.opened(where, locked) as project:
        yield project.repo


def external_inputs(stages: Iterable[Any]) -> Iterator[Any]:
    """Yield what stages of DVC read and none of them makes: dependencies, and data that were added or imported."""
    stages = list(stages)
    produced = [Path(out.fs_path) for stage in stages if stage.cmd for out in stage.outs]
    for stage in stages:
        # DVC calls added and imported data the outputs of their .dvc file.
        for item in [] if stage.frozen and stage.cmd else stage.deps if stage.cmd else stage.outs:
            path = Path(item.fs_path)
            # A folder of outputs is made too, and so is what lies in an output.
            if not any(path.is_relative_to(out) or out.is_relative_to(path) for out in produced):
                yield item


def inputs(root: Path, target: str, left_out: Collection[str] = ()) -> dict[str, str]:
    """DVC's hash of each path that the stage `target` and those before it read and none of them makes.

    Paths are relative to `root`, or absolute if they lie outside. Those in `left_out` are not hashed. Raises
    NightjarError if there is no such stage, or if an input is missing or is found from `root` alone (`../data`).
    """
    import networkx

    from pipelines.graph import dvc_adapter

    with dvc_adapter.opened(root) as project:
        edges = project.edges()
        named = {project.name(stage): stage for stage in edges}
        if target not in named:
            fix = f"add it to dvc.yaml; there are: {', '.join(sorted(named)) or 'none'}"
            raise NightjarError("no such stage", target, fix)
        hashes_by_path: dict[str, set[str]] = {}
        for item in external_inputs([named[target], *networkx.descendants(edges, named[target])]):
            path = project.path(item)
            if path not in left_out:
                hashes_by_path.setdefault(path, set()).add(_input_hash(item, path))
    return {path: " ".join(sorted(hashes)) for path, hashes in sorted(hashes_by_path.items())}


def _input_hash(item: Any, path: str) -> str:
    if item.protocol == "local" and not item.is_in_repo and not Path(item.def_path).is_absolute():
        raise NightjarError("an input outside the project", item.def_path, "give its absolute path")
    try:
        return str(item.get_hash().value)  # of the keys that are read, if it is a parameter file
    except FileNotFoundError:
        raise NightjarError("an input is missing", path, "put it there, or fix dvc.yaml") from None
