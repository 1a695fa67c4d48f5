"""dvc.lock after stages ended in any order, against what DVC itself writes when it runs them one after another."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from dvc.utils.serialize import dumps_yaml, load_yaml, parse_yaml_for_update

from nightjar.core.errors import NightjarError
from pipelines.graph import dvc_lock, lock_order
from pipelines.graph import graph as graphs
from tests.pipelines.conftest import Api, Repo, wait_for

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


def shuffled(repo: Repo, kept: int, seed: int) -> None:
    """Put the entries of dvc.lock behind the first `kept` in another order, as DVC dumps it."""
    path = repo.root / LOCK
    data = parse_yaml_for_update(path.read_text(), path)
    entries = dict(data["stages"])
    order = list(entries)
    rest = order[kept:]
    random.Random(seed).shuffle(rest)
    for name in order:
        del data["stages"][name]
    for name in order[:kept] + rest:
        data["stages"][name] = entries[name]
    path.write_text(dumps_yaml(data))


def order(repo: Repo, file: str = LOCK) -> list[str]:
    return list(load_yaml(repo.root / file)["stages"])


def written(repo: Repo) -> list[str]:
    """The entries while DVC runs, which writes the file in place: read under its lock."""
    with dvc_lock.RepositoryLock(repo.root / dvc_lock.FILE):
        return order(repo) if (repo.root / LOCK).is_file() else []


@pytest.mark.parametrize("seed", [1, 2])
def test_any_order_becomes_that_of_dvc_to_the_byte(repo: Repo, seed: int) -> None:
    repo.write(dvc=random_graph(seed), source="1")
    graph = graphs.read(repo.root)
    some = random.Random(seed).choice([name for name in graph.stages if graph.stages[name].upstream])
    wanted = {}
    for start in ("empty", "partly"):
        if start == "partly":
            (repo.root / LOCK).unlink()
            repo.dvc("repro", some, "g@c")
        kept = len(order(repo)) if start == "partly" else 0
        lock_order.remember(graph)
        repo.dvc("repro")
        wanted[start] = (repo.root / LOCK).read_bytes()
        assert lock_order.restore(repo.root) == [] and not lock_order.pending(repo.root)
        for turn in range(4):
            (repo.root / LOCK).write_bytes(wanted[start])
            entries = order(repo)
            _remember(repo, entries[:kept])
            shuffled(repo, kept, turn)
            moved = order(repo) != entries
            assert lock_order.restore(repo.root) == ([LOCK] if moved else [])
            assert (repo.root / LOCK).read_bytes() == wanted[start]
    assert wanted["empty"] != wanted["partly"], "the two starts do not differ: nothing was tried"


def _remember(repo: Repo, kept: list[str]) -> None:
    (repo.root / lock_order.FOUND).write_text(f'{{"{LOCK}": {kept}}}'.replace("'", '"'))


def test_two_files_entries_of_stages_that_are_no_more_and_an_interrupted_rebuild(repo: Repo) -> None:
    (repo.root / "sub").mkdir()
    stage = "  {0}:\n    cmd: touch {0}.out\n    outs: [{0}.out]\n"
    repo.write(dvc="stages:\n" + stage.format("z") + stage.format("a"))
    repo.dvc("repro")
    assert order(repo) == ["z", "a"]
    # z is gone, and keeps its place as DVC keeps it.
    repo.write(dvc="stages:\n" + "".join(stage.format(name) for name in "bca"))
    (repo.root / "sub/dvc.yaml").write_text("stages:\n" + "".join(stage.format(name) for name in "yx"))
    graph = graphs.read(repo.root)
    lock_order.remember(graph)
    for name in ("c", "sub/dvc.yaml:x"):
        repo.dvc("repro", "--single-item", name)
    lock_order.remember(graph)  # the one that finishes it
    for name in ("sub/dvc.yaml:y", "b"):
        repo.dvc("repro", "--single-item", name)
    assert (order(repo), order(repo, "sub/dvc.lock")) == (["z", "a", "c", "b"], ["x", "y"])
    assert lock_order.restore(repo.root) == [LOCK, "sub/dvc.lock"]
    assert (order(repo), order(repo, "sub/dvc.lock")) == (["z", "a", "b", "c"], ["y", "x"])
    # A dvc.lock from elsewhere is nobody's to put in order.
    _remember(repo, ["a", "z"])
    assert lock_order.restore(repo.root) == [] and order(repo) == ["z", "a", "b", "c"]
    (repo.root / LOCK).write_text("stages: [")
    with pytest.raises(NightjarError, match=r"dvc\.lock"):
        lock_order.remember(graph)


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
    repo: Repo, api: Api, tmp_path: Path
) -> None:
    repo.write(dvc=SLOW, source="1")
    serial = Repo(tmp_path / "serial")
    shutil.copytree(repo.root, serial.root)
    serial.dvc("repro")
    api.serve(repo)
    first = repo.start("rebuild", "--jobs", "4")
    wait_for(lambda: written(repo), 60, "an entry")
    first.terminate()
    first.communicate(timeout=30)
    assert first.returncode == 130 and lock_order.pending(repo.root)
    done = repo.nightjar("rebuild", "--jobs", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (repo.root / LOCK).read_bytes() == (serial.root / LOCK).read_bytes()
    for path in sorted(serial.root.glob("*.out")):
        assert (repo.root / path.name).read_bytes() == path.read_bytes()
