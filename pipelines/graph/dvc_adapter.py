"""All that depends on how DVC works inside: opening a repository, its locks, and running one stage in two steps.

Written for DVC 3.67. tests/pipelines/graph/test_dvc_adapter.py fails when a name or a result that is used here changes.
`begin` and `finish` do together what `Stage.reproduce` of DVC does, in its order, without its lock while the command
of the stage runs.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from dvc.dependency import ParamsDependency
from dvc.dependency.db import AbstractDependency
from dvc.dependency.repo import RepoDependency
from dvc.exceptions import DvcException, NotDvcRepoError
from dvc.fs import localfs
from dvc.lock import Lock, LockError
from dvc.repo import Repo, lock_repo
from dvc.rwlock import RWLOCK_FILE, SCHEMA, rwlock
from dvc.stage import PipelineStage, Stage
from dvc.stage.cache import RunCacheNotFoundError, _can_hash
from dvc.stage.run import get_executable, prepare_kwargs
from dvc.utils.serialize import LOADERS, ParseError, load_path, load_yaml, parse_yaml
from dvc_data.hashfile.build import IgnoreInCollectedDirError as Ignored

from nightjar.core.errors import NightjarError, from_os_error
from pipelines.graph import lock_entry, lock_order
from pipelines.graph.changes import Workspace

# As DVC starts its shells, so that they read no configuration.
_SHELL_OPTIONS = {"zsh": ["--no-rcs"], "bash": ["--noprofile", "--norc"], "fish": ["--no-config"]}

# Held while a lock file is written. A process that ends in the meantime would tear the file.
writing = threading.Lock()


@functools.lru_cache(maxsize=8)
def _parsed(text: str, path: str) -> Any:
    return parse_yaml(text, path)


def load_parameters(path: str, fs: Any = None, **options: Any) -> Any:
    """What DVC's load_yaml returns. A text is parsed once: DVC parses params.yaml ten times for each stage."""
    try:
        with (fs.open if fs else open)(path, encoding="utf-8", **options) as file:
            text = file.read()
    except UnicodeDecodeError:
        return load_yaml(path, fs=fs, **options)  # it raises the error of DVC
    return copy.deepcopy(_parsed(text, str(path)))


# DVC's table of what reads a file of parameters, by its suffix.
LOADERS.update({".yaml": load_parameters, ".yml": load_parameters})


@contextlib.contextmanager
def opened(where: Path, locked: bool = True) -> Iterator[Repo]:
    """The DVC repository at `where`, by default locked against other DVC processes that hash or write.

    Raises NightjarError if there is none, for DVC's own errors, and for those of values that DVC does not expect, such
    as a date or an empty path.
    """
    try:
        with Repo(str(where)) as repo, contextlib.ExitStack() as held:
            if locked:
                if isinstance(repo.lock, Lock):  # not the lock of core.hardlink_lock
                    repo.lock = Lock(repo.lock.lockfile, wait=True)
                held.enter_context(lock_repo(repo))
                _tidy(repo)
            yield repo
    except NotDvcRepoError:
        fix = "run from the project's root"
        raise NightjarError("not a DVC repository", where.absolute(), fix) from None
    except DvcException as error:
        fix = "mend dvc.yaml, or see `dvc status`"
        raise NightjarError(one_line(error), where.absolute(), fix) from None
    except (FileNotFoundError, NightjarError):
        raise
    except (ValueError, TypeError, RecursionError, AssertionError, ImportError, OSError, Ignored) as error:
        if isinstance(error, OSError) and (line := from_os_error(error, where)):
            raise line from None
        what = " ".join(str(error).split())[:300] or "perhaps an empty path, name or key"
        fix = "mend dvc.yaml or params.yaml"
        if isinstance(error, ImportError):  # of the storage of a dependency or an output
            fix = "install it, or name a local path in dvc.yaml"
        raise NightjarError(f"DVC cannot read the project ({what})", where.absolute(), fix) from None


def _tidy(repo: Repo) -> None:
    """Remove what a full disk left in the run cache: entries that were never finished, and folders without any.

    DVC 3.67 removes the former as it meets them, and then fails for ever at the empty folder.
    """
    with contextlib.suppress(OSError):
        for folder in Path(repo.stage_cache.cache_dir).glob("*/*"):
            for path in folder.glob(".*.tmp"):
                path.unlink()
            if not any(folder.iterdir()):
                folder.rmdir()


def one_line(error: BaseException) -> str:
    """The text of an error of DVC and of its cause."""
    text = " ".join(str(part) for part in (error, error.__cause__) if part)
    return " ".join(text.split())[:500] or type(error).__name__


def content(item: Any) -> tuple[Any, Any]:
    """DVC's Meta and HashInfo of what an output or a dependency holds now. Raises FileNotFoundError."""
    found: tuple[Any, Any] = item._get_hash_meta()
    return found


def in_run_cache(stage: Stage) -> bool:
    """Whether DVC keeps runs of the stage."""
    return bool(_can_hash(stage))


def kept_run(stage: Stage) -> dict[str, Any] | None:
    """The last run with the stage's command and the hashes of its dependencies, as a lock file has it."""
    found: dict[str, Any] | None = stage.repo.stage_cache._load(stage)
    return found


