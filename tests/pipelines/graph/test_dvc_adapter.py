"""What the adapter writes is what a serial `dvc repro` writes, and it is made for the DVC that is installed."""

from __future__ import annotations

import contextlib
import inspect
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import pytest
from dvc.dependency import ParamsDependency
from dvc.lock import Lock, LockError
from dvc.repo import Repo as DvcRepo
from dvc.stage import PipelineStage, Stage

from pipelines.graph import dvc_run, lock_file
from pipelines.graph import repository as graphs
from pipelines.graph.dvc_adapter import Parameters, Project
from tests.pipelines.conftest import Repo, environment

DVC = """
stages:
  split:
    foreach: ${names}
    do:
      cmd: python write.py ${item} ${size} > ${item}.out
      deps: [source.txt, write.py]
      params: [size, {more.yaml: [depth.one]}]
      outs: ["${item}.out"]
  folder:
    cmd:
    - mkdir -p made/deep
    - cp a.out made/one; cp b.out made/deep/two
    deps: [a.out, b.out]
    outs: [made]
  metrics:
    cmd: echo '{"score":' $(cat made/one | wc -c)'}' > score.json; echo kept >> log.txt
    deps: [made]
    metrics:
    - score.json:
        cache: false
    outs:
    - log.txt:
        persist: true
  plain:
    cmd: cp made/one plain.txt
    deps: [made]
    outs:
    - plain.txt:
        cache: false
  inside:
    wdir: sub
    cmd: cat ../made/one added.txt > inside.out
    deps: [../made/one, added.txt]
    outs: [inside.out]
  always:
    cmd: cp source.txt always.out
    always_changed: true
    deps: [source.txt]
    outs: [always.out]
  frozen:
    cmd: echo frozen > frozen.out
    frozen: true
    deps: [source.txt]
    outs: [frozen.out]
  callback:
    cmd: 'true'
"""
WRITE = "import sys; print(sys.argv, open('source.txt').read())"


def project(root: Path, empty: Path) -> Repo:
    shutil.copytree(empty, root)
    repo = Repo(root)
    repo.write(dvc=DVC, params="names: [a, b]\nsize: 3\n", source="1")
    (root / "more.yaml").write_text("depth: {one: 1}\n")
    (root / "write.py").write_text(WRITE)
    (root / "frozen.out").write_text("frozen\n")
    (root / "sub").mkdir()
    (root / "sub/added.txt").write_text("added\n")
    repo.dvc("add", "--quiet", "sub/added.txt")
    return repo


def everything(root: Path) -> dict[str, bytes]:
    """All files that DVC writes: outputs, lock files, the cache, the run cache and .gitignore."""
    left_out = {".git", ".dvc/tmp", ".nightjar"}
    return {
        name: path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
        and not any((name := path.relative_to(root).as_posix()).startswith(f"{out}/") for out in left_out)
    }


@contextlib.contextmanager
def repository(repo: Repo) -> Iterator[DvcRepo]:
    with contextlib.chdir(repo.root), DvcRepo(str(repo.root)) as found:
        yield found


def run(repo: Repo, name: str, project: Project | None = None) -> str:
    """Run a stage as the worker and its starter do; returns what was done."""
    with contextlib.chdir(repo.root):
        project = project or Project(repo.root)
        begun = dvc_run.begin(project, name)
        if isinstance(begun, bool):
            return "restored" if begun else "unchanged"
        folder, environment = begun.surroundings
        try:
            for command in begun.commands:
                subprocess.run(command, cwd=folder, env=environment, check=True)
            dvc_run.finish(project, begun)
        finally:
            begun.reserved.close()
        return "ran"


