"""The DVC graph: its stages in order, which of them would run or be restored, and why. DVC is loaded only by what reads
a repository. Works in any DVC repository.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from pipelines.graph.changes import Reason, State
from pipelines.project.names import StageName

if TYPE_CHECKING:
    from dvc.repo import Repo

# How many stages before it a stage names when they are why it would run.
SHOWN = 3


@dataclass(frozen=True)
class Stage:
    """One stage as dvc.yaml has it. Paths are relative to the repository's root, with forward slashes."""

    name: str
    command: str
    description: str
    deps: tuple[str, ...]
    outs: tuple[str, ...]
    metrics: tuple[str, ...]
    params: Mapping[str, tuple[str, ...]]
    upstream: tuple[str, ...]
    reasons: tuple[Reason, ...]
    # What dvc.yaml has under `meta`. DVC does not use it.
    meta: Mapping[str, Any] = field(default_factory=dict)
    # Where its command runs.
    folder: str = "."
    state: State = "up to date"
    # Of its artifacts in the Prefect UI; no other stage of the graph has it.
    key: str = ""

    @property
    def why(self) -> str:
        """All reasons in one line; empty if the stage is up to date."""
        own = [str(reason) for reason in self.reasons if reason.kind != "upstream"]
        before = [reason.what for reason in self.reasons if reason.kind == "upstream"]
        more = f" and {len(before) - SHOWN} more" if len(before) > SHOWN else ""
        needs = [f"needs {', '.join(before[:SHOWN])}{more}"] if before else []
        return "; ".join([*own, *needs])

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "reasons": [reason.as_json() for reason in self.reasons]}

    @classmethod
    def of_json(cls, row: Mapping[str, Any]) -> Self:
        """The stage that `as_json` gave."""
        lists = {name: tuple(row[name]) for name in ("deps", "outs", "metrics", "upstream")}
        params = {file: tuple(keys) for file, keys in row["params"].items()}
        reasons = tuple(Reason(**reason) for reason in row["reasons"])
        return cls(**{**row, **lists, "params": params, "reasons": reasons})


@dataclass(frozen=True)
class Graph:
    """The stages of a repository, each after those it needs."""

    root: Path
    stages: Mapping[str, Stage]

    def as_json(self) -> dict[str, Any]:
        return {"root": str(self.root), "stages": [stage.as_json() for stage in self.stages.values()]}

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> Self:
        """The graph that `as_json` gave."""
        stages = map(Stage.of_json, value["stages"])
        return cls(Path(value["root"]), {stage.name: stage for stage in stages})

    def changed(self) -> list[str]:
        """Stages that are not up to date, or may not be once those before them have run."""
        return [name for name, stage in self.stages.items() if stage.state != "up to date"]

    def only(self, targets: Iterable[str]) -> Graph:
        """The part of the graph that `targets` need, themselves included; all of it if there are none.

        A target is a stage's name, or a name before the @ for all its items. Raises NightjarError for any
        other.
        """
        selected: set[str] = set()
        for target in targets:
            named = {name for name in self.stages if target in (name, StageName.of(name).group)}
            if not named:
                known = ", ".join(self.stages)
                raise NightjarError(
                    "no such stage", target, f"there are: {known}" if known else "see dvc.yaml"
                )
            selected |= named
        if not selected:
            return self
        for name in reversed(list(self.stages)):
            if name in selected:
                selected |= set(self.stages[name].upstream)
        return Graph(self.root, {name: stage for name, stage in self.stages.items() if name in selected})


def read(folder: Path | None = None) -> Graph:
    """The graph of the DVC repository at `folder` (by default the current one) or above it.

    Raises NightjarError if there is none, or if dvc.yaml, dvc.lock or params.yaml cannot be read.
    """
    return _read(folder or Path(), judged=True)


def outline(folder: Path | None = None) -> Graph:
    """The graph without states and reasons, and without a wait for DVC's lock. Raises NightjarError as `read` does."""
    return _read(folder or Path(), judged=False)


def _read(folder: Path, judged: bool) -> Graph:
    from pipelines.graph import dvc_adapter, dvc_status  # here, not above: DVC takes long to load

    with dvc_adapter.opened(folder, locked=judged) as project:
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
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / ".dvc").is_dir():
            return folder
    raise NightjarError("not a DVC repository", here, "run from the project's root")


@contextlib.contextmanager
def opened(where: Path, locked: bool = True) -> Iterator[Repo]:
    """DVC's object of the repository at `where`: see dvc_adapter.opened."""
    from pipelines.graph import dvc_adapter

    with dvc_adapter.opened(where, locked) as project:
        yield project.repo


def external_inputs(stages: Iterable[Any]) -> Iterator[Any]:
    """What stages of DVC read and none of them makes: see dvc_status.external_inputs."""
    from pipelines.graph import dvc_status

    return dvc_status.external_inputs(stages)


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
        found: dict[str, set[str]] = {}
        for item in external_inputs([named[target], *networkx.descendants(edges, named[target])]):
            path = project.path(item)
            if path not in left_out:
                found.setdefault(path, set()).add(_input_hash(item, path))
    return {path: " ".join(sorted(hashes)) for path, hashes in sorted(found.items())}


def _input_hash(item: Any, path: str) -> str:
    if item.protocol == "local" and not item.is_in_repo and not Path(item.def_path).is_absolute():
        raise NightjarError("an input outside the project", item.def_path, "give its absolute path")
    try:
        return str(item.get_hash().value)  # of the keys that are read, if it is a parameter file
    except FileNotFoundError:
        raise NightjarError("an input is missing", path, "put it there, or fix dvc.yaml") from None
