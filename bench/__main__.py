"""All benchmarks of speed in one go, and one table of their ratios.

    python -m bench [--input FOLDER] [--output .nightjar/bench.md] [--only NAME ...]

Each benchmark runs in a process of its own, one after another, with sizes for which the whole takes at most half an
hour on two cores. Its output is printed as it comes. The table, printed at the end and written to OUTPUT, has each
ratio with what it is compared with; benchmarks that failed are named, and the exit status is then 1. Needs a rebuilt
project.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import ratios

# Seconds after which a benchmark is ended.
LONGEST = 600
INPUT = "{input}"
# The module and the arguments of each benchmark.
BENCHMARKS: dict[str, Sequence[str]] = {
    "ingest": ("bench.ingest", "--input", INPUT, "--repeats", "3"),
    "rouge": ("bench.rouge", "--input", INPUT, "--pairs", "50000"),
    "score": ("bench.score", "--input", INPUT, "--pairs", "60000"),
    "protoqa": ("bench.protoqa",),
    "search lexical": ("bench.search", "lexical", "--tasks", INPUT),
    "search encode": ("bench.search", "encode", "--tasks", INPUT, "--count", "200"),
    "search exact": ("bench.search", "exact"),
    "rerank": ("bench.rerank", "--texts", "30", "--vectors", "50000", "--queries", "5000"),
    "packing": ("bench.packing", "--rounds", "1"),
    "decode": ("bench.decode", "--prompts", "60"),
    "samples": ("bench.samples", "--samples", "200", "--plain", "8"),
    "siblings": ("bench.siblings",),
    "overheads": ("bench.overheads", "--repeats", "3"),
}


def run(name: str, folder: Path, log: Path) -> tuple[list[ratios.Ratio], float, str]:
    """Run a benchmark; returns its ratios, its seconds, and what was wrong with it (empty if nothing)."""
    words = [str(folder) if word == INPUT else word for word in BENCHMARKS[name]]
    print(f"\n== {name}: python -m {' '.join(words)}", flush=True)
    began = time.monotonic()
    environment = {**os.environ, ratios.FILE: str(log)}
    try:
        status = subprocess.run(
            [sys.executable, "-m", *words], env=environment, timeout=LONGEST, check=False
        ).returncode
        fault = f"exit status {status}" if status else ""
    except subprocess.TimeoutExpired:
        fault = f"ended after {LONGEST} s"
    return ratios.read(log), time.monotonic() - began, fault


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", type=Path, default=Path("data/sample/natural_instructions"))
    parser.add_argument("--output", type=Path, default=Path(".nightjar/bench.md"))
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS), metavar="NAME")
    asked = parser.parse_args(words)
    lines = ["| benchmark | what | against | times | of | beside |", "|---|---|---|---:|---|---|"]
    faults, took = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.only:
            found, seconds, fault = run(name, asked.input, Path(folder) / f"{name.replace(' ', '-')}.jsonl")
            took += seconds
            lines += [f"| {name} | {one.row()} |" for one in found]
            if fault:
                faults.append(f"{name}: {fault}")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    machine = f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f} at the end"
    lines += ["", f"Commit {commit.stdout.strip() or 'unknown'}, {machine}; {took / 60:.0f} min in all."]
    lines += [f"Not measured: {fault}." for fault in faults]
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    asked.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("", *lines, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
