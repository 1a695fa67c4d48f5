"""Text that cannot control a terminal, numbers rounded half up, and standard streams whose faults end nothing."""

from __future__ import annotations

import json
import logging
import math
import os
import subprocess
import sys
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core import display
from nightjar.core.display import log_to_stderr, printable, printable_json

STEERING = {
    "\x1b[31mred": "\\x1b[31mred",
    "\x9b31mred": "\\x9b31mred",
    "\x1b]0;title\x07": "\\x1b]0;title\\x07",
    "a\nb\r\tc": "a\\nb\\r\\tc",
    "\u202egnp.exe": "\\u202egnp.exe",
    "\u2066x\u2069": "\\u2066x\\u2069",
    "\u2028x\x7f": "\\u2028x\\x7f",
    "name\udcff": "name\\udcff",
}


@pytest.mark.parametrize(("text", "shown"), STEERING.items())
def test_what_could_steer_a_terminal_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_ordinary_text_of_any_script_remains() -> None:
    text = "naïve Straße 日本語 עברית हिन्दी می‌خواهم 👩‍🚀 [red]x[/] :train: {0} %s"
    assert printable(text) == text
    assert printable("a\tb\nc\r", keep="\n\t") == "a\tb\nc\\r"


def test_json_says_the_same_in_escapes_of_its_own() -> None:
    told = {text: [text] for text in STEERING}
    text = printable_json(json.dumps(told, indent=2, ensure_ascii=False))
    assert json.loads(text) == told
    assert printable(text, keep="\n") == text


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
    protected = f"import os, subprocess, sys\nfrom nightjar.core import display\ndisplay.protect()\n{code}"
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
    code = "print('x')\nraise SystemExit(repr(display.lost()))"
    assert b"No space left" in run(code, "> /dev/full").stderr
    assert run(code, ">&-").stderr == run(code).stderr == b"None\n"
    read, write = os.pipe()
    os.close(read)
    program = f"from nightjar.core import display\ndisplay.protect()\n{code}"
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


@pytest.mark.parametrize(
    ("value", "decimals", "expected"),
    [
        (26.15, 1, "26.2"),  # a float a little below it, which `f"{26.15:.1f}"` shows as 26.1
        (43.85, 1, "43.9"),
        (1.25, 1, "1.3"),
        (-2.45, 1, "-2.5"),
        (-0.04, 1, "0.0"),
        (2.0, 0, "2"),
        (1e-7, 4, "0.0000"),
        (math.inf, 1, "inf"),
    ],
)
def test_numbers(value: float, decimals: int, expected: str) -> None:
    assert display.number(value, decimals) == expected


def test_signed() -> None:
    assert display.number(-2.865, 2, signed=True) == "-2.87"
    assert display.number(-0.001, 2, signed=True) == "+0.00"


@given(st.integers(-(10**8), 10**8), st.integers(0, 3))
def test_stored_values_round_as_decimals_do(stored: int, decimals: int) -> None:
    """Stored values have four decimals."""
    exact = Decimal(stored).scaleb(-4).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    assert Decimal(display.number(stored / 10**4, decimals)) == exact


def test_p() -> None:
    assert [display.p(it) for it in (1.0, 0.00012, 0.00009)] == ["1.0000", "0.0001", "< 0.0001"]
