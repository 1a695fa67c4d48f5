"""What changed of a stage, and what DVC would do about it: nothing, run its command, or restore its earlier outputs.

DVC compares a stage with dvc.lock by its command, parameters, dependencies and outputs. The same four are compared
here through DVC's own objects, with the old and the new value where DVC records the old one. The outputs of a stage
that would be restored are known before they exist; those of a stage that would run are not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from nightjar.core.numbers import counted_as

if TYPE_CHECKING:
    from dvc.repo import Repo
    from dvc.stage import Stage as DvcStage

UNTOLD = object()
# Of a value that has none to compare with, in characters.
LONGEST = 60

# `missing`: a dependency or a parameter that the stage cannot run without.
Kind = Literal["new", "command", "parameter", "dependency", "output", "upstream", "always", "missing"]
# `follows`: it depends on a stage that runs, and DVC decides afterwards. `would be recorded`: DVC records in dvc.lock
# the files that exist, of a frozen stage or of data that were added by hand.
State = Literal["up to date", "would run", "would be restored", "would be recorded", "would fail", "follows"]
# States of stages whose future outputs are unknown.
OPEN: frozenset[State] = frozenset({"would run", "would fail", "follows"})
# DVC's words for the state of a dependency or an output.
WORDS = {
    "modified": "changed",
    "deleted": "is missing",
    "new": "is new",
    "not in cache": "is not in the cache",
}


@dataclass(frozen=True)
class Reason:
    """Why a stage would not stay as it is: the kind of change, what changed, and both values where DVC has the old.

    The value of a path is DVC's `hash` with its `size` in bytes and the number of `files` of a folder, where known.
    """

    kind: Kind
    what: str
    old: Any = UNTOLD
    new: Any = UNTOLD

    def __str__(self) -> str:
        if self.old is UNTOLD and self.new is UNTOLD:
            return self.what
        texts = (
            isinstance(self.old, str) and isinstance(self.new, str) and self.old.split() != self.new.split()
        )
        show = _version_text if self.kind in ("dependency", "output") else _show
        old, new = (str(it) if texts and it else show(it) for it in (self.old, self.new))
        if UNTOLD in (self.old, self.new):  # a whole group may have been added or removed
            old, new = (_begun(it) for it in (old, new))
        return f"{self.what}: {old} → {new}"

    def as_json(self) -> dict[str, Any]:
        values = {name: value for name in ("old", "new") if (value := getattr(self, name)) is not UNTOLD}
        return {"kind": self.kind, "what": self.what, **values}


class Workspace:
    """The content of a repository's paths, now or once the stages that were judged so far are done."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self._hashes: dict[tuple[str, str], tuple[Any, Any]] = {}
        self._params: dict[str, Any] = {}
        self._locks: dict[str, dict[str, Any]] = {}
        # By path: outputs that will be restored, and those that are unknown.
        self._restored: dict[str, Any] = {}
        self._open: set[str] = set()

    def name(self, stage: DvcStage) -> str:
        """DVC's name of the stage, as seen from the root."""
        name = getattr(stage, "name", None)
        file = self.relative(stage.path)
        if name is None:
            return file
        return str(name) if file == "dvc.yaml" else f"{file}:{name}"

    def path(self, item: Any) -> str:
        """A dependency's or output's path from the root; as written if it lies outside."""
        return self.relative(item.fs_path) if item.is_in_repo else str(item)

    def relative(self, path: str) -> str:
        return os.path.relpath(path, self.repo.root_dir).replace(os.sep, "/")

    def judge(self, stage: DvcStage, before: list[str]) -> tuple[State, tuple[Reason, ...]]:
        """What DVC would do about the stage, and why. Stages must be judged in the order of the graph.

        `before` names the stages it needs directly whose outputs are unknown. The objects of the stage are changed.
        """
        from pipelines.graph import dvc_adapter

        for item in [*stage.deps, *stage.outs]:
            # DVC hashes a path, and parses a parameter file, for each stage. Some paths do not exist yet.
            if _is_plain(item):
                item.get_hash = lambda item=item: self._content(item)[1]
            elif _is_params(item):
                item.read_params = lambda item=item: dvc_adapter.read_params(item, self._params)
        reasons = tuple(self._reasons(stage))
        parts = {} if stage.frozen else {name: None for dep in stage.deps for name in self._in_part(dep)}
        waits = tuple(Reason("upstream", name) for name in {**dict.fromkeys(before), **parts})
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
        if waits or not stage.cmd:
            return "would run"
        return "would be restored" if self._restore(stage) else "would run"

    def _restore(self, stage: DvcStage) -> bool:
        """Whether DVC would restore the outputs, as StageCache.restore decides. The outputs then have the hashes that
        are restored.
        """
        from dvc.stage.loader import StageLoader

        from pipelines.graph import dvc_adapter

        if not dvc_adapter.in_run_cache(stage):
            return False
        same = not stage.changed_stage() and all(dep.hash_info == dep.get_hash() for dep in stage.deps)
        if not (same and all(out.hash_info for out in stage.outs)):
            for dep in stage.deps:
                if _is_params(dep):
                    dep.hash_info = dep.get_hash()
                else:
                    dep.update_legacy_hash_name()
                    dep.meta, dep.hash_info = self._content(dep)
            entry = dvc_adapter.kept_run(stage)
            if not entry:
                return False
            StageLoader.fill_from_lock(stage, entry)
        for out in stage.outs:
            # DVC also has copies of outputs with `cache: false`, such as metrics, in its cache.
            out.use_cache = True
        return bool(stage.outs_cached())

    def _content(self, item: Any) -> tuple[Any, Any]:
        """DVC's Meta and HashInfo of the item, now or once it is restored. Raises FileNotFoundError."""
        from dvc_data.hashfile.meta import Meta

        from pipelines.graph import dvc_adapter

        for path, out in self._restored.items():
            if item.IS_DEPENDENCY and _is_in(item.fs_path, path):
                if path == item.fs_path:
                    return out.meta, out.hash_info
                found = out.get_obj(filter_info=item.fs_path)
                if found is None:
                    raise FileNotFoundError(item.fs_path)
                return Meta(isdir=found.hash_info.isdir), found.hash_info
        key = (item.fs_path, item.hash_name)
        if key not in self._hashes:
            self._hashes[key] = dvc_adapter.content(item)
        return self._hashes[key]

    def _is_open(self, dep: Any) -> bool:
        """Whether the future content of the dependency is unknown."""
        path = dep.fs_path
        return any(_is_in(path, other) or _is_in(other, path) for other in self._open) or bool(
            self._in_part(dep)
        )

    def _in_part(self, dep: Any) -> list[str]:
        """The stages to be restored whose outputs are only a part of the dependency, a directory around them, or hold
        its parameters. Its future content is then unknown.
        """
        return [
            self.name(out.stage)
            for path, out in self._restored.items()
            if (path != dep.fs_path and _is_in(path, dep.fs_path))
            or (_is_params(dep) and _is_in(dep.fs_path, path))
        ]

    def _reasons(self, stage: DvcStage) -> Iterator[Reason]:
        if stage.path not in self._locks:  # DVC would parse the file again for every stage
            lock = getattr(stage.dvcfile, "lockfile_contents", None) or {}
            self._locks[stage.path] = lock.get("stages", {})
        name = getattr(stage, "name", None)
        locked = self._locks[stage.path].get(name) if name else {}
        if (stage.is_callback or stage.always_changed) and not stage.frozen:
            yield Reason("always", "runs every time")
        if locked is None:
            yield Reason("new", "never run")
        elif stage.changed_stage():
            values = (locked.get("cmd"), stage.cmd) if stage.cmd else ()
            yield Reason("command", "command" if values else "its .dvc file changed", *values)
        if not stage.frozen:
            # A template of dvc.yaml may name a path twice.
            for dep in {(type(dep), dep.fs_path): dep for dep in stage.deps}.values():
                if not self._is_open(dep):
                    yield from self._changed(dep, locked is None)
        if locked is not None:
            for out in stage.outs:
                for state in out.status().values():
                    yield self._reason("output", out, state)

    def _changed(self, dep: Any, new: bool) -> Iterator[Reason]:
        if _is_params(dep):
            yield from _changed_params(dep, self.path(dep), new)
        elif not _is_plain(dep):
            for state in dep.status().values():
                yield self._reason("dependency", dep, state)
        else:
            try:
                same = dep.get_hash() == dep.hash_info
            except FileNotFoundError:
                yield Reason("missing", f"{self.path(dep)} is missing")
            else:
                if not same and not new:
                    yield self._reason("dependency", dep, "modified" if dep.hash_info else "new")

    def _reason(self, kind: Kind, item: Any, state: str) -> Reason:
        what = f"{'output ' * (kind == 'output')}{self.path(item)} {WORDS.get(state, state)}"
        if state != "modified" or not _is_plain(item):
            return Reason(kind, what)
        meta, found = self._content(item)
        return Reason(kind, what, _version(item.meta, item.hash_info), _version(meta, found))