def read_params(dep: ParamsDependency, files: dict[str, Any]) -> dict[str, Any]:
    """The values of the keys that `dep` names, as ParamsDependency reads them. `files` keeps what was parsed."""
    found = {}
    try:
        if dep.fs_path not in files:
            files[dep.fs_path] = load_path(dep.fs_path, dep.repo.fs)
        for key in dep.params:
            value = files[dep.fs_path]
            for part in key.split("."):
                value = value[part]
            found[key] = value
    except (LookupError, TypeError, OSError, ParseError):  # a missing key, an index or a pattern, a bad file
        return dict(ParamsDependency.read_params(dep))
    return found if dep.params else dict(files[dep.fs_path])


class Busy(Exception):
    """Another DVC process holds the repository's lock, or has reserved files of the stage: then its text names it."""


@dataclass
class Begun:
    """A stage whose command is to run. DVC has reserved its files until `reserved` is closed."""

    name: str
    stage: Stage
    reserved: contextlib.ExitStack
    afresh: bool

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
        found = prepare_kwargs(self.stage)
        return found["cwd"], found["env"]


def look(repo: Repo, name: str) -> tuple[str, str]:
    """What DVC would do with the stage `name` now, and why. Raises as `begin` does."""
    with _transaction(repo, name):
        state, reasons = Workspace(repo).judge(repo.stage.get_target(name), [])
        return state, "; ".join(map(str, reasons))


def begin(repo: Repo, name: str, afresh: bool = False) -> Begun | bool:
    """Look at the stage `name`: whether it is unchanged (False), was restored (True), or its command is to run.

    A stage that has no command, or is frozen, is recorded as DVC does it, and is restored. With `afresh` the command
    runs without a look at dvc.lock and the run cache. Raises Busy, and DvcException or OSError as DVC does.
    """
    with _transaction(repo, name), contextlib.ExitStack() as held:
        stage = repo.stage.get_target(name)
        _reserve(repo, stage, held)
        if not afresh and not stage.changed():
            return False
        if stage.frozen or not stage.cmd:
            stage.run(no_commit=afresh, force=afresh)
            _dump(repo, stage)
            return True
        stage.remove_outs()
        if not afresh:
            try:
                repo.stage_cache.restore(stage)
            except RunCacheNotFoundError:
                stage.save_deps()
            else:
                _save(repo, stage)
                return True
        return Begun(name, stage, held.pop_all(), afresh)


def finish(repo: Repo, begun: Begun) -> None:
    """Record what the commands made. Raises as `begin` does; `reserved` is left to the caller."""
    with _transaction(repo, begun.name):
        _save(repo, begun.stage, not begun.afresh)


@contextlib.contextmanager
def _transaction(repo: Repo, name: str) -> Iterator[None]:
    # DVC reserves files for the process with this command line: here for one stage of this process.
    sys.argv = ["dvc", "repro", "--single-item", "--", name]
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(lock_repo(repo))
        except LockError:
            raise Busy from None
        held.enter_context(repo.scm_context(quiet=True))
        yield


def _reserve(repo: Repo, stage: Stage, held: contextlib.ExitStack) -> None:
    """Reserve the stage's files, as Stage.reproduce does. Raises Busy if a DVC process that runs has reserved them."""
    deps, outs = (
        [item.fs_path for item in items if not isinstance(item, RepoDependency | AbstractDependency)]
        for items in (stage.deps, stage.outs)
    )
    hardlink = repo.config["core"].get("hardlink_lock", False)
    try:
        held.enter_context(rwlock(repo.tmp_dir, repo.fs, " ".join(sys.argv), deps, outs, hardlink))
    except LockError:
        if holder := _holder(repo, deps, outs):
            raise Busy(holder) from None
        raise


def _holder(repo: Repo, deps: list[str], outs: list[str]) -> str:
    """The DVC process that has reserved one of the files; empty if none runs.

    DVC takes any process with the number of one that was killed for that one.
    """
    found = SCHEMA(json.loads(Path(repo.tmp_dir, RWLOCK_FILE).read_text(encoding="utf-8")))
    users = [(path, user, [*deps, *outs]) for path, user in found["write"].items()]
    users += [(path, user, outs) for path, readers in found["read"].items() for user in readers]
    for path, user, ours in users:
        if any(localfs.overlaps(path, other) for other in ours) and _runs_dvc(user["pid"]):
            return f"process {user['pid']}: {user['cmd']}"
    return ""


def _runs_dvc(pid: int) -> bool:
    try:
        return any("dvc" in part for part in psutil.Process(pid).cmdline())
    except psutil.Error:
        return False


def _save(repo: Repo, stage: Stage, commit: bool = True) -> None:
    """What Stage.run does when the command has ended, then what `dvc repro` does."""
    uncached = any(not (out.use_cache or out.is_metric or out.is_plot) for out in stage.outs)
    stage.save(run_cache=commit and not uncached)
    if commit:
        stage.commit()
    _dump(repo, stage)


def _dump(repo: Repo, stage: Stage) -> None:
    """Write the stage's entry to its lock file, or its .dvc file. DVC writes in place: a failure puts the file back."""
    path = Path(stage.path)
    with writing:
        if isinstance(stage, PipelineStage):
            path = path.with_suffix(".lock")
            if lock_entry.write(path, stage, functools.partial(lock_order.place, repo, path, stage.name)):
                repo.scm_context.track_file(str(path.relative_to(repo.root_dir)))
                return
        before = path.read_bytes() if path.exists() else None
        try:
            stage.dump(update_pipeline=False)
        except BaseException:
            path.unlink(missing_ok=True) if before is None else path.write_bytes(before)
            raise
