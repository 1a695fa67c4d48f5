"""The DVC repository: its lock, and its stages and parameters, which are read once and again only where a file changed.

All that depends on how DVC works inside is in this file, in dvc_status.py, dvc_run.py and lock_file.py. They are
written for DVC 3.67. tests/pipelines/graph/test_dvc_adapter.py fails when a name or a result that is used changes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dvc.dependency import ParamsDependency
from dvc.dependency.base import Dependency
from dvc.dvcfile import ProjectFile, is_valid_filename, load_file
from dvc.exceptions import DvcException, NotDvcRepoError
from dvc.lock import Lock, LockError
from dvc.repo import Repo, lock_repo
from dvc.repo.index import Index
from dvc.repo.reproduce import get_active_graph, plan_repro
from dvc.stage import PipelineStage, Stage
from dvc.utils import parse_target
from dvc.utils.serialize import ParseError, load_path
from dvc_data.hashfile.build import IgnoreInCollectedDirError as Ignored
from dvc_data.hashfile.hash_info import HashInfo
from dvc_data.hashfile.meta import Meta
from dvc_data.hashfile.obj import HashFile
from pygit2 import GitError

from nightjar.core.errors import NightjarError, from_os_error
from pipelines.project.git import git

# What differs between two versions of a file: time, bytes, inode. None if there is no file.
Signature = tuple[int, int, int] | None


class Busy(Exception):
    """Another DVC process holds the repository's lock, or has reserved files of the stage: then its text names it."""


class Project:
    """A DVC repository. What was read of it is kept until one of its files changes on disk."""

    def __init__(self, where: Path) -> None:
        self.repo = Repo(str(where))
        self.root = Path(self.repo.root_dir)
        self._signatures: dict[Path, Signature] = {}
        self._files: dict[Path, ProjectFile] = {}
        self._values: dict[str, Any] = {}
        self._edges: Any = None
        # By path and kind of hash, what Output._build found since the lock was taken.
        self.built: dict[tuple[str, str], Any] = {}
        # The texts of lock files that were checked or written: see lock_file.
        self.lock_texts: dict[Path, str] = {}

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the repository, and read again what changed. Raises Busy if another process holds it."""
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(lock_repo(self.repo))
            except LockError:
                raise Busy from None
            held.enter_context(self.repo.scm_context(quiet=True))
            self.built = {}
            if any(_signature(path) != signature for path, signature in self._signatures.items()):
                self._signatures, self._files, self._values, self._edges = {}, {}, {}, None
            yield

    def stage(self, name: str) -> Stage:
        """The stage as dvc.yaml and dvc.lock have it; a new object each time. Raises DvcException if there is none."""
        path, key = parse_target(name)
        place = self.root / (path or "dvc.yaml")
        if place.suffix == ".yaml":
            return self._prepared(self.file(place).stages[key])
        return self._prepared(load_file(self.repo, str(place)).stage)

    def _prepared(self, stage: Stage) -> Stage:
        kinds = {ParamsDependency: Parameters, Dependency: HashedFiles}
        stage.deps = [kinds[type(dep)](dep, self) if type(dep) in kinds else dep for dep in stage.deps]
        return stage

    def file(self, path: Path) -> ProjectFile:
        """DVC's object of a dvc.yaml, which keeps the contents of it and of its lock file."""
        if path not in self._files:
            self._watch(path, path.with_suffix(".lock"), path.with_name("params.yaml"))
            file = load_file(self.repo, str(path))
            self._watch(*(Path(name) for name in file.stages.resolver.context.imports))
            self._files[path] = file
        return self._files[path]

    def entry(self, stage: Stage) -> dict[str, Any] | None:
        """Return the entry that the lock file has of a stage of a dvc.yaml; None if nothing."""
        entry: dict[str, Any] | None = self.file(Path(stage.path)).stages.lockfile_data.get(stage.name)
        return entry

    def wrote(self, stage: Stage, entry: dict[str, Any]) -> None:
        """Keep an entry that this process wrote to the lock file, as if it had been read again."""
        path = Path(stage.path)
        self.file(path).stages.lockfile_data[stage.name] = entry
        self._signatures[path.with_suffix(".lock")] = _signature(path.with_suffix(".lock"))

    def expect(self, out: Any) -> None:
        """While the lock is held, dependencies on the output find what it records, and not what is there."""
        self.built[out.fs_path, out.hash_name] = (None, out.meta, out)

    def expect_file(self, path: str, text: str) -> None:
        """While the lock is held, dependencies on a file find this text, and not what is there."""
        data, file = text.encode(), str(self.root / path)
        expected = HashFile(
            file, self.repo.fs, HashInfo("md5", hashlib.md5(data, usedforsecurity=False).hexdigest())
        )
        self.built[file, "md5"] = (None, Meta(size=len(data)), expected)

    def cached_text(self, dep: Any) -> str | None:
        """The text that a dependency had when its stage last ran, from DVC's cache; None if that has it no more."""
        try:
            path = self.repo.cache.local.oid_to_path(dep.hash_info.value)
            return Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeError):
            return None

    def edges(self) -> Any:
        """DVC's graph of the stages: each edge goes from a stage to one that it needs."""
        if self._edges is None:
            self._watch(self.root / ".dvc/config", self.root / ".dvc/config.local", self.root / ".dvcignore")
            self._edges = get_active_graph(Index(self.repo, stages=list(self._stages())).graph)
        return self._edges

    def ranks(self, file: str) -> dict[str, int]:
        """The place of each stage of a dvc.yaml in the order in which `dvc repro` runs them."""
        order = plan_repro(self.edges())
        names = [it.name for it in order if isinstance(it, PipelineStage) and it.path == file]
        return {name: at for at, name in enumerate(names)}

    def _stages(self) -> Iterator[Stage]:
        """All stages, found as DVC's collect_files does: not in folders that Git ignores or that stages make."""
        repo, outputs = self.repo, set[str]()
        for folder, folders, files in repo.dvcignore.walk(repo.fs, repo.root_dir, followlinks=False):
            for name in filter(is_valid_filename, files):
                path = Path(folder, name)
                if not repo.scm.is_ignored(str(path)):
                    for stage in self._of_file(path):
                        outputs.update(out.fs_path for out in stage.outs)
                        yield stage
            paths = {name: str(Path(folder, name)) for name in folders}
            folders[:] = [
                name
                for name, it in paths.items()
                if it not in outputs and not repo.scm.is_ignored(it + os.sep)
            ]

    def _of_file(self, path: Path) -> list[Stage]:
        if path.suffix == ".yaml":
            return [self._prepared(stage) for stage in self.file(path).stages.values()]
        self._watch(path)
        return [self._prepared(load_file(self.repo, str(path)).stage)]

    def parameters(self, dep: ParamsDependency) -> dict[str, Any]:
        """The values of the keys that `dep` names, as ParamsDependency.read_params gives them."""
        values, path = {}, dep.fs_path
        try:
            if path not in self._values:
                self._watch(Path(path))
                self._values[path] = load_path(path, self.repo.fs)
            for key in dep.params:
                value = self._values[path]
                for part in key.split("."):
                    value = value[part]
                values[key] = value
        except (
            LookupError,
            TypeError,
            OSError,
            ParseError,
        ):  # a missing key, an index or a pattern, a bad file
            return dict(ParamsDependency.read_params(dep))
        return values if dep.params else dict(self._values[path])

    def name(self, stage: Stage) -> str:
        """DVC's name of the stage, as seen from the root."""
        name, file = getattr(stage, "name", None), self.relative(stage.path)
        return file if name is None else str(name) if file == "dvc.yaml" else f"{file}:{name}"

    def path(self, item: Any) -> str:
        """A dependency's or output's path from the root; as written if it lies outside."""
        return self.relative(item.fs_path) if item.is_in_repo else str(item)

    def relative(self, path: str) -> str:
        return os.path.relpath(path, self.root).replace(os.sep, "/")

    def _watch(self, *paths: Path) -> None:
        for path in map(Path.absolute, paths):
            self._signatures.setdefault(path, _signature(path))


