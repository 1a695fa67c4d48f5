"""The clone of a study, in .nightjar/study, where every point is run and saved.

`dvc exp run --temp` is not used. A signal that ends it leaves its folder and the command of the stage behind, and it
has neither checkpoints nor inputs that Git ignores. The clone shares these and the DVC cache with the project, and
with that the run cache, which restores earlier results. `dvc exp save` saves a point, and Git fetches it into the
project.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Self

from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE, read_optional
from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from pipelines.graph import repository as graphs
from pipelines.graph.graph import Graph
from pipelines.process.child import GRACE
from pipelines.project.git import Baseline, git, try_git
from pipelines.project.names import LOCK_FILE
from pipelines.run.results import Listener, Result
from pipelines.run.run import Run
from pipelines.run.run_stage import Stages, dvc
from pipelines.versions.revision_files import cache_dir

_AUTHOR = {
    "GIT_AUTHOR_NAME": "nightjar",
    "GIT_AUTHOR_EMAIL": "nightjar@localhost",
    "GIT_COMMITTER_NAME": "nightjar",
    "GIT_COMMITTER_EMAIL": "nightjar@localhost",
}


class Clone:
    """The clone of the project at `root`. As a context manager: made when entered, removed when left.

    The clone of a killed study is removed first.
    """

    folder = paths.STUDY_CLONE
    # Unfinished work of killed stages, which they resume.
    shared: tuple[str, ...] = ("checkpoints",)
    # How files come out of the cache; None: as in the project.
    link_type: str | None = None

    def __init__(self, root: Path, start: Baseline) -> None:
        self.root, self.start = root.resolve(), start
        self.path = self.root / self.folder

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
        git(self.path, "restore", "--source", self.start.tree, "--", ".")
        (self.path / LOCK_FILE).unlink(missing_ok=True)
        if (self.root / LOCK_FILE).is_file():
            shutil.copyfile(self.root / LOCK_FILE, self.path / LOCK_FILE)
        (self.path / paths.OWN).mkdir(exist_ok=True)
        for name in self.shared:
            (self.root / paths.OWN / name).mkdir(exist_ok=True)
            _link(self.root, self.path, paths.OWN / name)
        self._share_cache()
        for name in self._unknown_inputs():
            if (self.root / name).exists() and not (self.path / name).exists():
                _link(self.root, self.path, Path(name))

    def _share_cache(self) -> None:
        from configobj import ConfigObj

        local = self.root / ".dvc/config.local"
        config = ConfigObj(str(local) if local.is_file() else None)
        config.setdefault("cache", {})["dir"] = str(cache_dir(self.root))
        if self.link_type is not None:
            config["cache"]["type"] = self.link_type
        config.filename = str(self.path / ".dvc/config.local")
        config.write()

    def _unknown_inputs(self) -> list[str]:
        """Inputs of the clone's stages that neither Git nor a stage provides, outer folders first."""
        with graphs.opened(self.path) as repo:
            items = [item for item in graphs.external_inputs(repo.index.stages) if item.is_in_repo]
            inputs = {Path(item.fs_path).relative_to(self.path).as_posix() for item in items}
        models = read_optional(self.path / PARAMS_FILE).get("models")
        for model in models.values() if isinstance(models, Mapping) else ():
            source = str(model.get("source")) if isinstance(model, Mapping) else ":"
            if ":" not in source and not Path(source).is_absolute():
                inputs.add(source)
        return sorted(inputs)

    def inputs(self, target: str) -> dict[str, str]:
        """The hashes of the inputs of `target` and the stages before it that Git does not have: see graph.inputs."""
        return graphs.inputs(self.path, target, self.start.tracked_paths | {PARAMS_FILE.as_posix()})

    def run(
        self,
        execute: Callable[[Run], dict[str, Result]],
        target: str,
        params: str,
        logs: Path,
        listen: Listener,
        stop: threading.Event,
    ) -> dict[str, Result]:
        """Run `target` and what it needs with `params` as params.yaml, by `execute`; returns the results by stage. Logs
        go to `logs`, a folder of the project. Raises NightjarError if DVC or a setting refuses the graph.
        """
        write_text(self.path / PARAMS_FILE, params)
        with Stages(self.path) as stages:
            graph = Graph(self.root, graphs.read(self.path).only([target]).stages)
            return execute(Run(graph, stages, logs, listen, stop, keep_going=False, clone=self.path))

    def save(self, name: str, target: str, message: str, log: Path, stop: threading.Event) -> None:
        """Save the result of the last run as the experiment `name`. Raises NightjarError if DVC cannot."""
        command = ["exp", "save", "--force", "--name", name, "--message", message, target]
        author = os.environ.get("GIT_AUTHOR_NAME") or try_git(self.root, "config", "user.email")
        ended = dvc(command, self.path, log, stop, {} if author else _AUTHOR)
        if ended.state != "ran":
            raise NightjarError(f"DVC could not save the experiment: {ended.error}", name, f"see {log}")
        reference = ref(self.start.commit, name)
        git(self.root, "fetch", "--quiet", "--no-tags", str(self.path), f"+{reference}:{reference}")


def ref(commit: str, name: str) -> str:
    """The Git reference of the DVC experiment `name` on top of `commit`."""
    return f"refs/exps/{commit[:2]}/{commit[2:]}/{name}"


def saved(root: Path, commit: str, names: Iterable[str]) -> dict[str, str]:
    """Return the commits of those experiments `names` that exist."""
    listed = git(root, "for-each-ref", "--format=%(refname) %(objectname)", "refs/exps").splitlines()
    commits = dict(line.split(" ", 1) for line in listed)
    return {name: commits[ref(commit, name)] for name in names if ref(commit, name) in commits}


def remove(root: Path, folder: Path = paths.STUDY_CLONE) -> None:
    """Remove the clone. Processes of a killed study may write to it until their guards have ended them.

    Raises NightjarError if it cannot be removed.
    """
    path = root / folder
    deadline = time.monotonic() + 2 * GRACE
    while path.exists():
        # Links into the project are removed as links: rmtree does not follow them.
        shutil.rmtree(path, ignore_errors=True)
        if path.exists() and time.monotonic() > deadline:
            raise NightjarError("cannot be removed", path, "remove it by hand")


def _link(root: Path, clone: Path, name: Path) -> None:
    (clone / name).parent.mkdir(parents=True, exist_ok=True)
    (clone / name).symlink_to(root / name)
