"""Ingest of task files against the obvious routes: speed and peak memory, measured side by side.

    python -m bench.ingest --input PATH [--repeats 5]

Every route runs in a process of its own, in turn, so that a busy machine slows all alike. `frame` reads
every file with json, makes one pandas DataFrame and writes it with to_parquet; `frames` does so file by
file. Neither checks anything. Seconds are those of the work without the imports; `all` has them and the
start of Python too.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.ratios import record

ROUTES = ("nightjar", "frame", "frames")


def _rows(file: Path) -> list[dict[str, Any]]:
    """A file's instances with the columns that nightjar's table has."""
    with file.open(encoding="utf-8") as handle:
        task = json.load(handle)
    same = {"dataset": "natural_instructions", "file": file.name, "task_id": file.stem}
    return [
        {**same, "id": item["id"], "index": index, "input": item["input"], "outputs": item["output"]}
        for index, item in enumerate(task["Instances"])
    ]


def frame(source: Path, output: Path) -> None:
    """All instances in one DataFrame."""
    import pandas as pd

    rows = []
    for file in sorted(source.glob("*.json")):
        rows += _rows(file)
    pd.DataFrame(rows).to_parquet(output / "instances.parquet")


def frames(source: Path, output: Path) -> None:
    """A DataFrame a file."""
    import pandas as pd

    for file in sorted(source.glob("*.json")):
        pd.DataFrame(_rows(file)).to_parquet(output / f"{file.stem}.parquet")


def measure(route: str, source: Path) -> None:
    """Run one route here and print its seconds and peak memory as JSON."""
    if route == "nightjar":
        from stages.ingest.datasets import ingest
    else:
        import pandas  # noqa: F401
        import pyarrow.parquet  # noqa: F401
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        if route == "nightjar":
            ingest("natural_instructions", source, Path(folder, "out"))
        else:
            tasks = source / "tasks" if (source / "tasks").is_dir() else source
            {"frame": frame, "frames": frames}[route](tasks, Path(folder))
        seconds = time.perf_counter() - started
    # Nothing starts another process, so this is all of it. Linux counts in kilobytes.
    print(
        json.dumps({"seconds": seconds, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024})
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--input", type=Path, required=True, help="a folder with tasks/*.json, or the files")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--route", choices=ROUTES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.route:
        measure(arguments.route, arguments.input)
        return
    size = sum(file.stat().st_size for file in arguments.input.rglob("*.json")) / 1e6
    print(f"{size:.1f} MB; {arguments.repeats} repeats, medians (and every ratio)")
    results: dict[str, list[dict[str, float]]] = {route: [] for route in ROUTES}
    for _ in range(arguments.repeats):
        for route in ROUTES:
            command = [
                sys.executable,
                "-m",
                "bench.ingest",
                "--input",
                str(arguments.input),
                "--route",
                route,
            ]
            started = time.perf_counter()
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
            )
            results[route].append({**json.loads(done.stdout), "all": time.perf_counter() - started})
    print(f"{'route':9} {'s':>6} {'MB/s':>7} {'all s':>6} {'peak MB':>8}  nightjar is faster by")
    for route, runs in results.items():
        seconds, whole, memory = (
            statistics.median(run[name] for run in runs) for name in ("seconds", "all", "memory")
        )
        pairs = zip(runs, results["nightjar"], strict=True)
        ratios = [run["seconds"] / ours["seconds"] for run, ours in pairs]
        if route != "nightjar":
            record("ingest of task files", route, "clock", ratios, f"{size:.1f} MB")
        shown = " ".join(f"{one:.1f}" for one in ratios)
        print(f"{route:9} {seconds:6.2f} {size / seconds:7.1f} {whole:6.2f} {memory:8.0f}  {shown}")


if __name__ == "__main__":
    main()