def test_every_file_is_that_of_a_serial_repro(
    empty_repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", environment()["PATH"])  # a machine may have python3 alone
    serial, ours = project(tmp_path / "serial", empty_repo), project(tmp_path / "ours", empty_repo)
    states: dict[str, list[str]] = {}
    kept = Project(ours.root)
    for turn, size in enumerate((3, 4, 3)):  # all is new; all changes; what was is restored
        for repo in (serial, ours):
            repo.write(params=f"names: [a, b]\nsize: {size}\n")
        serial.dvc("repro", "--quiet")
        for name in order(serial):
            states.setdefault(name, []).append(run(ours, name, kept))
        theirs = everything(serial.root)
        assert everything(ours.root) == theirs, f"turn {turn + 1}"
        assert any(name.startswith(".dvc/cache/runs/") for name in theirs)
    assert states == {
        "split@a": ["ran", "ran", "restored"],
        "split@b": ["ran", "ran", "restored"],
        "folder": ["ran", "ran", "restored"],
        "metrics": ["ran", "ran", "ran"],  # DVC keeps no runs of a persistent output
        "plain": ["ran", "ran", "ran"],  # and none of outputs that it does not cache
        "sub/added.txt.dvc": ["unchanged"] * 3,
        "inside": ["ran", "ran", "restored"],
        "always": ["ran"] * 3,
        "frozen": ["restored", "unchanged", "unchanged"],  # recorded as it lies there
        "callback": ["ran"] * 3,
    }


def order(repo: Repo) -> list[str]:
    """The stages in the order of `dvc repro`."""
    with repository(repo) as dvc:
        from dvc.repo.reproduce import collect_stages, get_active_graph, plan_repro

        graph = get_active_graph(dvc.index.graph)
        plan = plan_repro(graph, collect_stages(dvc, ["dvc.yaml"]))
        return [stage.addressing for stage in plan]


def test_the_adapter_is_made_for_this_version_of_dvc() -> None:
    advice = "compare Stage.reproduce and Stage.run with dvc_run.begin and finish, then change these tests"
    assert version("dvc").rsplit(".", 1)[0] == "3.67", advice
    steps = {
        Stage.reproduce: ("self.changed(", "self.run("),
        Stage.run: ("self.remove_outs(", "self._run_stage(", "self.save(", "self.commit("),
    }
    for method, calls in steps.items():
        text = inspect.getsource(inspect.unwrap(method))
        assert [call for call in calls if call not in text] == [], advice
        assert [text.index(call) for call in calls] == sorted(text.index(call) for call in calls), advice


def test_the_graph_is_that_of_dvc(empty_repo: Path, tmp_path: Path) -> None:
    repo = project(tmp_path / "repo", empty_repo)
    # DVC finds no stages in what a stage makes, and in what Git or DVC ignores.
    stages = "stages:\n  x: {cmd: touch x, deps: [../a.out], outs: [x]}\n"
    for folder in ("made", "ignored", "left-out", "sub/further"):
        (repo.root / folder).mkdir(parents=True)
        (repo.root / folder / "dvc.yaml").write_text(stages)
    (repo.root / ".gitignore").write_text("/ignored\n")
    (repo.root / ".dvcignore").write_text("left-out\n")
    with repository(repo) as dvc:
        wanted = {
            stage.addressing: {it.addressing for it in dvc.index.graph[stage]} for stage in dvc.index.graph
        }
        edges = Project(repo.root).edges()
        found = {stage.addressing: {it.addressing for it in edges[stage]} for stage in edges}
        wanted["frozen"] = set()  # DVC leaves its dependencies out when it runs stages
    assert found == wanted and "sub/further/dvc.yaml:x" in found and "made/dvc.yaml:x" not in found


def test_reading_waits_for_the_lock_of_dvc(repo: Repo) -> None:
    project = Project(repo.root)
    with ThreadPoolExecutor() as threads:
        with Lock(project.repo.lock.lockfile, wait=True):
            reads = threads.submit(graphs.read, repo.root)
            assert not reads.done()
        assert reads.result().root == repo.root


@pytest.mark.parametrize(
    "key",
    ["a", "a.b", "a.c.1", "a.c.0.d", "7.x", "missing", "a.b.x", "a.c.9", "a.*", "empty.x", "a.none", ""],
)
@pytest.mark.parametrize(
    "text", ["a: {b: 1, c: [{d: 2}, [3]], none: null}\n7: {x: 4}\nempty:\n", "", "[1]\n", "x"]
)
def test_parameters_are_those_that_dvc_reads(repo: Repo, key: str, text: str) -> None:
    repo.write(params=text)
    project = Project(repo.root)
    stage = PipelineStage(project.repo, str(repo.root / "dvc.yaml"), wdir=str(repo.root))
    dep = ParamsDependency(stage, "params.yaml", [key] if key else [])
    ours = Parameters(dep, project)
    assert outcome(lambda: ours.read_params()) == outcome(lambda: dict(dep.read_params()))
    if key or "a:" in text:  # a whole file that is no mapping is an error of another kind
        assert outcome(ours.get_hash) == outcome(dep.get_hash) and outcome(ours.status) == outcome(dep.status)


def outcome(read: Callable[[], object]) -> object:
    try:
        return read()
    except Exception as error:
        return type(error)


def test_files_reserved_by_a_process_that_is_no_dvc_are_an_error_that_says_so(repo: Repo) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: touch a.out\n    outs: [a.out]\n")
    with subprocess.Popen(["sleep", "300"]) as other:
        (repo.root / ".dvc/tmp").mkdir(exist_ok=True)
        user = f'{{"pid": {other.pid}, "cmd": "dvc repro"}}'
        (repo.root / ".dvc/tmp/rwlock").write_text(f'{{"write": {{"{repo.root}/a.out": {user}}}}}')
        with pytest.raises(LockError, match="remove"):
            dvc_run.begin(Project(repo.root), "a")
        other.kill()


def test_a_write_of_dvc_that_fails_is_undone(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: touch a.out\n    outs: [a.out]\n")
    path = repo.root / "dvc.lock"

    def dump(self: PipelineStage, **_: object) -> None:
        path.write_text("schema: '2")
        raise OSError("the disk is full")

    monkeypatch.setattr(PipelineStage, "dump", dump)
    for text in ("stages: {}\nschema: '2.0'\n", None):
        path.write_text(text) if text else monkeypatch.setattr(lock_file, "write", lambda *_: None)
        with pytest.raises(OSError, match="full"):
            run(repo, "a")
        assert (path.read_text() if path.exists() else None) == text
        path.unlink(missing_ok=True)


def test_an_unfinished_entry_of_the_run_cache_stops_no_stage(repo: Repo) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: cp source.txt a.out\n    deps: [source.txt]\n    outs: [a.out]\n")
    (repo.root / "source.txt").write_text("1")
    assert run(repo, "a") == "ran"
    entry = next((repo.root / ".dvc/cache/runs").glob("*/*"))
    for path in [*entry.iterdir(), repo.root / "dvc.lock"]:
        path.unlink()
    (entry / ".abc.tmp").touch()
    assert graphs.read(repo.root).stages["a"].state == "would run" and not entry.exists()
    assert run(repo, "a") == "ran"


def test_another_shell_runs_the_commands_as_dvc_does(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: echo $0 $- > a.out\n    outs: [a.out]\n")
    monkeypatch.setenv("SHELL", "/bin/bash")
    assert run(repo, "a") == "ran"
    ours = (repo.root / "a.out").read_text()
    assert ours.startswith("/bin/bash ")
    repo.dvc("repro", "--quiet", "--force")
    assert (repo.root / "a.out").read_text() == ours
    assert os.environ["SHELL"] == "/bin/bash"
