"""The DVC graph: its stages in order, which of them would run or be restored, and why. Reads dvc.yaml and
dvc.lock, runs nothing. Works in any DVC repository.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from pipelines.graph.changes import OPEN, Reason, State, Workspace
from pipelines.graph.keys import stage_keys
from pipelines.project.stage_name import StageName

if TYPE_CHECKING:
    from dvc.repo import Repo
    from dvc.stage import Stage as DvcStage

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


@dataclass(frozen=True)
class Graph:
    """The stages of a repository, each after those it needs."""

    root: Path
    stages: Mapping[str, Stage]

    def changed(self) -> list[str]:
        """Stages that are not up to date, or may not be once those before them have run."""
        return [name for name, stage in self.stages.items() if stage.state != "up to date"]

    def nearest(self, stage: Stage) -> list[str]:
        """The stages that the stage needs directly, without those that another of them needs."""
        further: set[str] = set()
        for name in reversed(list(self.stages)):
            if name in further or name in stage.upstream:
                further.update(self.stages[name].upstream)
        return [name for name in stage.upstream if name not in further]

    def only(self, targets: Iterable[str]) -> Graph:
        """The part of the graph that `targets` need, themselves included; all of it if there are none.

        A target is a stage's name, or a name before the @ for all its items. Raises NightjarError for any
        other.
        """
        wanted: set[str] = set()
        for target in targets:
            named = {name for name in self.stages if target in (name, StageName.of(name).group)}
            if not named:
                known = ", ".join(self.stages)
                raise NightjarError(
                    "no such stage", target, f"there are: {known}" if known else "see dvc.yaml"
                )
            wanted |= named
        if not wanted:
            return self
        for name in reversed(list(self.stages)):
            if name in wanted:
                wanted |= set(self.stages[name].upstream)
        return Graph(self.root, {name: stage for name, stage in self.stages.items() if name in wanted})


def read(folder: Path | None = None) -> Graph:
    """The graph of the DVC repository at `folder` (by default the current one) or above it.

    Raises NightjarError if there is none, or if dvc.yaml, dvc.lock or params.yaml cannot be read.
    """
    with opened(folder or Path()) as repo:
        return _read(repo, judged=True)


def outline(folder: Path | None = None) -> Graph:
    """The graph without states and reasons, and without a wait for DVC's lock. Raises NightjarError as `read` does."""
    with opened(folder or Path(), locked=False) as repo:
        return _read(repo, judged=False)


def outline_with(root: Path, file: Path, text: str) -> Graph:
    """The outline of the repository at `root`, as it would be if `file` had this text."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(root / "dvc.yaml", folder)
        for path, written in ((Path(".dvc/config"), "[core]\nno_scm = true\n"), (file, text)):
            write_text(Path(folder) / path, written)
        return Graph(root, outline(Path(folder)).stages)


def find_root() -> Path:
    """The root of the DVC repository at the current folder or above it. Raises NightjarError if there is none."""
    with opened(Path(), locked=False) as repo:
        return Path(repo.root_dir)


def opened(where: Path, locked: bool = True) -> AbstractContextManager[Repo]:
    """The DVC repository at `where`: see dvc_adapter.opened."""
    from pipelines.graph import dvc_adapter

    return dvc_adapter.opened(where, locked)


def _edges(repo: Repo) -> Any:
    """DVC's graph of the stages: each edge goes from a stage to one that it needs."""
    from dvc.repo.reproduce import get_active_graph

    return get_active_graph(repo.index.graph)


def given(stages: Iterable[DvcStage]) -> Iterator[Any]:
    """What stages read and none of them makes: dependencies, and data that were added or imported."""
    stages = list(stages)
    made = [Path(out.fs_path) for stage in stages if stage.cmd for out in stage.outs]
    for stage in stages:
        # DVC calls added and imported data the outputs of their .dvc file.
        for item in [] if stage.frozen and stage.cmd else stage.deps if stage.cmd else stage.outs:
            path = Path(item.fs_path)
            # A folder of outputs is made too, and so is what lies in an output.
            if not any(path.is_relative_to(out) or out.is_relative_to(path) for out in made):
                yield item


def inputs(root: Path, target: str, left_out: Collection[str] = ()) -> dict[str, str]:
    """DVC's hash of each path that the stage `target` and those before it read and none of them makes.

    Paths are relative to `root`, or absolute if they lie outside. Those in `left_out` are not hashed. Raises
    NightjarError if there is no such stage, or if an input is missing or is found from `root` alone (`../data`).
    """
    import networkx

    with opened(root) as repo:
        edges, workspace = _edges(repo), Workspace(repo)
        named = {workspace.name(stage): stage for stage in edges}
        if target not in named:
            fix = f"add it to dvc.yaml; there are: {', '.join(sorted(named)) or 'none'}"
            raise NightjarError("no such stage", target, fix)
        found: dict[str, set[str]] = {}
        for item in given([named[target], *networkx.descendants(edges, named[target])]):
            path = workspace.path(item)
            if path not in left_out:
                found.setdefault(path, set()).add(_input_hash(item, path))
    return {path: " ".join(sorted(hashes)) for path, hashes in sorted(found.items())}


def _input_hash(item: Any, path: str) -> str:
    if item.protocol == "local" and not item.is_in_repo and not Path(item.def_path).is_absolute():
        raise NightjarError("an input outside the project", item.def_path, "give its absolute path")
    try:
        return str(item.get_hash().value)  # of the keys that are read, if it is a parameter file
    except FileNotFoundError:
        raise NightjarError("an input is missing", path, "put it there, or mend dvc.yaml") from None


def _read(repo: Repo, judged: bool) -> Graph:
    import networkx

    edges, workspace = _edges(repo), Workspace(repo)
    order = list(networkx.lexicographical_topological_sort(edges.reverse(), key=workspace.name))
    keys = stage_keys(map(workspace.name, order))
    stages: dict[str, Stage] = {}
    for stage, (name, key) in zip(order, keys.items(), strict=True):
        upstream = tuple(sorted(workspace.name(other) for other in edges.successors(stage)))
        waits = [other for other in upstream if stages[other].state in OPEN]
        state, reasons = workspace.judge(stage, waits) if judged else ("up to date", ())
        stages[name] = Stage(
            name=name,
            command=stage.cmd if isinstance(stage.cmd, str) else "\n".join(stage.cmd or ()),
            description=(stage.desc or "").strip(),
            deps=tuple(workspace.path(dep) for dep in stage.deps if dep not in stage.params),
            outs=tuple(workspace.path(out) for out in stage.outs),
            metrics=tuple(workspace.path(out) for out in stage.outs if out.metric),
            params={workspace.path(dep): tuple(dep.params) for dep in stage.params},
            upstream=upstream,
            reasons=reasons,
            meta=stage.meta if isinstance(stage.meta, Mapping) else {},
            folder=workspace.relative(stage.wdir),
            state=state,
            key=key,
        )
    return Graph(Path(repo.root_dir), stages)
