"""The state of each stage: whether DVC would leave it, run its command, or restore its earlier outputs, and why.

DVC compares a stage with dvc.lock by its command, parameters, dependencies and outputs. Its own objects do so here, and
have the old and the new value. The outputs of a stage that would be restored are known before they exist; those of a
stage that would run are not.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import networkx
from dvc.dependency import ParamsDependency
from dvc.stage import PipelineStage
from dvc.stage import Stage as DvcStage
from dvc.stage.cache import _can_hash
from dvc.stage.loader import StageLoader

from nightjar.core import paths
from pipelines.graph.dvc_adapter import Project, tidy
from pipelines.graph.graph import MISSING, NEVER, OPEN, Graph, Kind, Reason, Stage, State, differences
from stages._runtime.closure import COMMAND, Code

# DVC's words for the state of a dependency or an output.
WORDS = {
    "modified": "changed",
    "deleted": "is missing",
    "new": "is new",
    "not in cache": "is not in the cache",
}


def graph(project: Project, judged: bool) -> Graph:
    """The graph of a project; without states and reasons if it is not `judged`, for which its lock must be held."""
    if judged:
        tidy(project.repo)
    edges, status = project.edges(), Status(project)
    order = list(networkx.lexicographical_topological_sort(edges.reverse(), key=project.name))
    stages: dict[str, Stage] = {}
    for stage in order:
        name = project.name(stage)
        upstream = tuple(sorted(project.name(other) for other in edges.successors(stage)))
        state, reasons = status.judge(stage) if judged else ("up to date", ())
        out_metrics = [(project.path(out), bool(out.metric)) for out in stage.outs]
        stages[name] = Stage(
            name=name,
            command=stage.cmd if isinstance(stage.cmd, str) else "\n".join(stage.cmd or ()),
            description=(stage.desc or "").strip(),
            deps=tuple(project.path(dep) for dep in stage.deps if dep not in stage.params),
            outs=tuple(path for path, _ in out_metrics),
            metrics=tuple(
                path for path, is_metric in out_metrics if is_metric or paths.is_facts_file(Path(path))
            ),
            params={project.path(dep): tuple(dep.params) for dep in stage.params},
            upstream=upstream,
            reasons=reasons,
            meta=stage.meta if isinstance(stage.meta, Mapping) else {},
            folder=project.relative(stage.wdir),
            state=state,
        )
    return Graph(project.root, stages)


def status_of(project: Project, name: str) -> tuple[State, str]:
    """Return what DVC would do with the stage `name` now, and why. Raises as dvc_run.begin does."""
    with project.locked():
        state, reasons = Status(project).judge(project.stage(name))
        return state, "; ".join(map(str, reasons))


class Status:
    """The states of the stages of a project, whose lock is held. Stages must be judged in the order of the graph."""

    def __init__(self, project: Project) -> None:
        self._project = project
        # By path: outputs that will be made or restored, and whether they are known.
        self._future: dict[str, tuple[Any, bool]] = {}
        # Stages that would fail or be skipped.
        self._never: set[str] = set()
        # By path: the closures of code that will be written.
        self._code: dict[str, str] = {}

    def judge(self, stage: DvcStage) -> tuple[State, tuple[Reason, ...]]:
        """Return what DVC would do about the stage, and why. The objects of the stage are changed."""
        reasons: tuple[Reason, ...] = ()
        for reason in self._reasons(stage):
            if reason not in reasons:  # a file of code may be in several closures
                reasons += (reason,)
        deps = [] if stage.frozen else stage.deps
        names = {self._project.name(out.stage) for dep in deps for out in self._unknown(dep)}
        # Reasons that keep it from running come first.
        waits = tuple(
            Reason("upstream", it) for it in sorted(names, key=lambda it: (it not in self._never, it))
        )
        state = self._state(stage, reasons, bool(waits))
        if state in ("would run", "follows") and names & self._never:
            state = "would be skipped"
        if state in NEVER:
            self._never.add(self._project.name(stage))
        if restored := state == "would be restored":
            for out in stage.outs:
                self._project.expect(out)
        if stage.cmd == COMMAND and state in ("would run", "would be restored"):
            self._expect_code()
        elif restored or state in OPEN:
            self._future.update((out.fs_path, (out, restored)) for out in stage.outs)
        return state, reasons + waits

    def _expect_code(self) -> None:
        """Compute what the stage `code` will write: the stages after it are judged as if it had run."""
        from nightjar.core.config import (  # here, not above: pydantic takes long to load
            PARAMS_FILE,
            read_optional,
        )

        root = self._project.root
        for name, text in Code(root).contents(read_optional(root / PARAMS_FILE)).items():
            path = (paths.CODE / name).as_posix()
            self._code[path] = text
            self._project.expect_file(path, text)

    def _state(self, stage: DvcStage, reasons: tuple[Reason, ...], waits: bool) -> State:
        if not reasons:
            return "follows" if waits else "up to date"
        if stage.frozen or not (stage.cmd or stage.is_import):
            return "would be recorded" if all(out.exists for out in stage.outs) else "would fail"
        if any(reason.kind == "missing" for reason in reasons):
            return "would fail"
        if waits and all(reason.kind == "output" for reason in reasons):
            return "follows"  # if its dependencies remain as they were, its outputs are restored
        return "would be restored" if stage.cmd and not waits and _restored(stage) else "would run"

    def _unknown(self, dep: Any) -> list[Any]:
        """The outputs that make it unknown what the dependency will hold: one that is known tells nothing of a folder
        around it, of a file in it, and of parameters.
        """
        path, is_params = dep.fs_path, isinstance(dep, ParamsDependency)
        return [
            out
            for other, (out, restored) in self._future.items()
            if _overlap(path, other) and not (restored and path == other and not is_params)
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
            if not self._unknown(dep):
                changed = self._parameters if isinstance(dep, ParamsDependency) else self._changed
                yield from (it for it in changed(dep) if locked is not None or it.kind == "missing")
        for out in stage.outs if locked is not None else ():
            yield from self._changed(out)

    def _changed(self, item: Any) -> Iterator[Reason]:
        for state in item.status().values():
            if state == "deleted" and self._project.path(item) in self._code:
                state = "modified"  # the stage `code` writes the file before
            if state == "modified" and (reasons := list(self._changed_code(item))):
                yield from reasons
                continue
            kind: Kind = "dependency" if item.IS_DEPENDENCY else "output"
            what = self._project.path(item)
            values: tuple[Any, ...] = ()
            if state == "modified" and not item.hash_info:
                state = "new"
            elif self._project.path(item) in self._code:
                continue  # the file will be as it was
            elif state == "modified" and item.protocol == "local":
                values = (_version(item.meta, item.hash_info), _version(*item._get_hash_meta()))
            elif state == "deleted" and item.IS_DEPENDENCY:
                kind = "missing"
            yield Reason(kind, f"{'output ' * (kind == 'output')}{what} {WORDS.get(state, state)}", *values)

    def _changed_code(self, dep: Any) -> Iterator[Reason]:
        """The files of code that differ, where a dependency is a closure of them, and DVC has the earlier one."""
        path = self._project.path(dep)
        if not dep.IS_DEPENDENCY or Path(path).parent != paths.CODE or not dep.hash_info:
            return
        present = self._code.get(path) or (self._project.root / path).read_text(encoding="utf-8")
        # The earlier one may be lost, and the present one may be written by hand.
        with contextlib.suppress(ValueError, LookupError, TypeError):
            old, new = (_digests(text) for text in (self._project.cached_text(dep) or "", present))
            for name in sorted(old.keys() | new.keys()):
                if old.get(name) != new.get(name):
                    word = (
                        "changed" if name in old and name in new else "is new" if name in new else "is gone"
                    )
                    yield Reason("dependency", f"{name} {word}")

    def _parameters(self, dep: ParamsDependency) -> Iterator[Reason]:
        file = self._project.path(dep)
        if not dep.exists:
            yield Reason("missing", f"{file} is missing")
            return
        now, old = dep.read_params(), dep.hash_info.value or {}
        yield from (
            Reason("missing", f"{key} is missing from {file}") for key in dep.params if key not in now
        )
        # A whole file that is a dependency has no list of keys.
        for key in dep.params or dict.fromkeys([*old, *now]):
            if key in now or not dep.params:
                for path, before, after in differences(key, old.get(key, MISSING), now.get(key, MISSING)):
                    yield Reason("parameter", path, before, after)


def _restored(stage: DvcStage) -> bool:
    """Return true if DVC would restore the outputs, as StageCache.restore decides, with the hashes of that run."""
    cache = stage.repo.stage_cache
    if not _can_hash(stage):
        return False
    if stage.changed_stage() or not stage.deps_cached() or not all(out.hash_info for out in stage.outs):
        for dep in stage.deps:
            if isinstance(dep, ParamsDependency):
                dep.hash_info = dep.get_hash()
            else:
                dep.meta, dep.hash_info = dep._get_hash_meta()
        if (entry := cache._load(stage)) is None:
            return False
        StageLoader.fill_from_lock(stage, entry)
    for out in stage.outs:
        # DVC also has copies of outputs with `cache: false`, such as metrics, in its cache.
        out.use_cache = True
    return bool(stage.outs_cached())


def _overlap(first: str, second: str) -> bool:
    """Return true if one path is or holds the other; localfs.overlaps of DVC takes fifty times as long."""
    return first == second or first.startswith(second + os.sep) or second.startswith(first + os.sep)


def _digests(closure: str) -> dict[str, str]:
    """The digest of each file in a closure of code, and the version of each package."""
    value = json.loads(closure)
    return {**value["files"], **value["packages"]}


def _version(meta: Any, hash_info: Any) -> Any:
    if not hash_info:
        return MISSING
    values = {"hash": hash_info.value, "size": meta.size, "files": meta.nfiles if hash_info.isdir else None}
    return {name: value for name, value in values.items() if value is not None}
