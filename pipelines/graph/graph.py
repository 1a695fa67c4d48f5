"""The DVC graph: its stages in order, which of them would run or be restored, and why. Reads dvc.yaml and
dvc.lock, runs nothing. Works in any DVC repository.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import write_text
from pipelines.graph.changes import OPEN, Reason, State, Workspace
from pipelines.graph.keys import stage_keys

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
    # What dvc.yaml says under `meta`: DVC keeps it and makes nothing of it.
    meta: Mapping[str, Any] = field(default_factory=dict)
    # Where its command runs.
    folder: str = "."
    state: State = "up to date"
    # Of its artifacts in the Prefect UI; no other stage of the graph has it.
    key: str = ""

    @property
    def waits(self) -> tuple[str, ...]:
        """The stages it needs directly of which nobody knows yet what they will make."""
        return tuple(reason.what for reason in self.reasons if reason.kind == "upstream")

    @property
    def why(self) -> str:
        """All reasons in one line; empty if the stage is up to date."""
        own = [str(reason) for reason in self.reasons if reason.kind != "upstream"]
        before = self.waits
        more = f" and {len(before) - SHOWN} more" if len(before) > SHOWN else ""
        needs = [f"needs {', '.join(before[:SHOWN])}{more}"] if before else []
        return "; ".join([*own, *needs])


@dataclass(frozen=True)
class Graph:
    """The stages of a repository, each after those it needs."""

    root: Path
    stages: Mapping[str, Stage]

    def changed(self) -> list[str]:
        """Stages that are not up to date, or may turn out not to be when what is before them has run."""
        return [name for name, stage in self.stages.items() if stage.state != "up to date"]

    def downstream(self, name: str) -> set[str]:
        """Everything that needs `name`, near or far."""
        found: set[str] = set()
        for other, stage in self.stages.items():
            if name in stage.upstream or found & set(stage.upstream):
                found.add(other)
        return found

    def nearest(self, stage: Stage) -> list[str]:
        """What the stage needs, without what it needs by way of another."""
        return [name for name in stage.upstream if not self.downstream(name) & set(stage.upstream)]

    def only(self, targets: Iterable[str]) -> Graph:
        """The part of the graph that `targets` need, themselves included; all of it if there are none.

        A target is a stage's name, or a name before the @ for all its items. Raises NightjarError for any
        other.
        """
        wanted: set[str] = set()
        for target in targets:
            named = {name for name in self.stages if name == target or name.split("@")[0] == target}
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
        return _read(repo)


def outline(folder: Path | None = None) -> Graph:
    """The graph as `read` gives it, without a look at what has changed: no state, no reasons, and no wait for DVC's
    lock. Raises NightjarError as `read` does.
    """
    with opened(folder or Path(), locked=False) as repo:
        return _read(repo, judged=False)


def outline_with(root: Path, file: Path, text: str) -> Graph:
    """The outline of the repository at `root`, as it would be if `file` had this text."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(root / "dvc.yaml", folder)
        for path, written in ((Path(".dvc/config"), "[core]\nno_scm = true\n"), (file, text)):
            write_text(Path(folder) / path, written)
        return replace(outline(Path(folder)), root=root)


def find_root() -> Path:
    """The root of the DVC repository at the current folder or above it. Raises NightjarError if there is none."""
    from dvc.exceptions import NotDvcRepoError
    from dvc.repo import Repo

    from pipelines.graph.dvc_adapter import no_repository

    try:
        return Path(Repo.find_root())
    except NotDvcRepoError:
        raise no_repository(Path()) from None


def opened(where: Path, locked: bool = True) -> AbstractContextManager[Repo]:
    """The DVC repository at `where`: see dvc_adapter.opened."""
    from pipelines.graph import dvc_adapter

    return dvc_adapter.opened(where, locked)


def _edges(repo: Repo) -> Any:
    """DVC's graph of the stages: each edge goes from a stage to one that it needs."""
    from dvc.repo.reproduce import get_active_graph

    with _readable("the graph", repo.root_dir):
        return get_active_graph(repo.index.graph)


