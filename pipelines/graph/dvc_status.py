"""What DVC would do about each stage (nothing, run its command, or restore its earlier outputs), and why.

DVC compares a stage with dvc.lock by its command, parameters, dependencies and outputs. The same four are compared
here with DVC's objects, each path hashed once. The outputs of a stage that would be restored are known before they
exist; those of a stage that would run are not.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import networkx
from dvc.dependency import ParamsDependency
from dvc.output import Output
from dvc.stage import PipelineStage
from dvc.stage import Stage as DvcStage
from dvc.stage.cache import _get_cache_hash
from dvc.stage.loader import StageLoader
from dvc.stage.serialize import to_single_stage_lockfile

from pipelines.graph.changes import OPEN, UNTOLD, Reason, State, differences
from pipelines.graph.dvc_adapter import Files, Project
from pipelines.graph.graph import Graph, Stage
from pipelines.graph.keys import stage_keys

# DVC's words for the state of a dependency or an output.
WORDS = {
    "modified": "changed",
    "deleted": "is missing",
    "new": "is new",
    "not in cache": "is not in the cache",
}


def graph(project: Project, judged: bool = True) -> Graph:
    """The graph of a project; without a wait for its lock, and without states and reasons, if it is not `judged`."""
    with project.locked() if judged else contextlib.nullcontext():
        return _graph(project, judged)


def _graph(project: Project, judged: bool) -> Graph:
    edges, status = project.edges(anew=True), Status(project)  # judging changes the objects
    order = list(networkx.lexicographical_topological_sort(edges.reverse(), key=project.name))
    keys = stage_keys(map(project.name, order))
    stages: dict[str, Stage] = {}
    for stage, (name, key) in zip(order, keys.items(), strict=True):
        upstream = tuple(sorted(project.name(other) for other in edges.successors(stage)))
        waits = [other for other in upstream if stages[other].state in OPEN]
        state, reasons = status.judge(stage, waits) if judged else ("up to date", ())
        stages[name] = Stage(
            name=name,
            command=stage.cmd if isinstance(stage.cmd, str) else "\n".join(stage.cmd or ()),
            description=(stage.desc or "").strip(),
            deps=tuple(project.path(dep) for dep in stage.deps if dep not in stage.params),
            outs=tuple(project.path(out) for out in stage.outs),
            metrics=tuple(project.path(out) for out in stage.outs if out.metric),
            params={project.path(dep): tuple(dep.params) for dep in stage.params},
            upstream=upstream,
            reasons=reasons,
            meta=stage.meta if isinstance(stage.meta, Mapping) else {},
            folder=project.relative(stage.wdir),
            state=state,
            key=key,
        )
    return Graph(project.root, stages)


def look(project: Project, name: str) -> tuple[State, str]:
    """What DVC would do with the stage `name` now, and why. Raises as dvc_run.begin does."""
    with project.locked():
        state, reasons = Status(project).judge(project.stage(name), [])
        return state, "; ".join(map(str, reasons))


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


class Status:
    """The states of the stages of a project, whose lock is held. Stages must be judged in the order of the graph."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._hashes: dict[tuple[str, str], tuple[Any, Any]] = {}
        # By path: outputs that will be restored, and those that are unknown.
        self._restored: dict[str, Any] = {}
        self._open: set[str] = set()

    def judge(self, stage: DvcStage, before: Iterable[str]) -> tuple[State, tuple[Reason, ...]]:
        """What DVC would do about the stage, and why. The objects of the stage are changed.

        `before` names the stages it needs directly whose outputs are unknown.
        """
        reasons = tuple(self._reasons(stage))
        parts = [] if stage.frozen else [name for dep in stage.deps for name in self._parts(dep)]
        waits = tuple(Reason("upstream", name) for name in dict.fromkeys([*before, *parts]))
        state = self._state(stage, reasons, bool(waits))
        if state in OPEN:
            self._open.update(out.fs_path for out in stage.outs)
        elif state == "would be restored":
            self._restored.update((out.fs_path, out) for out in stage.outs)
        return state, reasons + waits

    def _state(self, stage: DvcStage, reasons: tuple[Reason, ...], waits: bool) -> State:
        if not reasons:
            return "follows" if waits else "up to date"
        if stage.frozen or not (stage.cmd or stage.is_import):
            return "would be recorded" if all(out.exists for out in stage.outs) else "would fail"
        if any(reason.kind == "missing" for reason in reasons):
            return "would fail"
        if waits and all(reason.kind == "output" for reason in reasons):
            return "follows"  # if its dependencies remain as they were, its outputs are restored
        return "would be restored" if stage.cmd and not waits and self._restore(stage) else "would run"

    def _restore(self, stage: DvcStage) -> bool:
        """Whether DVC would restore the outputs, as StageCache.restore decides; they then have the hashes of that."""
        if not in_run_cache(stage):
            return False
        now = [(dep, *self._now(dep)) for dep in stage.deps]
        same = not stage.changed_stage() and all(dep.hash_info == found for dep, _, found in now)
        if not (same and all(out.hash_info for out in stage.outs)):
            for dep, meta, found in now:
                dep.meta, dep.hash_info = meta, found
            entry = kept_run(stage)
            if entry is None:
                return False
            StageLoader.fill_from_lock(stage, entry)
        for out in stage.outs:
            # DVC also has copies of outputs with `cache: false`, such as metrics, in its cache.
            out.use_cache = True
        return bool(stage.outs_cached())

    def _now(self, item: Any) -> tuple[Any, Any]:
        """DVC's Meta and HashInfo of what the item holds now or once it is restored. Raises FileNotFoundError."""
        if isinstance(item, ParamsDependency):
            return item.meta, item.get_hash()
        if item.IS_DEPENDENCY and (out := self._restored.get(item.fs_path)):
            return out.meta, out.hash_info
        key = (item.fs_path, item.hash_name)
        if key not in self._hashes:
            self._hashes[key] = item._get_hash_meta()
        return self._hashes[key]

    def _parts(self, dep: Any) -> list[str]:
        """The stages to be restored whose outputs are a part of the dependency, or around it: what it will hold is
        unknown.
        """
        return [
            self._project.name(out.stage)
            for path, out in self._restored.items()
            if _overlap(path, dep.fs_path) and (path != dep.fs_path or isinstance(dep, ParamsDependency))
        ]

    def _reasons(self, stage: DvcStage) -> Iterator[Reason]:
        # A .dvc file is its own lock file.
        locked = self._project.entry(stage) if isinstance(stage, PipelineStage) else {"cmd": stage.cmd}
        if (stage.is_callback or stage.always_changed) and not stage.frozen:
            yield Reason("always", "runs every time")
        if locked is None:
            yield Reason("new", "never run")
        elif stage.changed_stage():
            values = (locked.get("cmd"), stage.cmd) if stage.cmd else ()
            yield Reason("command", "command" if values else "its .dvc file changed", *values)
        # A template of dvc.yaml may name a path twice.
        deps = {} if stage.frozen else {(type(dep), dep.fs_path): dep for dep in stage.deps}
        for dep in deps.values():
            if self._parts(dep) or any(_overlap(dep.fs_path, path) for path in self._open):
                continue
            if isinstance(dep, ParamsDependency):
                yield from self._parameters(dep, locked is None)
            elif (reason := self._reason("dependency", dep)) and (locked or reason.kind == "missing"):
                yield reason
        for out in stage.outs if locked is not None else ():
            if reason := self._reason("output", out):
                yield reason

    def _reason(self, kind: Any, item: Any) -> Reason | None:
        """Why DVC's Output.status finds the item changed."""
        what = f"{'output ' * (kind == 'output')}{self._project.path(item)}"
        values: tuple[Any, ...] = ()
        if type(item) not in (Files, Output) or item.protocol != "local":
            state = next(iter(item.status().values()), "")  # a bucket or another repository
        elif item.hash_info and item.use_cache and item.changed_cache():
            state = "not in cache"
        else:
            try:
                meta, found = self._now(item)
                state = "" if found == item.hash_info else "modified" if item.hash_info else "new"
                values = (_version(item.meta, item.hash_info), _version(meta, found))
            except FileNotFoundError:
                state = "deleted"
        if state == "deleted" and kind == "dependency":
            kind = "missing"
        if not state:
            return None
        return Reason(kind, f"{what} {WORDS.get(state, state)}", *(values if state == "modified" else ()))

    def _parameters(self, dep: ParamsDependency, new: bool) -> Iterator[Reason]:
        """The leaves that changed; of a stage that never ran (`new`), only those that are missing."""
        file = self._project.path(dep)
        if not dep.exists:
            yield Reason("missing", f"{file} is missing")
            return
        now, old = dep.read_params(), dep.hash_info.value or {}
        yield from (
            Reason("missing", f"{key} is missing from {file}") for key in dep.params if key not in now
        )
        # A whole file that is a dependency has no list of keys.
        for key in [] if new else dep.params or dict.fromkeys([*old, *now]):
            if key in now or not dep.params:
                for path, before, after in differences(key, old.get(key, UNTOLD), now.get(key, UNTOLD)):
                    yield Reason("parameter", path, before, after)