def _is_params(dep: Any) -> bool:
    from dvc.dependency import ParamsDependency

    return isinstance(dep, ParamsDependency)


def _is_plain(item: Any) -> bool:
    """Whether these are files of this machine, not parameters, a bucket or another repository."""
    from dvc.dependency.base import Dependency
    from dvc.output import Output

    return type(item) in (Dependency, Output) and item.protocol == "local"


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def _changed_params(dep: Any, file: str, new: bool) -> Iterator[Reason]:
    """The leaves that changed; of a stage that never ran (`new`), only those that are missing."""
    if not dep.exists:
        yield Reason("missing", f"{file} is missing")
        return
    now, old = dep.read_params(), dep.hash_info.value or {}
    yield from (Reason("missing", f"{key} is missing from {file}") for key in dep.params if key not in now)
    # A whole file that is a dependency has no list of keys.
    for key in [] if new else dep.params or [*old, *(key for key in now if key not in old)]:
        if key in now or not dep.params:
            for path, before, after in _differences(key, old.get(key, UNTOLD), now.get(key, UNTOLD)):
                yield Reason("parameter", path, before, after)


def _differences(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """The leaves in which two values differ; a value that does not exist is UNTOLD."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _differences(f"{path}.{key}", old.get(key, UNTOLD), new.get(key, UNTOLD))
    elif old is UNTOLD or new is UNTOLD or old != new:
        yield path, old, new


def _version(meta: Any, found: Any) -> Any:
    if not found:
        return UNTOLD
    values = {"hash": found.value, "size": meta.size, "files": meta.nfiles if found.isdir else None}
    return {name: value for name, value in values.items() if value is not None}


def _version_text(value: Any) -> str:
    if value is UNTOLD:
        return _show(value)
    size = value.get("size")
    return value["hash"][:8] + ("" if size is None else f" ({counted_as(size, 'byte')})")


def _begun(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _show(value: Any) -> str:
    """The value as in a parameter file."""
    if value is UNTOLD:
        return "(nothing)"
    if isinstance(value, date):
        return str(value)
    return json.dumps(value, default=str, ensure_ascii=False)
