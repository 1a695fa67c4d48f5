"""One stage in two steps, around its command: `begin` and `finish` do together what `Stage.reproduce` of DVC does, in
its order, without the lock of the repository while the command runs.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
from dvc.dependency.db import AbstractDependency
from dvc.dependency.repo import RepoDependency
from dvc.fs import localfs
from dvc.lock import LockError
from dvc.repo import Repo
from dvc.rwlock import RWLOCK_FILE, SCHEMA, rwlock
from dvc.stage import PipelineStage, Stage
from dvc.stage.cache import RunCacheNotFoundError
from dvc.stage.run import get_executable, prepare_kwargs

from pipelines.graph import lock_file
from pipelines.graph.dvc_adapter import Busy, Project

# As DVC starts its shells, so that they read no configuration.
_SHELL_OPTIONS = {"zsh": ["--no-rcs"], "bash": ["--noprofile", "--norc"], "fish": ["--no-config"]}

# Held while a lock file is written. A process that ends in the meantime would tear the file.
writing = threading.Lock()


@dataclass
class Begun:
    """A stage whose command is to run. DVC has reserved its files until `reserved` is closed."""

    name: str
    stage: Stage
    reserved: contextlib.ExitStack
    force: bool

    @property
    def commands(self) -> list[list[str]]:
        """The commands, each with the shell that DVC would use."""
        shell = get_executable()
        options = _SHELL_OPTIONS.get(Path(shell).name.lower(), [])
        lines = self.stage.cmd if isinstance(self.stage.cmd, list) else self.stage.cmd.splitlines()
        return [[shell, *options, "-c", line] for line in lines]

    @property
    def surroundings(self) -> tuple[str, dict[str, str]]:
        """The working folder and the environment of the commands."""
        arguments = prepare_kwargs(self.stage)
        return arguments["cwd"], arguments["env"]


def begin(project: Project, name: str, force: bool = False) -> Begun | bool:
    """Look at the stage `name`: whether it is unchanged (False), was restored (True), or its command is to run.

    A stage that has no command, or is frozen, is recorded as DVC does it, and is restored. With `force` the command
    runs without a look at dvc.lock and the run cache. Raises Busy, and DvcException or OSError as DVC does.
    """
    with project.locked(), contextlib.ExitStack() as held:
        stage = project.stage(name)
        with _reserved(
            project.repo, stage, " ".join(sys.argv)
        ):  # as DVC's own methods do it for this process
            if not force and not stage.changed():
                return False
            if stage.frozen or not stage.cmd:
                stage.run(no_commit=force, force=force)
                _dump(project, stage)
                return True
            stage.remove_outs()
            if not force:
                try:
                    project.repo.stage_cache.restore(stage)
                except RunCacheNotFoundError:
                    stage.save_deps()
                else:
                    _save(project, stage)
                    return True
        # While the command runs: under a name of its own, because another stage may read the same files.
        held.enter_context(_reserved(project.repo, stage, f"dvc repro --single-item -- {name}"))
        return Begun(name, stage, held.pop_all(), force)


def finish(project: Project, begun: Begun) -> None:
    """Record what the commands made. Raises as `begin` does; then `reserved` is left to the caller."""
    with project.locked():
        begun.reserved.close()  # no other process can reserve a file now
        _save(project, begun.stage, not begun.force)


@contextlib.contextmanager
def _reserved(repo: Repo, stage: Stage, command: str) -> Iterator[None]:
    """Reserve the stage's files for a `command` of this process. Raises Busy if a DVC process that runs has them."""
    deps, outs = (
        [item.fs_path for item in items if not isinstance(item, RepoDependency | AbstractDependency)]
        for items in (stage.deps, stage.outs)
    )
    hardlink = repo.config["core"].get("hardlink_lock", False)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(rwlock(repo.tmp_dir, repo.fs, command, deps, outs, hardlink))
        except LockError:
            if holder := _holder(repo, deps, outs):
                raise Busy(holder) from None
            raise
        yield


def _holder(repo: Repo, deps: list[str], outs: list[str]) -> str:
    """The DVC process that has reserved one of the files; empty if none runs.

    DVC takes any process with the number of one that was killed for that one.
    """
    reservations = SCHEMA(json.loads(Path(repo.tmp_dir, RWLOCK_FILE).read_text(encoding="utf-8")))
    users = [(path, user, [*deps, *outs]) for path, user in reservations["write"].items()]
    users += [(path, user, outs) for path, readers in reservations["read"].items() for user in readers]
    for path, user, ours in users:
        if any(localfs.overlaps(path, other) for other in ours) and _runs_dvc(user["pid"]):
            return f"process {user['pid']}: {user['cmd']}"
    return ""


def _runs_dvc(pid: int) -> bool:
    try:
        return any("dvc" in part for part in psutil.Process(pid).cmdline())
    except psutil.Error:
        return False


def _save(project: Project, stage: Stage, commit: bool = True) -> None:
    """Do what Stage.run does when the command has ended, then what `dvc repro` does."""
    uncached = any(not (out.use_cache or out.is_metric or out.is_plot) for out in stage.outs)
    stage.save(run_cache=commit and not uncached)
    if commit:
        stage.commit()
    _dump(project, stage)


def _dump(project: Project, stage: Stage) -> None:
    """Write the stage's entry to its lock file, or its .dvc file. DVC writes in place: a failure puts the file back."""
    path = Path(stage.path)
    with writing:
        if isinstance(stage, PipelineStage):
            path = path.with_suffix(".lock")
            if entry := lock_file.write(path, stage, project.ranks(stage.path), project.lock_texts):
                project.wrote(stage, entry)
                project.repo.scm_context.track_file(project.relative(str(path)))
                return
        before = path.read_bytes() if path.exists() else None
        try:
            stage.dump(update_pipeline=False)
        except BaseException:
            path.unlink(missing_ok=True) if before is None else path.write_bytes(before)
            raise
