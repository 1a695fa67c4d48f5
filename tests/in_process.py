"""Stages and commands, run in the tests' own process: one of their own takes seconds to import torch and others."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import re
import runpy
import shlex
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from nightjar import params
from pipelines.cli import main
from stages._runtime.checkpoint import Shard
from stages._runtime.stage import StageRun


def finish_stage(name: str, shard: str | None = None) -> StageRun:
    """Run the stage `name` of the current folder's parameters to its end; it returns what the stage counted, and raises
    what the stage raises.
    """
    stage = StageRun(name, params.load(), Shard.parse(shard) if shard else None)
    importlib.import_module(f"stages.{name.partition('@')[0]}.__main__").run(stage)
    return stage


def refused_stage(folder: str, *arguments: str, cwd: Path | None = None) -> str:
    """The one line with which `python -m stages.FOLDER ARGUMENTS` refuses wrong input."""
    done = run_stage(folder, *arguments, cwd=cwd)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    return done.stderr


def run_stage(folder: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What `python -m stages.FOLDER ARGUMENTS` in the folder `cwd` (the current one) prints, and its exit status."""

    def run(words: list[str]) -> None:
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            # A test may import it as well.
            warnings.filterwarnings("ignore", ".*found in sys.modules", RuntimeWarning)
            patch.setattr("sys.argv", words)
            runpy.run_module(f"stages.{folder}", run_name="__main__")

    with contextlib.chdir(cwd or Path.cwd()):
        return captured(run, [folder, *arguments])


def captured(run: Callable[[list[str]], object], words: list[str]) -> subprocess.CompletedProcess[str]:
    """What `run(words)` prints, and the status it exits with.

    The environment and the logging that it sets are put back afterwards. What only another process shows (another
    order of sets, a kill, what its children print) is not seen here: start one for that.
    """
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    environment, root = dict(os.environ), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()  # the stage closes those it finds, and pytest's are wanted again
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run(words)
        except SystemExit as ended:
            code = ended.code or 0
        finally:
            os.environ.clear()
            os.environ.update(environment)
            root.handlers[:], root.level = handlers, level
    assert isinstance(code, int)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def nightjar(*words: object) -> str:
    """What `nightjar WORDS` prints; it must succeed without a line of standard error."""
    done = captured(main, [str(word) for word in words])
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def refused(*words: str, cwd: Path | None = None) -> str:
    """The one line with which `nightjar WORDS` refuses wrong input; it prints nothing else."""
    with contextlib.chdir(cwd or Path.cwd()):
        done = captured(main, list(words))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("nightjar: ") and ("; " in done.stderr or "? See " in done.stderr)
    return done.stderr


REFUSALS = Path(__file__).parent / "golden" / "refusals.txt"
# Lists of names that grow with the project.
LISTS = re.compile(
    r"((?:there are:|give one of|choose one of|benchmarks are|systems are|encodings are) )[^;]*"
)


def check_refusals(section: str) -> None:
    """Run the wrong command lines of a section of golden/refusals.txt in the current folder. Each prints the line after
    it and nothing else, and leaves the files as they were.

    With NIGHTJAR_WRITE_REFUSALS the lines are written to the file instead.
    """
    sections = re.split(r"^\[(\w+)\]\n", REFUSALS.read_text("utf-8"), flags=re.MULTILINE)
    place = sections.index(section) + 1
    files = sorted(Path().rglob("*"))
    lines = []
    for command in re.findall(r"^\$ nightjar(.*)$", sections[place], re.MULTILINE):
        words = [word.replace("LONG", "x" * 256) for word in shlex.split(command)]
        line = refused(*words).replace(str(Path.cwd()), ".").replace("x" * 256, "LONG")
        lines += [f"$ nightjar{command}", LISTS.sub(r"\1…", line.rstrip("\n"))]
        assert sorted(Path().rglob("*")) == files, command
    text = "\n".join(lines) + "\n\n"
    if os.environ.get("NIGHTJAR_WRITE_REFUSALS"):
        sections[place] = text
        blocks = [f"[{name}]\n{block}" for name, block in zip(sections[1::2], sections[2::2], strict=True)]
        REFUSALS.write_text(sections[0] + "".join(blocks), encoding="utf-8")
    assert sections[place].split("\n") == text.split("\n")