def in_run_cache(stage: DvcStage) -> bool:
    """Whether DVC keeps runs of the stage: `_can_hash` of DVC without its look at files that do not exist yet."""
    if stage.is_callback or stage.always_changed or not (stage.cmd and stage.deps and stage.outs):
        return False
    return all(item.protocol == "local" and item.def_path for item in [*stage.deps, *stage.outs]) and not any(
        out.persist or not out.is_in_repo for out in stage.outs
    )


def kept_run(stage: DvcStage) -> dict[str, Any] | None:
    """The last run with the stage's command and the hashes of its dependencies, as a lock file has it."""
    cache = stage.repo.stage_cache
    key = _get_cache_hash(to_single_stage_lockfile(stage), key=True)
    folder = Path(cache._get_cache_dir(key))
    runs = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime) if folder.is_dir() else []
    return cache._load_cache(key, runs[-1].name) if runs else None


def _overlap(one: str, other: str) -> bool:
    """Whether the paths are the same or one lies in the other."""
    return one == other or one.startswith(other + os.sep) or other.startswith(one + os.sep)


def _version(meta: Any, found: Any) -> Any:
    if not found:
        return UNTOLD
    values = {"hash": found.value, "size": meta.size, "files": meta.nfiles if found.isdir else None}
    return {name: value for name, value in values.items() if value is not None}
