"""The DVC graph: its stages in order, which of them would run, and why. Reads dvc.yaml and dvc.lock, runs
nothing.

Works in any DVC repository. DVC compares a stage with dvc.lock by its command, parameters, dependencies and
outputs; the same four are compared here through DVC's own objects, with the old and the new value where DVC
has written the old one down.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from stages.errors import NightjarError

if TYPE_CHECKING:
    from dvc.repo import Repo
    from dvc.stage import Stage as DvcStage

UNTOLD = object()
# How many stages before it a stage names when they are why it would run.
SHOWN = 3

Kind = Literal["new", "command", "parameter", "dependency", "output", "upstream", "always"]


@dataclass(frozen=True)
class Reason:
    """Why a stage would run: the kind of change, what changed, and from what to what where that is known."""

    kind: Kind
    what: str
    old: Any = UNTOLD
    new: Any = UNTOLD

    def __str__(self) -> str:
        if self.old is UNTOLD and self.new is UNTOLD:
            return self.what
        return f"{self.what}: {_show(self.old)} → {_show(self.new)}"

    def as_json(self) -> dict[str, Any]:
        values = {name: value for name in ("old", "new") if (value := getattr(self, name)) is not UNTOLD}
        return {"kind": self.kind, "what": self.what, **values}


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

    @property
    def why(self) -> str:
        """All reasons in one line; empty if the stage would not run."""
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
        """Stages that would run, or may have to because something before them does."""
        return [name for name, stage in self.stages.items() if stage.reasons]

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
    from dvc.exceptions import DvcException, NotDvcRepoError
    from dvc.repo import Repo, lock_repo

    where = folder or Path()
    try:
        with Repo(str(where), _wait_for_lock=True) as repo, lock_repo(repo):
            return _read(repo)
    except NotDvcRepoError:
        raise NightjarError("not a DVC repository", where.absolute(), "run from the project's root") from None
    except DvcException as error:
        text = " ".join(str(part) for part in (error, error.__cause__) if part)
        raise NightjarError(
            " ".join(text.split())[:500], where.absolute(), "mend dvc.yaml, or see `dvc status`"
        ) from None


def _read(repo: Repo) -> Graph:
    import networkx
    from dvc.repo.reproduce import get_active_graph

    # DVC draws an edge from a stage to what it needs.
    edges = get_active_graph(repo.index.graph)
    order = list(
        networkx.lexicographical_topological_sort(edges.reverse(), key=lambda stage: _name(repo, stage))
    )
    stages: dict[str, Stage] = {}
    for stage in order:
        upstream = tuple(sorted(_name(repo, other) for other in edges.successors(stage)))
        made = {path: name for name in upstream for path in stages[name].outs}
        will = [name for name in upstream if stages[name].reasons]
        reasons = tuple(_reasons(repo, stage, made, will))
        stages[_name(repo, stage)] = _stage(repo, stage, upstream, reasons)
    return Graph(Path(repo.root_dir), stages)


def _stage(repo: Repo, stage: DvcStage, upstream: tuple[str, ...], reasons: tuple[Reason, ...]) -> Stage:
    command = stage.cmd if isinstance(stage.cmd, str) else "\n".join(stage.cmd or ())
    params = {_path(repo, dep): tuple(dep.params) for dep in stage.params}
    return Stage(
        name=_name(repo, stage),
        command=command,
        description=(stage.desc or "").strip(),
        deps=tuple(_path(repo, dep) for dep in stage.deps if dep not in stage.params),
        outs=tuple(_path(repo, out) for out in stage.outs),
        metrics=tuple(_path(repo, out) for out in stage.outs if out.metric),
        params=params,
        upstream=upstream,
        reasons=reasons,
        meta=stage.meta if isinstance(stage.meta, Mapping) else {},
    )


def _name(repo: Repo, stage: DvcStage) -> str:
    """What DVC calls the stage when it is started in the root, wherever we are."""
    name = getattr(stage, "name", None)
    file = Path(stage.path).relative_to(repo.root_dir).as_posix()
    if name is None:
        return file
    return str(name) if file == "dvc.yaml" else f"{file}:{name}"


def _path(repo: Repo, item: Any) -> str:
    """A dependency's or output's path from the root; as written if it lies outside."""
    if item.is_in_repo:
        return Path(item.fs_path).relative_to(repo.root_dir).as_posix()
    return str(item)


def _reasons(repo: Repo, stage: DvcStage, made: Mapping[str, str], will: list[str]) -> Iterable[Reason]:
    """Why the stage would run. `made` are the paths its upstream stages make, `will` those of them that
    run.
    """
    locked = _locked(stage)
    if stage.is_callback or (stage.always_changed and not stage.frozen):
        yield Reason("always", "runs every time")
    if stage.cmd and locked is None:
        yield Reason("new", "never run")
    else:
        if stage.cmd and locked is not None and stage.changed_stage():
            yield Reason("command", "command", locked.get("cmd"), stage.cmd)
        elif not stage.cmd and stage.changed_stage():
            yield Reason("command", "its .dvc file changed")
        if not stage.frozen:
            yield from _changed_deps(repo, stage, made, will)
        for out in stage.outs:
            for state in out.status().values():
                yield Reason("output", f"output {_path(repo, out)} {_word(state)}")
    for name in will:
        yield Reason("upstream", name)


def _locked(stage: DvcStage) -> dict[str, Any] | None:
    """What dvc.lock says of a stage of dvc.yaml; None if nothing."""
    name = getattr(stage, "name", None)
    if name is None:
        return {}
    stages: dict[str, Any] = (stage.dvcfile.lockfile_contents or {}).get("stages", {})
    return stages.get(name)


def _changed_deps(repo: Repo, stage: DvcStage, made: Mapping[str, str], will: list[str]) -> Iterable[Reason]:
    for dep in stage.deps:
        path = _path(repo, dep)
        if dep in stage.params:
            yield from _changed_params(dep, path)
            continue
        if made.get(path) in will:
            continue  # what it is now says nothing of what it will be
        for state in dep.status().values():
            yield Reason("dependency", f"{path} {_word(state)}")


def _changed_params(dep: Any, file: str) -> Iterable[Reason]:
    status = dep.status().get(str(dep))
    if not status:
        return
    if isinstance(status, str):
        yield Reason("parameter", f"{file} {_word(status)}")
        return
    old, new = dep.hash_info.value or {}, dep.read_params()
    for key in status:
        for path, before, after in _differences(key, old.get(key, UNTOLD), new.get(key, UNTOLD)):
            yield Reason("parameter", path, before, after)


def _differences(path: str, old: Any, new: Any) -> Iterable[tuple[str, Any, Any]]:
    """The leaves in which two values differ; a value that is not there is UNTOLD."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _differences(f"{path}.{key}", old.get(key, UNTOLD), new.get(key, UNTOLD))
    elif old is UNTOLD or new is UNTOLD or old != new:
        yield path, old, new


def _word(state: str) -> str:
    words = {
        "modified": "changed",
        "deleted": "is missing",
        "new": "is new",
        "not in cache": "is not in the cache",
    }
    return words.get(state, state)


def _show(value: Any) -> str:
    if value is UNTOLD:
        return "(nothing)"
    return value if isinstance(value, str) and value else json.dumps(value, default=str, ensure_ascii=False)
