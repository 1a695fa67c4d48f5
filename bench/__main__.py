"""All benchmarks of speed in one go, and one table of their ratios.

    python -m bench [--input FOLDER] [--output .nightjar/bench.md] [--only NAME ...]

Each benchmark runs in a process of its own, one after another, with sizes for which the whole takes at most half an
hour on two cores. Its output is printed as it comes. The table, printed at the end and written to OUTPUT, has each
ratio with what it is compared with; benchmarks that failed are named, and the exit status is then 1. Needs a rebuilt
project.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.harness import FILE, options, timed

# Seconds after which a benchmark is ended.
LONGEST = 600
INPUT = "{input}"
# The module and the arguments of each benchmark.
BENCHMARKS: dict[str, Sequence[str]] = {
    "ingest": ("bench.ingest_speed", "--input", INPUT, "--repeats", "3"),
    "rouge": ("bench.score_speed", "--input", INPUT, "--pairs", "50000"),
    "search lexical": ("bench.search_speed", "lexical", "--tasks", INPUT),
    "search encode": ("bench.search_speed", "encode", "--tasks", INPUT, "--count", "200"),
    "search exact": ("bench.search_speed", "exact"),
    "rerank": ("bench.rerank", "--texts", "30"),
    "decode": ("bench.decode_speed", "--prompts", "60"),
    "neighbours": ("bench.neighbours",),
    "lm-eval": ("bench.lm_eval", "--questions", "24", "--tasks", "choices", "problems"),
    "siblings": ("bench.siblings",),
    "overheads": ("bench.overheads", "--repeats", "3"),
}


def run(name: str, folder: Path, log: Path) -> str:
    """Run a benchmark, whose rows go to `log`; returns what was wrong with it (empty if nothing)."""
    words = [str(folder) if word == INPUT else word for word in BENCHMARKS[name]]
    print(f"\n== {name}: python -m {' '.join(words)}", flush=True)
    environment = {**os.environ, FILE: str(log)}
    try:
        done = subprocess.run([sys.executable, "-m", *words], env=environment, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return f"ended after {LONGEST} s"
    return f"exit status {done.returncode}" if done.returncode else ""


def main(words: Sequence[str] | None = None) -> int:
    parser = options(__doc__)
    parser.add_argument("--input", type=Path, default=Path("data/sample/natural_instructions"))
    parser.add_argument("--output", type=Path, default=Path(".nightjar/bench.md"))
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS), metavar="NAME")
    arguments = parser.parse_args(words)
    lines = ["| benchmark | what | against | times | of | beside |", "|---|---|---|---:|---|---|"]
    faults, seconds = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only:
            log = Path(folder) / name
            log.touch()
            done = timed(lambda name=name, log=log: run(name, arguments.input, log))  # type: ignore[misc]
            seconds += done.clock
            lines += [f"| {name} | {row} |" for row in log.read_text(encoding="utf-8").splitlines()]
            if done.result:
                faults.append(f"{name}: {done.result}")
    revision = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    commit = revision.stdout.strip() or "unknown"
    machine = f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f} at the end"
    lines += ["", f"Commit {commit}, {machine}; {seconds / 60:.0f} min in all."]
    lines += [f"Not measured: {fault}." for fault in faults]
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("", *lines, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
