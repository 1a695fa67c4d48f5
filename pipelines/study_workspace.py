"""The workspace of a study: a clone of the project in .nightjar/study, where every point is run and saved.

`dvc exp run --temp` is not used: ended by a signal it leaves its folder and the stage's command behind, it takes
the project's own files through `git stash`, and neither checkpoints nor git-ignored inputs are visible in it. Here
the clone shares the project's DVC cache (and with it the run cache, which restores what is known), its checkpoints
and its git-ignored inputs; what a point made is saved by `dvc exp save` and fetched into the project.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Self

from pipelines import groups, profiles
from pipelines.run_stage import environment, follow
from stages.config import PARAMS_FILE, read_optional
from stages.errors import NightjarError

FOLDER = Path(".nightjar/study")
# What killed stages left of their work; shared, so that they go on where they were.
SHARED = ("checkpoints", "predict")
_AUTHOR = {
    "GIT_AUTHOR_NAME": "nightjar",
    "GIT_AUTHOR_EMAIL": "nightjar@localhost",
    "GIT_COMMITTER_NAME": "nightjar",
    "GIT_COMMITTER_EMAIL": "nightjar@localhost",
}


@dataclass(frozen=True)
class Baseline:
    """What every point of a study starts from: the commit, and the tracked files that differ from it."""

    commit: str
    changed: tuple[str, ...]
    untracked: tuple[str, ...]
    digest: str


@dataclass(frozen=True)
class Ran:
    """How a point's run ended: exit status 0 if all is well, else the last line that tells why."""

    code: int
    seconds: float
    stages: Mapping[str, str]
    error: str = ""


