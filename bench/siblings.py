"""Stages that do not need one another, side by side: how near to the ideal a rebuild comes, and whether locks hold.

    python -m bench.siblings [--stages 10] [--seconds 6] [--jobs 4] [--repeats 1]

A made repository, a Prefect server that runs already, and `nightjar rebuild --jobs JOBS` in which every stage has to
run, measured from its start to its end. The ideal is what the sleeping alone takes in so many jobs; at most 1.45 times
that is wanted. After every run the graph has to be up to date, by DVC's own comparison, and no log may speak of a lock.
`--stages 5 --seconds 0.2 --repeats 50` asks for many meetings at DVC's locks instead of a long sleep.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.ratios import record
from pipelines.graph import graph as graphs

LIMIT = 1.45
NIGHTJAR = [sys.executable, "-c", "from pipelines.cli import main; main()"]
# What DVC says when a lock is not to be had, or a path is in another's use.
TROUBLE = re.compile(r"unable to acquire lock|is busy|rwlock", re.IGNORECASE)


def _run(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "CI": "1",
        "DVC_NO_ANALYTICS": "1",
    }
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600)


def make(root: Path, stages: int, seconds: float) -> None:
    """A repository of `stages` siblings that sleep `seconds` each."""
    (root / "dvc.yaml").write_text(
        f"stages:\n  sibling:\n    foreach: {list(range(stages))}\n    do:\n"
        f"      cmd: sleep {seconds}; cp source.txt ${{item}}.out; echo ${{item}} >> ${{item}}.out\n"
        '      deps: [source.txt]\n      outs: ["${item}.out"]\n'
    )
    _run(root, "git", "init", "--quiet", ".").check_returncode()
    _run(root, sys.executable, "-m", "dvc", "init", "--quiet").check_returncode()


def repeat(root: Path, jobs: int, turn: int) -> tuple[float, float, list[str]]:
    """One rebuild of everything: seconds by the clock, of the processors, and what went wrong."""
    (root / "source.txt").write_text(f"{turn}\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    done = _run(root, *NIGHTJAR, "rebuild", "--jobs", str(jobs))
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    faults = [] if done.returncode == 0 else [f"exit status {done.returncode}: {done.stderr.strip()}"]
    for log in sorted((root / ".nightjar/logs").rglob("*.log")):
        faults += [f"{log.name}: {line}" for line in log.read_text().splitlines() if TROUBLE.search(line)]
    shutil.rmtree(root / ".nightjar/logs", ignore_errors=True)
    faults += [f"{name} is not up to date" for name in graphs.read(root).changed()]
    for made in sorted(root.glob("*.out")):
        if made.read_text() != f"{turn}\n{made.stem}\n":
            faults.append(f"{made.name} is not that of this run")
    return seconds, work, faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--stages", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=1)
    asked = parser.parse_args()
    ideal = math.ceil(asked.stages / asked.jobs) * asked.seconds
    took, faulty = [], 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make(root, asked.stages, asked.seconds)
        _run(root, *NIGHTJAR, "ui", "--background").check_returncode()
        try:
            for turn in range(asked.repeats):
                seconds, work, faults = repeat(root, asked.jobs, turn)
                took.append(seconds)
                faulty += bool(faults)
                print(
                    f"run {turn + 1}: {seconds:.1f} s, {work:.1f} s of the processors",
                    *faults,
                    sep="\n  ",
                    flush=True,
                )
        finally:
            _run(root, *NIGHTJAR, "ui", "--stop")
    median = statistics.median(took)
    record(
        f"{asked.stages} stages side by side",
        "the ideal",
        "clock",
        ideal / median,
        f"{faulty} runs with an error",
    )
    print(
        f"{asked.stages} stages of {asked.seconds:g} s, {asked.jobs} jobs: median {median:.1f} s of {asked.repeats} "
        f"runs, {median / ideal:.2f} times the ideal {ideal:g} s (at most {LIMIT} is wanted); "
        f"{faulty} runs with an error"
    )
    if faulty:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
