"""Parts that the benchmarks share: options, seconds, rows for the table of `python -m bench`, made repositories."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, TypeVar

T = TypeVar("T")
ROOT = Path(__file__).parents[1]
MODEL = Path("models/base/language_model")
DVC = (sys.executable, "-m", "dvc")
NIGHTJAR = (sys.executable, "-c", "from pipelines.cli import main; main()")
# Names the file to which a benchmark appends its rows.
FILE = "NIGHTJAR_BENCH_ROWS"
Measure = Literal["processor", "clock"]


def options(doc: str | None) -> argparse.ArgumentParser:
    """A parser whose help is a module's docstring."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


@dataclass(frozen=True)
class Timed(Generic[T]):
    """A result with its seconds: by the clock, and of the processors, ended child processes included."""

    result: T
    clock: float
    processor: float


def timed(run: Callable[[], T]) -> Timed[T]:
    began, used = time.perf_counter(), _processor()
    result = run()
    return Timed(result, time.perf_counter() - began, _processor() - used)


def _processor() -> float:
    return time.process_time() + sum(os.times()[2:4])


def report(
    what: str, against: str, measure: Measure, values: float | Sequence[float], beside: str = ""
) -> None:
    """Print a row of the table, and append it to the table's file if this benchmark runs for one.

    `values`, one a round: the seconds of `against` (of the processor or by the clock) divided by ours,
    more is better. `beside` has the check of the results, or the floor.
    """
    several = values if isinstance(values, Sequence) else (values,)
    low, high = f"{min(several):.2f}", f"{max(several):.2f}"
    ratio_text = low if low == high else f"{low} to {high}"
    row = f"{what} | {against} | {ratio_text} | {measure} | {beside}"
    print(f"ratio: {row}", flush=True)
    if path := os.environ.get(FILE):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{row}\n")


def task_files(folder: Path) -> list[Path]:
    """The task files of Super-NaturalInstructions in a folder or its folder tasks. Raises SystemExit without one."""
    if files := sorted(folder.glob("task*.json")) or sorted((folder / "tasks").glob("task*.json")):
        return files
    raise SystemExit(f"{folder}: no task files; give another folder")


class Repository:
    """A made repository of Git and DVC, with the `nightjar` of this checkout."""

    def __init__(self, root: Path, stages: Mapping[str, object]) -> None:
        folder = Path(sys.executable).parent
        paths = {"PYTHONPATH": str(ROOT), "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
        self.root = root
        # With CI set DVC does not look for updates.
        self.environment = {**os.environ, **paths, "DVC_NO_ANALYTICS": "1", "CI": "1"}
        root.mkdir(parents=True, exist_ok=True)
        (root / "dvc.yaml").write_text(json.dumps({"stages": stages}), encoding="utf-8")
        self.call("git", "init", "--quiet", ".")
        self.call(*DVC, "init", "--quiet")

    def run(self, *command: str) -> Timed[subprocess.CompletedProcess[str]]:
        return timed(
            lambda: subprocess.run(
                command, cwd=self.root, env=self.environment, capture_output=True, text=True, timeout=3600
            )
        )

    def call(self, *command: str) -> Timed[subprocess.CompletedProcess[str]]:
        """Run a command to its end. Raises SystemExit with the end of its output if it fails."""
        done = self.run(*command)
        if done.result.returncode:
            raise SystemExit(f"{' '.join(command)} failed: {done.result.stderr[-500:]}")
        return done

    @contextmanager
    def server(self, port: int) -> Iterator[None]:
        """The repository's Prefect server runs meanwhile."""
        self.call(*NIGHTJAR, "ui", "--background", "--port", str(port))
        try:
            yield
        finally:
            self.call(*NIGHTJAR, "ui", "--stop")
