"""dvc.lock: an entry written alone leaves the bytes of DVC's own write, and stages that end in any order its order."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from dvc.lock import Lock
from dvc.repo import Repo as DvcRepo
from dvc.repo import lock_repo
from dvc.utils.serialize import load_yaml

from pipelines.graph import lock_file
from tests.pipelines.conftest import Repo, wait_for
from tests.pipelines.graph.test_dvc_adapter import run

LOCK = "dvc.lock"

COMMANDS = {
    "a": "echo a",
    "-{0}": 'echo "it\'s: quoted" # no comment',
    "each@é": "echo é→",
    "long": "echo " + "word " * 60,
    "lines": ["echo one", "two: 2"],
    "block": "echo one\n\n  echo two\n# three\nstages:\n",
    "yes": "true",
}


@pytest.mark.parametrize("datasets", ["", "datasets:\n- name: d\n  type: dvc\n  url: u\n"])
def test_each_entry_is_written_and_replaced_as_dvc_does(repo: Repo, datasets: str) -> None:
    repo.write(params="rate: 5e-05\nnone: null\ndeep: {list: [1, {a: x}], text: '1e3'}\n")
    ours, theirs = repo.root / "dvc.lock", repo.root / "theirs.lock"
    text = "schema: '2.0'\nstages:\n  first:\n    cmd: |-\n      one\n\n      two\n"
    ours.write_text(text + datasets)
    with contextlib.chdir(repo.root), DvcRepo(str(repo.root)) as dvc:
        for turn in ("", " again"):
            for name, command in [*COMMANDS.items(), ("first", "shorter")]:
                written = f"{command}{turn}" if isinstance(command, str) else [*command, f"x{turn}"]
                stage = dvc.stage.create(
                    cmd=written, name="x", validate=False, params=["rate", "none", "deep"]
                )
                stage.name = name
                with lock_repo(dvc):
                    stage.save_deps()
                    shutil.copy(ours, theirs)
                    stage.dump(update_pipeline=False)
                wanted = ours.read_bytes()
                shutil.copy(theirs, ours)
                assert lock_file.write(ours, stage, {}), name
                assert ours.read_bytes() == wanted, name
                for path in (ours, theirs):  # the first entry of a file that does not exist yet
                    path.rename(path.with_suffix(".kept"))
                with lock_repo(dvc):
                    stage.dump(update_pipeline=False)
                wanted = ours.read_bytes()
                ours.unlink()
                assert lock_file.write(ours, stage, {}), name
                assert ours.read_bytes() == wanted, name
                for path in (ours, theirs):
                    path.with_suffix(".kept").rename(path)


def test_what_has_another_form_is_left_to_dvc(repo: Repo) -> None:
    path = repo.root / "dvc.lock"
    with contextlib.chdir(repo.root), DvcRepo(str(repo.root)) as dvc:
        stage = dvc.stage.create(cmd="echo", name="a", validate=False)
        for text in (
            "",
            "stages: {}\n",
            "stages:\n  a:\n    cmd: x\n",
            f"{lock_file.HEAD}    a:\n        cmd: x\n",
            f"{lock_file.HEAD}  a: {{cmd: x}}\n",
            f"{lock_file.HEAD}  b:\n    cmd: 'x\n  a:\n\n  '\n",
            f"{lock_file.HEAD}  ? b\n  : cmd: x\n",
            f"{lock_file.HEAD[:20]}",
        ):
            path.write_text(text)
            assert not lock_file.write(path, stage, {}), text
            assert path.read_text() == text


def order(repo: Repo, file: str = LOCK) -> list[str]:
    return list(load_yaml(repo.root / file)["stages"])


def written(repo: Repo) -> list[str]:
    """The entries while DVC runs, which writes the file in place: read under its lock."""
    with Lock(repo.root / ".dvc/tmp/lock", wait=True):
        return order(repo) if (repo.root / LOCK).is_file() else []


def test_a_new_entry_stands_in_the_order_of_dvc_and_the_others_keep_theirs(repo: Repo) -> None:
    (repo.root / "sub").mkdir()
    stage = "  {0}:\n    cmd: touch {0}.out\n    outs: [{0}.out]\n"
    repo.write(dvc="stages:\n" + stage.format("z") + stage.format("a"))
    repo.dvc("repro")
    # z is removed, and keeps its place as DVC keeps it.
    repo.write(dvc="stages:\n" + "".join(stage.format(name) for name in "bdca"))
    (repo.root / "sub/dvc.yaml").write_text("stages:\n" + "".join(stage.format(name) for name in "yx"))
    for name in ("c", "sub/dvc.yaml:x", "sub/dvc.yaml:y", "b"):
        assert run(repo, name) == "ran"
    assert (order(repo), order(repo, "sub/dvc.lock")) == (["z", "b", "c", "a"], ["y", "x"])


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


@pytest.mark.slow
def test_a_parallel_rebuild_interrupted_and_finished_leaves_the_lock_of_a_serial_repro(
    repo: Repo, tmp_path: Path
) -> None:
    repo.write(dvc=SLOW, source="1")
    serial = Repo(tmp_path / "serial")
    shutil.copytree(repo.root, serial.root)
    serial.dvc("repro")
    first = repo.start("rebuild", "--jobs", "4")
    wait_for(lambda: written(repo), what="an entry")
    first.terminate()
    first.communicate(timeout=200)
    assert first.returncode == 130
    done = repo.nightjar("rebuild", "--jobs", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (repo.root / LOCK).read_bytes() == (serial.root / LOCK).read_bytes()
    for path in sorted(serial.root.glob("*.out")):
        assert (repo.root / path.name).read_bytes() == path.read_bytes()