@contextlib.contextmanager
def _readable(what: str, where: object) -> Iterator[None]:
    """What DVC raises on values that it does not expect, such as a date or an empty path, as one line."""
    from dvc_data.hashfile.build import IgnoreInCollectedDirError as Ignored

    try:
        yield
    except (ValueError, TypeError, RecursionError, AssertionError, ImportError, OSError, Ignored) as error:
        if isinstance(error, FileNotFoundError):
            raise
        if isinstance(error, OSError) and (line := from_os_error(error, where)):
            raise line from None
        told = " ".join(str(error).split())[:300] or "perhaps an empty path, name or key"
        fix = "mend dvc.yaml or params.yaml"
        if isinstance(error, ImportError):  # of the storage of a dependency or an output
            fix = "install it, or name a local path in dvc.yaml"
        raise NightjarError(f"DVC cannot read {what} ({told})", where, fix) from None


def inputs(root: Path, target: str, left_out: Collection[str] = ()) -> dict[str, str]:
    """What the stage `target` and those before it read and none of them makes: DVC's hash of each path.

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
        needed = [named[target], *networkx.descendants(edges, named[target])]
        made = {Path(workspace.path(out)) for stage in needed if stage.cmd for out in stage.outs}
        found: dict[str, set[str]] = {}
        for stage in needed:
            # Data that were added or imported are what their .dvc file calls an output.
            for item in [] if stage.frozen and stage.cmd else stage.deps if stage.cmd else stage.outs:
                path = workspace.path(item)
                part = any(Path(path).is_relative_to(out) or out.is_relative_to(path) for out in made)
                if path not in left_out and not part:
                    found.setdefault(path, set()).add(_input_hash(item, path))
    return {path: " ".join(sorted(hashes)) for path, hashes in sorted(found.items())}


def _input_hash(item: Any, path: str) -> str:
    if item.protocol == "local" and not item.is_in_repo and not Path(item.def_path).is_absolute():
        raise NightjarError("an input outside the project", item.def_path, "give its absolute path")
    try:
        with _readable("an input", path):
            return str(item.get_hash().value)  # of the keys that are read, if it is a parameter file
    except FileNotFoundError:
        raise NightjarError("an input is missing", path, "put it there, or mend dvc.yaml") from None


def _read(repo: Repo, judged: bool = True) -> Graph:
    import networkx

    edges, workspace = _edges(repo), Workspace(repo)
    order = networkx.lexicographical_topological_sort(edges.reverse(), key=workspace.name)
    stages: dict[str, Stage] = {}
    for stage in order:
        upstream = tuple(sorted(workspace.name(other) for other in edges.successors(stage)))
        waits = [name for name in upstream if stages[name].state in OPEN]
        with _readable(f"the stage {workspace.name(stage)}", repo.root_dir):
            state, reasons = workspace.judge(stage, waits) if judged else ("up to date", ())
        stages[workspace.name(stage)] = _stage(workspace, stage, upstream, state, reasons)
    keys = stage_keys(stages)
    return Graph(
        Path(repo.root_dir), {name: replace(stage, key=keys[name]) for name, stage in stages.items()}
    )


def _stage(
    workspace: Workspace,
    stage: DvcStage,
    upstream: tuple[str, ...],
    state: State,
    reasons: tuple[Reason, ...],
) -> Stage:
    command = stage.cmd if isinstance(stage.cmd, str) else "\n".join(stage.cmd or ())
    params = {workspace.path(dep): tuple(dep.params) for dep in stage.params}
    return Stage(
        name=workspace.name(stage),
        command=command,
        description=(stage.desc or "").strip(),
        deps=tuple(workspace.path(dep) for dep in stage.deps if dep not in stage.params),
        outs=tuple(workspace.path(out) for out in stage.outs),
        metrics=tuple(workspace.path(out) for out in stage.outs if out.metric),
        params=params,
        upstream=upstream,
        state=state,
        reasons=reasons,
        meta=stage.meta if isinstance(stage.meta, Mapping) else {},
        folder=workspace.relative(stage.wdir),
    )
