"""Ingest of task files against the obvious ways: speed and peak memory, measured side by side.

    python -m bench.ingest_speed --input PATH [--repeats 5]

Every way runs in a process of its own, in turn, so that a busy machine slows all alike. `frame` reads every file with
json, makes one pandas DataFrame and writes it with to_parquet; `frames` does so file by file. Neither checks anything.
Seconds are those of the work without the imports.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.harness import options, report, task_files, timed

WAYS = ("nightjar", "frame", "frames")


def _rows(file: Path) -> list[dict[str, Any]]:
    """A file's instances with the columns that nightjar's table has."""
    same = {"dataset": "natural_instructions", "file": file.name, "task_id": file.stem}
    return [
        {**same, "id": item["id"], "index": index, "input": item["input"], "outputs": item["output"]}
        for index, item in enumerate(json.loads(file.read_text(encoding="utf-8"))["Instances"])
    ]


def work(way: str, source: Path, output: Path) -> None:
    if way == "nightjar":
        from stages.ingest.datasets import ingest

        ingest("natural_instructions", source, output / "out")
        return
    import pandas as pd

    if way == "frame":
        rows = [row for file in task_files(source) for row in _rows(file)]
        pd.DataFrame(rows).to_parquet(output / "instances.parquet")
    else:
        for file in task_files(source):
            pd.DataFrame(_rows(file)).to_parquet(output / f"{file.stem}.parquet")


def measure(way: str, source: Path) -> None:
    """Run one way here and print its seconds and peak memory as JSON."""
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import stages.ingest.datasets  # noqa: F401

    with tempfile.TemporaryDirectory() as folder:
        seconds = timed(lambda: work(way, source, Path(folder))).clock
    # Linux counts in kilobytes; nothing else is started, so this is all of it.
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "memory": memory}))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--input", type=Path, required=True, help="a folder with tasks/*.json, or the files")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--way", choices=WAYS, help="used for the process that measures one way")
    arguments = parser.parse_args()
    if arguments.way:
        measure(arguments.way, arguments.input)
        return
    size = sum(file.stat().st_size for file in arguments.input.rglob("*.json")) / 1e6
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(arguments.repeats):
        for way in WAYS:
            command = [
                sys.executable,
                "-m",
                "bench.ingest_speed",
                "--input",
                str(arguments.input),
                "--way",
                way,
            ]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            runs[way].append(json.loads(done.stdout))
    print(f"{size:.1f} MB; medians of {arguments.repeats} repeats")
    for way, way_runs in runs.items():
        seconds, memory = (statistics.median(run[name] for run in way_runs) for name in ("seconds", "memory"))
        print(f"{way:9} {seconds:6.2f} s {size / seconds:7.1f} MB/s, peak {memory:.0f} MB")
        if way != "nightjar":
            pairs = zip(way_runs, runs["nightjar"], strict=True)
            times = [theirs["seconds"] / ours["seconds"] for theirs, ours in pairs]
            report("ingest of task files", way, "clock", times, f"{size:.1f} MB")


if __name__ == "__main__":
    main()
