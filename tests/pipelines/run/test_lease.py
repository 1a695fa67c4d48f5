"""The GPU's lease with real processes: one holder at a time, and freed when the last that holds it is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nightjar.core.errors import NightjarError
from pipelines.run.resources import Gpu, lease_file
from tests.pipelines.conftest import environment, lives, wait_for


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def gpu(told: list[str], name: str = "project") -> Gpu:
    return Gpu(Path(name), lambda stage, message: told.append(f"{stage} {message}"))


def test_one_at_a_time_and_the_others_are_told_once_who_has_it() -> None:
    told: list[str] = []
    first, second = gpu(told, "one"), gpu(told, "two")
    assert first.take("train") and not told
    assert not first.take("predict") and not second.take("train") and not second.take("train")
    held = f"(held by train of one, process {os.getpid()}, since "
    assert [line[: line.index("since ") + 6] for line in told] == [
        f"predict waits for the GPU {held}",
        f"train waits for the GPU {held}",
    ]
    assert second.descriptor("train") is None
    first.release("train")
    first.release("train")
    assert second.take("train")
    told.clear()
    assert not first.take("predict")
    assert "train of two" in told[0]
    second.release("train")


TAKES = """
import subprocess, sys
from pathlib import Path
from pipelines.run.resources import Gpu
gpu = Gpu(Path("p"), print)
assert gpu.take("s")
child = subprocess.Popen(["sh", "-c", "cat; sleep 300; true"], stdin=gpu.descriptor("s"), start_new_session=True)
print(child.pid, flush=True)
child.wait()
"""


def test_a_killed_holder_keeps_it_as_long_as_its_stage_lives(tmp_path: Path) -> None:
    env = environment() | {"TMPDIR": str(tmp_path)}
    holder = subprocess.Popen([sys.executable, "-c", TAKES], env=env, stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    stage = int(holder.stdout.readline())
    ours = gpu([])
    assert not ours.take("mine")
    holder.kill()
    holder.wait()
    # The shell goes too; what is left is what the shell started, with the descriptor from it.
    # (Between fork and exec a child has the shell's own words: only the first tells what it is.)
    wait_for(
        lambda: Path(f"/proc/{child(stage)}/cmdline").read_bytes().startswith(b"sleep\0"),
        what="the end of the input",
    )
    inner = child(stage)
    os.kill(stage, signal.SIGKILL)
    wait_for(lambda: not lives(stage))
    assert lives(inner) and not ours.take("mine")
    os.kill(inner, signal.SIGKILL)
    wait_for(lambda: ours.take("mine"), 5, "the freed lease")
    ours.release("mine")


def child(pid: int) -> int:
    return int(wait_for(Path(f"/proc/{pid}/task/{pid}/children").read_text).split()[0])


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    lease_file().parent.rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"nightjar-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NightjarError, match="not a folder of this user"):
        lease_file()