def git(root: Path, *arguments: str) -> str:
    """What `git` prints in `root`. Raises NightjarError with git's own last line if it fails."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip() or f"git {arguments[0]} failed").splitlines()[-1]
        raise NightjarError(last, root.absolute(), "this needs a Git repository with a commit")
    return done.stdout


def baseline(root: Path) -> Baseline:
    """The state of the project's tracked files: commit, changes, and a digest of both but params.yaml.

    Raises NightjarError where there is no commit yet, or where the project is not the root of its repository.
    """
    commit = git(root, "rev-parse", "--verify", "HEAD^{commit}").strip()
    if git(root, "rev-parse", "--show-prefix").strip():
        raise NightjarError("not the root of its Git repository", root.absolute(), "run from the root")
    changed = tuple(sorted(_names(git(root, "diff", "--name-only", "--no-renames", "-z", "HEAD"))))
    untracked = tuple(_names(git(root, "ls-files", "--others", "--exclude-standard", "-z")))
    digest = sha256(commit.encode())
    for name in changed:
        path = root / name
        # params.yaml counts by its values; dvc.lock tells what is built, not what is to be built.
        if name not in (str(PARAMS_FILE), "dvc.lock"):
            digest.update(f"\0{name}\0".encode())
            digest.update(path.read_bytes() if path.is_file() else b"(gone)")
    return Baseline(commit, changed, untracked, digest.hexdigest())


def _names(listed: str) -> list[str]:
    return [name for name in listed.split("\0") if name]


class Workspace:
    """The clone of the project at `root`. As a context manager: made when entered, removed when left.

    What a killed study left is ended and removed first.
    """

    folder = FOLDER
    shared: tuple[str, ...] = SHARED
    # How files come out of the cache; None: as the project has it.
    link_type: str | None = None

    def __init__(self, root: Path, start: Baseline) -> None:
        self.root, self.start = root.resolve(), start
        self.path = self.root / self.folder
        self.environment = environment() | {"CI": "1"}
        if not (os.environ.get("GIT_AUTHOR_NAME") or _has_identity(self.root)):
            self.environment |= _AUTHOR

    def __enter__(self) -> Self:
        remove(self.root, self.folder)
        try:
            self._make()
        except BaseException:
            remove(self.root, self.folder)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        remove(self.root, self.folder)

    def _make(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        git(self.root, "clone", "--quiet", "--shared", "--no-checkout", str(self.root), str(self.path))
        git(self.path, "checkout", "--quiet", "--detach", self.start.commit)
        for name in {*self.start.changed, "dvc.lock"}:
            _copy(self.root / name, self.path / name)
        (self.path / ".nightjar").mkdir(exist_ok=True)
        for name in self.shared:
            (self.root / ".nightjar" / name).mkdir(exist_ok=True)
            _link(self.root, self.path, Path(".nightjar", name))
        for name in self._set_up_dvc():
            _link(self.root, self.path, Path(name))

    def _set_up_dvc(self) -> list[str]:
        """Let the clone use the project's cache; returns inputs that are in the project but not in the clone."""
        from configobj import ConfigObj
        from dvc.repo import Repo

        with Repo(str(self.root)) as repo:
            local = self.root / ".dvc/config.local"
            config = ConfigObj(str(local) if local.is_file() else None)
            config.setdefault("cache", {})["dir"] = repo.cache.local_cache_dir
            if self.link_type is not None:
                config["cache"]["type"] = self.link_type
            config.filename = str(self.path / ".dvc/config.local")
            config.write()
            made = {out.fs_path for stage in repo.index.stages if stage.cmd for out in stage.outs}
            inputs = {
                Path(dep.fs_path).relative_to(self.root).as_posix()
                for stage in repo.index.stages
                for dep in stage.deps
                if dep.is_in_repo and dep.fs_path not in made
            }
        params = read_optional(self.root / PARAMS_FILE)
        models = params.get("models")
        sources = {
            str(model.get("source"))
            for model in (models.values() if isinstance(models, Mapping) else ())
            if isinstance(model, Mapping)
        }
        inputs |= {name for name in sources if ":" not in name and not Path(name).is_absolute()}
        return sorted(
            name for name in inputs if (self.root / name).exists() and not (self.path / name).exists()
        )

    def repro(self, target: str, settings: Mapping[str, Any], log: Path, begun: Callable[[str], None]) -> Ran:
        """Run `target` and what it needs with `settings` in params.yaml; `begun` hears of each stage that runs.

        The output goes to the file `log`. Any exception, Ctrl-C among them, ends the whole process group.
        """
        text = (self.root / PARAMS_FILE).read_text(encoding="utf-8")
        (self.path / PARAMS_FILE).write_text(profiles.edited(text, settings), encoding="utf-8")
        return self._dvc(["repro", target], target, log, begun)

    def save(self, name: str, target: str, message: str, log: Path) -> str:
        """Save what the last run made as the experiment `name` of the project; returns its commit.

        Raises NightjarError if DVC cannot.
        """
        command = ["exp", "save", "--force", "--name", name, "--message", message, target]
        ran = self._dvc(command, "exp save", log, lambda _: None)
        if ran.code:
            raise NightjarError(f"DVC could not save the experiment: {ran.error}", name, f"see {log}")
        reference = ref(self.start.commit, name)
        git(self.root, "fetch", "--quiet", "--no-tags", str(self.path), f"+{reference}:{reference}")
        return git(self.root, "rev-parse", reference).strip()

    def _dvc(self, arguments: list[str], name: str, log: Path, begun: Callable[[str], None]) -> Ran:
        began = time.monotonic()
        listener = _Listener(begun)
        command = [sys.executable, "-m", "dvc", *arguments]
        log.parent.mkdir(parents=True, exist_ok=True)
        process, group = groups.start(
            command,
            self.path,
            self.environment,
            name,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            with log.open("a", encoding="utf-8") as file:
                stream = process.stdout or io.BytesIO()
                follow(process, stream, threading.Event(), lambda lines: listener.hear(lines, file))
            process.wait()
        finally:
            if process.poll() is None or groups.members(group.number):
                groups.end(group, lock=self.path / groups.DVC_LOCK)
                process.wait()
            groups.forget(group)
            if process.stdout is not None:
                process.stdout.close()
        return Ran(process.returncode, time.monotonic() - began, listener.stages, listener.error)


def ref(commit: str, name: str) -> str:
    """The Git reference of the DVC experiment `name` on top of `commit`."""
    return f"refs/exps/{commit[:2]}/{commit[2:]}/{name}"


def saved(root: Path, commit: str, names: Iterable[str]) -> dict[str, str]:
    """Those of the experiments `names` that are there, with their commits."""
    listed = git(root, "for-each-ref", "--format=%(refname) %(objectname)", "refs/exps").splitlines()
    known = dict(line.split(" ", 1) for line in listed)
    return {name: known[ref(commit, name)] for name in names if ref(commit, name) in known}


def remove(root: Path, folder: Path = FOLDER) -> list[str]:
    """End what a killed study left running, and remove its workspace; returns the names of what was ended."""
    path = root / folder
    if not path.exists():
        return []
    ended = groups.end_orphans(path, lock=path / groups.DVC_LOCK)
    # Links into the project are removed as links: rmtree does not follow them.
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        raise NightjarError("cannot be removed", path, "remove it by hand")
    return ended


def _has_identity(root: Path) -> bool:
    asked = (["git", "config", f"user.{key}"] for key in ("name", "email"))
    return all(subprocess.run(command, cwd=root, capture_output=True).returncode == 0 for command in asked)


def _copy(source: Path, target: Path) -> None:
    """The file as it is in the project; where it is gone there, gone."""
    if source.is_symlink() or source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
    elif target.is_file():
        target.unlink()


def _link(root: Path, clone: Path, name: Path) -> None:
    (clone / name).parent.mkdir(parents=True, exist_ok=True)
    (clone / name).symlink_to(root / name)


class _Listener:
    """Reads out of DVC's remarks which stages ran or were restored, and the last line that tells of a fault."""

    def __init__(self, begun: Callable[[str], None]) -> None:
        self.stages: dict[str, str] = {}
        self._begun, self._last, self._fault, self._own = begun, "", "", ""

    def hear(self, lines: list[str], file: IO[str]) -> None:
        """Write the lines to `file`, and take note of what they tell."""
        file.writelines(line + "\n" for line in lines)
        file.flush()
        for line in lines:
            self._hear(line)

    def _hear(self, line: str) -> None:
        words = line.split("'")
        if line.startswith("Running stage '"):
            self.stages[words[1]] = "ran"
            self._begun(words[1])
        elif line.startswith("Stage '") and "is cached" in line:
            self.stages[words[1]] = "restored"
        elif line.startswith("ERROR: "):
            self._fault = self._fault or line.removeprefix("ERROR: ")
            self._own = self._own or self._last
        elif line.strip() and not line.startswith(("> ", "Updating lock", "Generating lock")):
            self._last = line.strip()

    @property
    def error(self) -> str:
        """The failed stage's own last line if it said one, with DVC's remark."""
        said = self._own if "failed to run" in self._fault else ""
        return said or self._fault or self._last or "ended without a word"