class Kept:
    """A dependency of a stage, as DVC made it, that uses what its project keeps."""

    def __init__(self, dep: Dependency, project: Project) -> None:
        vars(self).update(vars(dep))
        self._project = project


class Parameters(Kept, ParamsDependency):
    """Parameters, whose file is parsed once for all stages. DVC does it ten times for each."""

    def read_params(self, flatten: bool = True, **_: Any) -> dict[str, Any]:
        return self._project.parameters(self)


class HashedFiles(Kept, Dependency):
    """Files or folders, which are hashed once while the lock is held. DVC does it ten times for each stage."""

    @property
    def exists(self) -> bool:
        return (self.fs_path, self.hash_name) in self._project.built or bool(super().exists)

    def _build(self, *args: Any, **options: Any) -> Any:
        key = (self.fs_path, self.hash_name)
        if key not in self._project.built:
            self._project.built[key] = super()._build(*args, **options)
        return self._project.built[key]


def _signature(path: Path) -> Signature:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


@contextlib.contextmanager
def opened(where: Path, locked: bool = True) -> Iterator[Project]:
    """The DVC repository at `where`, by default locked against other DVC processes that hash or write.

    Raises NightjarError where there is no repository, for DVC's own errors, and for those of values that DVC does not
    expect, such as a date or an empty path.
    """
    try:
        project = Project(where)
        with project.repo as repo, contextlib.ExitStack() as held:
            if locked:
                if isinstance(repo.lock, Lock):  # not the lock of core.hardlink_lock
                    repo.lock = Lock(repo.lock.lockfile, wait=True)
                held.enter_context(project.locked())
            yield project
    except NotDvcRepoError:
        fix = "run from the project's root"
        raise NightjarError("not a DVC repository", where.absolute(), fix) from None
    except DvcException as error:
        fix = "fix dvc.yaml, or see `dvc status`"
        if "is not a git repository" in str(error):
            git(where, "rev-parse", "--git-dir")
        raise NightjarError(one_line(error), where.absolute(), fix) from None
    except GitError as error:  # such as a repository of another account
        git(where, "rev-parse", "--git-dir")
        raise NightjarError(one_line(error), where.absolute(), "see `git status`") from None
    except (FileNotFoundError, NightjarError):
        raise
    except (ValueError, TypeError, RecursionError, AssertionError, ImportError, OSError, Ignored) as error:
        if isinstance(error, OSError) and (line := from_os_error(error, where)):
            raise line from None
        what = " ".join(str(error).split())[:300] or "perhaps an empty path, name or key"
        fix = "fix dvc.yaml or params.yaml"
        if isinstance(error, ImportError):  # of the storage of a dependency or an output
            fix = "install it, or name a local path in dvc.yaml"
        raise NightjarError(f"DVC cannot read the project ({what})", where.absolute(), fix) from None


def tidy(repo: Repo) -> None:
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
