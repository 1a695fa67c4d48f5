"""dvc.lock after stages ended in any order, against what DVC itself writes when it runs them one after another."""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from dvc.lock import Lock
from dvc.utils.serialize import load_yaml

from nightjar.core import paths
from pipelines.graph import dvc_run, lock_order
from pipelines.graph import graph as graphs
from pipelines.graph.dvc_adapter import Project
from tests.pipelines.conftest import Repo, wait_for

pytestmark = pytest.mark.slow

LOCK = "dvc.lock"


def random_graph(seed: int) -> str:
    """A graph of seven stages in an order of its own, commands of one and several lines, one group of foreach."""
    draw = random.Random(seed)
    names = [f"s{number}" for number in draw.sample(range(100), 7)]
    stages = []
    for at, name in enumerate(names):
        deps = draw.sample(names[:at], min(at, draw.randint(0, 3)))
        cat = f"cat {' '.join(f'{dep}.out' for dep in deps)} source.txt > {name}.out"
        text = (
            f"  {name}:\n    cmd:\n      - {cat}\n      - 'echo \"{name}: {'long ' * 30}\" >> {name}.out'\n"
        )
        text += "".join(
            f"{'    deps:' if not number else ''}\n      - {dep}.out" for number, dep in enumerate(deps)
        )
        stages.append(text.rstrip() + f"\n    outs: [{name}.out]\n")
    draw.shuffle(stages)
    group = "  g:\n    foreach: [b, a, c]\n    do:\n      cmd: cp source.txt ${item}.g\n      outs: ['${item}.g']\n"
    return "stages:\n" + "".join(stages) + group


def run(repo: Repo, name: str) -> None:
    """Run a stage and record it, as the worker does."""
    with contextlib.chdir(repo.root):
        project = Project(repo.root)
        begun = dvc_run.begin(project, name)
        assert not isinstance(begun, bool)
        with begun.reserved:
            for command in begun.commands:
                subprocess.run(command, cwd=begun.surroundings[0], check=True)
            dvc_run.finish(project, begun)


def any_order(graph: graphs.Graph, draw: random.Random, names: set[str]) -> list[str]:
    """The stages `names`, each after those that it needs, otherwise at random."""
    found: list[str] = []
    while left := sorted(names - set(found)):
        ready = [name for name in left if not (names - set(found)) & set(graph.stages[name].upstream)]
        found.append(draw.choice(ready))
    return found


def order(repo: Repo, file: str = LOCK) -> list[str]:
    return list(load_yaml(repo.root / file)["stages"])


def written(repo: Repo) -> list[str]:
    """The entries while DVC runs, which writes the file in place: read under its lock."""
    with Lock(repo.root / ".dvc/tmp/lock", wait=True):
        return order(repo) if (repo.root / LOCK).is_file() else []


@pytest.mark.parametrize("seed", [1, 2])
def test_stages_that_end_in_any_order_leave_the_file_of_dvc(repo: Repo, seed: int) -> None:
    draw = random.Random(seed)
    repo.write(dvc=random_graph(seed), source="1")
    graph = graphs.read(repo.root)
    some = draw.choice([name for name in graph.stages if graph.stages[name].upstream])
    wanted = {}
    for start in ("empty", "partly"):
        if start == "partly":
            (repo.root / LOCK).unlink()
            repo.dvc("repro", some, "g@c")
        before = (repo.root / LOCK).read_bytes() if start == "partly" else b""
        kept = set(order(repo)) if before else set()
        repo.dvc("repro")
        wanted[start] = (repo.root / LOCK).read_bytes()
        (repo.root / LOCK).write_bytes(before) if before else (repo.root / LOCK).unlink()
        dvc_run.remember(Project(repo.root), [])
        ended = any_order(graph, draw, set(graph.stages) - kept)
        shutil.rmtree(repo.root / ".dvc/cache/runs")
        for name in ended:
            run(repo, name)
        assert (repo.root / LOCK).read_bytes() == wanted[start]
        assert ended != [name for name in order(repo) if name not in kept], "nothing was tried"
        lock_order.forget(repo.root)
    assert wanted["empty"] != wanted["partly"], "the two starts do not differ: nothing was tried"


def test_two_files_entries_of_stages_that_are_no_more_and_an_interrupted_rebuild(repo: Repo) -> None:
    (repo.root / "sub").mkdir()
    stage = "  {0}:\n    cmd: touch {0}.out\n    outs: [{0}.out]\n"
    repo.write(dvc="stages:\n" + stage.format("z") + stage.format("a"))
    repo.dvc("repro")
    assert order(repo) == ["z", "a"]
    # z is gone, and keeps its place as DVC keeps it.
    repo.write(dvc="stages:\n" + "".join(stage.format(name) for name in "bdca"))
    (repo.root / "sub/dvc.yaml").write_text("stages:\n" + "".join(stage.format(name) for name in "yx"))
    dvc_run.remember(Project(repo.root), [])
    for name in ("c", "sub/dvc.yaml:x"):
        run(repo, name)
    dvc_run.remember(Project(repo.root), [])  # the one that finishes it
    for name in ("sub/dvc.yaml:y", "b"):
        run(repo, name)
    assert (order(repo), order(repo, "sub/dvc.lock")) == (["z", "a", "b", "c"], ["y", "x"])
    # A dvc.lock from elsewhere, a damaged record, and no record: a new entry is the last.
    record = repo.root / paths.LOCK_ORDER
    for text in (
        '{"dvc.lock": {"found": ["a", "z"], "plan": ["d"]}}',
        '{"dvc.lock": {"found": 1}}',
        "[",
        None,
    ):
        record.write_text(text) if text else lock_order.forget(repo.root)
        assert lock_order.placing(repo.root, repo.root / LOCK, "d")(order(repo)) == 4


SLOW = """
stages:
  slow:
    cmd: sleep 4; cp source.txt slow.out
    deps: [source.txt]
    outs: [slow.out]
  quick:
    foreach: [c, a, b]
    do:
      cmd: cp source.txt ${item}.out
      deps: [source.txt]
      outs: ["${item}.out"]
  last:
    cmd: cat slow.out a.out > last.out
    deps: [slow.out, a.out]
    outs: [last.out]
"""


def test_a_parallel_rebuild_interrupted_and_finished_leaves_the_lock_of_a_serial_repro(
    repo: Repo, tmp_path: Path
) -> None:
    repo.write(dvc=SLOW, source="1")
    serial = Repo(tmp_path / "serial")
    shutil.copytree(repo.root, serial.root)
    serial.dvc("repro")
    first = repo.start("rebuild", "--jobs", "4")
    wait_for(lambda: written(repo), 60, "an entry")
    first.terminate()
    first.communicate(timeout=30)
    assert first.returncode == 130 and (repo.root / paths.LOCK_ORDER).is_file()
    done = repo.nightjar("rebuild", "--jobs", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (repo.root / paths.LOCK_ORDER).exists()
    assert (repo.root / LOCK).read_bytes() == (serial.root / LOCK).read_bytes()
    for path in sorted(serial.root.glob("*.out")):
        assert (repo.root / path.name).read_bytes() == path.read_bytes()
