"""An entry that is spliced into a lock file leaves the bytes that DVC's own write leaves."""

from __future__ import annotations

import contextlib
import shutil

import pytest
from dvc.repo import Repo as DvcRepo
from dvc.repo import lock_repo

from pipelines.graph import lock_entry
from tests.pipelines.conftest import Repo

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
                assert lock_entry.write(ours, stage), name
                assert ours.read_bytes() == wanted, name
                for path in (ours, theirs):  # the first entry of a file that does not exist yet
                    path.rename(path.with_suffix(".kept"))
                with lock_repo(dvc):
                    stage.dump(update_pipeline=False)
                wanted = ours.read_bytes()
                ours.unlink()
                assert lock_entry.write(ours, stage), name
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
            f"{lock_entry.HEAD}    a:\n        cmd: x\n",
            f"{lock_entry.HEAD}  a: {{cmd: x}}\n",
            f"{lock_entry.HEAD}  b:\n    cmd: 'x\n  a:\n\n  '\n",
            f"{lock_entry.HEAD}  ? b\n  : cmd: x\n",
            f"{lock_entry.HEAD[:20]}",
        ):
            path.write_text(text)
            assert not lock_entry.write(path, stage), text
            assert path.read_text() == text


def test_an_entry_is_inserted_at_its_place_and_before_the_end_of_the_list() -> None:
    text = lock_entry.HEAD + "  a:\n    cmd: 1\n  b:\n    cmd: 2\nother: 3\n"

    def spliced(block: str, name: str, at: int) -> tuple[str, list[str]]:
        return lock_entry.splice(text, block, name, lambda names: at)

    assert spliced("  a:\n    cmd: 4\n", "a", 1) == (text.replace("1", "4"), ["a", "b"])
    assert spliced("  c:\n", "c", 2) == (text.replace("other", "  c:\nother"), ["a", "b", "c"])
    assert spliced("  c:\n", "c", 1) == (text.replace("  b", "  c:\n  b"), ["a", "c", "b"])
