"""A child process and everything in its group ends with its starter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from pipelines.process.child import Child, alive, identity
from tests.pipelines.conftest import lives, wait_for

# Writes its number to a file, and starts another process that ignores TERM and does the same.
STUBBORN = "trap '' TERM; echo $$ > inner; while :; do sleep 0.05; done"
FAMILY = f'sh -c "{STUBBORN.replace("$", chr(92) + "$")}" & echo $$ > outer; exec sleep 300'
STARTER = """
import os, sys
from pathlib import Path
from pipelines.process.child import Child
child = Child(["sh", "-c", sys.argv[1]], Path.cwd(), dict(os.environ), grace=0.2)
Path("guard").write_text(str(child.pid))
child.wait()
"""


def start(command: str, folder: Path, **more: object) -> Child:
    return Child(["sh", "-c", command], folder, os.environ, **more)  # type: ignore[arg-type]


def number(path: Path) -> int:
    wait_for(lambda: path.exists() and path.read_text().strip().isdigit())
    return int(path.read_text())


def family(folder: Path) -> list[int]:
    return [number(folder / name) for name in ("outer", "inner")]


def gone(pids: list[int]) -> None:
    wait_for(lambda: not any(map(lives, pids)))


@pytest.mark.parametrize(("command", "status"), [("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143)])
def test_the_exit_status_is_that_of_the_command(command: str, status: int, tmp_path: Path) -> None:
    child = start(command, tmp_path)
    assert child.wait(20) == status == child.poll() == child.close()


def test_a_command_that_does_not_exist_is_one_line_and_127(tmp_path: Path) -> None:
    child = Child(["no-such-command"], tmp_path, os.environ, stderr=subprocess.STDOUT, stdout=subprocess.PIPE)
    assert child.stdout is not None
    text = child.stdout.read().decode()
    assert child.close() == 127
    assert text == "nightjar: no-such-command: No such file or directory; see cmd in dvc.yaml\n"


def test_the_command_has_the_folder_environment_input_and_signals_of_an_ordinary_child(
    tmp_path: Path,
) -> None:
    (tmp_path / "input").write_text("from stdin")
    command = "import os, signal, sys; print(os.getcwd(), os.environ['A'], os.environ['PYTHONPATH'], sys.stdin.read())"
    ignored = "print([s for s in signal.Signals if signal.getsignal(s) == signal.SIG_IGN], os.listdir('/proc/self/fd'))"
    argv, variables = [sys.executable, "-c", f"{command}; {ignored}"], {"A": "b", "PYTHONPATH": "c"}
    with (tmp_path / "input").open() as stdin:
        expected = subprocess.run(
            argv, cwd=tmp_path, env=variables, stdin=stdin, capture_output=True, check=True
        )
    with (tmp_path / "input").open() as stdin:
        child = Child(argv, tmp_path, variables, stdin=stdin.fileno(), stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.read() == expected.stdout
    assert b"from stdin" in expected.stdout and child.close() == 0


def test_end_gives_the_group_time_to_end_in_order(tmp_path: Path) -> None:
    child = start(
        "trap 'echo ended > out; exit 5' TERM; echo $$ > outer; while :; do sleep 0.01; done", tmp_path
    )
    number(tmp_path / "outer")
    assert child.poll() is None
    assert child.close() == 5 == child.close()
    assert (tmp_path / "out").read_text() == "ended\n"


def test_end_kills_what_ignores_term(tmp_path: Path) -> None:
    with start(FAMILY, tmp_path, grace=0.2) as child:
        pids = family(tmp_path)
    assert not any(map(lives, [child.pid, *pids]))


def test_what_a_command_leaves_behind_in_its_group_is_ended(tmp_path: Path) -> None:
    child = start("sleep 300 & echo $! > inner", tmp_path)
    pid = number(tmp_path / "inner")
    assert child.wait(20) == 0
    assert not lives(pid)


def test_the_group_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    starter = subprocess.Popen([sys.executable, "-c", STARTER, FAMILY], cwd=tmp_path, env=env())
    pids = [*family(tmp_path), number(tmp_path / "guard")]
    starter.kill()
    starter.wait()
    gone(pids)


def test_the_command_dies_with_its_guard_and_the_starter_ends_the_rest(tmp_path: Path) -> None:
    child = start(FAMILY, tmp_path)
    pids = family(tmp_path)
    os.kill(child.pid, signal.SIGKILL)
    gone(pids[:1])
    assert child.wait(20) == 137
    gone(pids)
    child.close()


def test_the_command_dies_when_starter_and_guard_are_killed_together(tmp_path: Path) -> None:
    command = "echo $$ > outer; exec sleep 300"
    starter = subprocess.Popen([sys.executable, "-c", STARTER, command], cwd=tmp_path, env=env())
    pids = [number(tmp_path / "outer"), number(tmp_path / "guard")]
    psutil.Process(starter.pid).suspend()  # so that it does nothing about it
    os.kill(pids[1], signal.SIGKILL)
    starter.kill()
    starter.wait()
    gone(pids[:1])


def test_a_guard_that_is_stopped_is_killed(tmp_path: Path) -> None:
    child = start("echo $$ > outer; exec sleep 300", tmp_path, grace=0.0)
    pid = number(tmp_path / "outer")
    os.kill(child.pid, signal.SIGSTOP)
    assert child.close() == 137
    gone([pid])


def test_no_other_child_holds_the_pipe(tmp_path: Path) -> None:
    first, second = start("sleep 300", tmp_path), start("sleep 300", tmp_path)
    assert first.close() == 128 + signal.SIGTERM  # not KILL: the command got TERM, however early it was
    assert second.poll() is None
    assert second.close() == 128 + signal.SIGTERM


def env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def test_a_process_is_known_by_boot_and_tick_until_it_has_ended() -> None:
    process = subprocess.Popen(["sleep", "300"])
    known = identity(process.pid)
    assert known.startswith(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    assert alive(process.pid, known) and not alive(os.getpid(), known)
    process.kill()
    wait_for(lambda: not lives(process.pid))
    assert identity(process.pid) == known and not alive(process.pid, known), "a zombie"
    process.wait()
    assert identity(process.pid) == "" and not alive(process.pid, "")
