"""Standard streams whose faults end nothing, and printable log lines."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stages._runtime.standard_streams import log_to_stderr


def test_log_lines_are_printable(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    try:
        log_to_stderr()
        logging.getLogger("nightjar").info("task %s %s", "\x1b[2Jx", "{0} %s")
    finally:
        root.handlers[:], root.level = handlers, level
    assert capsys.readouterr().err == "task \\x1b[2Jx {0} %s\n"


def run(code: str, redirection: str = "", **variables: str) -> subprocess.CompletedProcess[bytes]:
    """What a protected process does whose streams the shell redirects."""
    imports = "import os, subprocess, sys\nfrom stages._runtime import standard_streams"
    protected = f"{imports}\nstandard_streams.protect()\n{code}"
    return run_program(protected, redirection, **variables)


def run_program(program: str, redirection: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", f'exec "$@" {redirection}', "bash", sys.executable, "-c", program],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), **variables},
        timeout=200,
    )


@pytest.mark.parametrize("redirection", ["<&- >&- 2>&-", ">&-", "2>&-", "> /dev/full 2>&1"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_process_whose_output_is_gone_does_its_work(
    redirection: str, unbuffered: str, tmp_path: Path
) -> None:
    code = f"""
print("é" * 100_000, flush=True)
print("x" * 100_000, file=sys.stderr)
with open({str(tmp_path / "file")!r}, "w") as file:
    assert file.fileno() > 2
    file.write("done")
assert sys.stdin.read() == ""
# What it starts has streams that work.
subprocess.run(["sh", "-c", "echo one && echo two >&2"], check=True)
os.write(1, b"x")
raise SystemExit(7)
"""
    result = run(
        code, f"{'< /dev/null' if '<' not in redirection else ''} {redirection}", PYTHONUNBUFFERED=unbuffered
    )
    assert result.returncode == 7, result.stderr.decode()
    assert (tmp_path / "file").read_text() == "done"
    if redirection == ">&-":
        assert result.stderr.rstrip(b"\n") == b"x" * 100_000 + b"\ntwo"
    if redirection == "2>&-":
        assert result.stdout.decode().startswith("é" * 100_000 + "\none\n")


def test_only_output_that_somebody_wanted_is_lost() -> None:
    code = "print('x')\nraise SystemExit(repr(standard_streams.lost()))"
    assert b"No space left" in run(code, "> /dev/full").stderr
    assert run(code, ">&-").stderr == run(code).stderr == b"None\n"
    read, write = os.pipe()
    os.close(read)
    program = f"from stages._runtime import standard_streams\nstandard_streams.protect()\n{code}"
    gone = subprocess.run(
        [sys.executable, "-c", program], stdout=write, stderr=subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    os.close(write)
    assert gone.stderr == b"None\n"


def test_a_pipe_that_does_not_block_gets_all_of_it() -> None:
    code = "os.set_blocking(1, False)\nprint('x' * 1_000_000)\n"
    assert run(code).stdout == b"x" * 1_000_000 + b"\n"


@pytest.mark.parametrize(("encoding", "shown"), [("ascii", b"\\u2192 \\xe9"), ("latin-1", b"\\u2192 \xe9")])
def test_a_character_that_the_encoding_lacks_is_escaped(encoding: str, shown: bytes) -> None:
    assert run("print('→ é')", PYTHONIOENCODING=encoding).stdout == shown + b"\n"
    assert run("print('→ é', file=sys.stderr)", PYTHONIOENCODING=encoding).stderr == shown + b"\n"


def test_a_stage_on_bad_input_ends_with_2_though_nobody_hears_it() -> None:
    code = "import sys\nfrom stages._runtime.stage import main\nsys.argv = ['split', 'more']\nmain('split', print)"
    assert run_program(code, "2> /dev/full").returncode == 2
    assert run_program(code, ">&- 2>&-").returncode == 2
