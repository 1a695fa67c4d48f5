"""`nightjar diff` against reading both versions with pyarrow: seconds and peak memory, measured in turn.

    python -m bench.diff [--rows 200000] [--tasks 40] [--repeats 3]

Made tables of predictions (a prompt of some 800 characters a row), in five pairs of versions:
`answers`: one part, the same rows in the same order, 30% of the answers differ, the prompts do not;
`inserted`: one part, 1% of the rows gone and 1% new, so that no row is at its place;
`shuffled`: one part, the same rows in another order, 1% changed;
`shards`: a part a task, four of which differ, by the contract's key;
`rows`: one part of a table without a contract, 1% of the rows differ: compared as whole rows.
`read` reads both versions with pyarrow.parquet.read_table as it comes, all columns. Each runs in a process of its
own; seconds are those of the work without the imports, by the clock and (`cpu`) of the processors, and `memory` is
what the work adds to them.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.ratios import record

CASES = ("answers", "inserted", "shuffled", "shards", "rows")
SHARE = 0.01
ANSWERS = 0.3


def _texts(count: int) -> list[str]:
    words = [f"word{n}" for n in range(5000)]
    chance = random.Random(0)
    return [" ".join(chance.choices(words, k=110)) for _ in range(count)]


def _rows(count: int, tasks: int) -> list[dict[str, Any]]:
    prompts = _texts(2000)
    made = []
    for number in range(count):
        task = f"task{number * tasks // count:04}"
        made.append(
            {
                "benchmark": "supernatinst",
                "system": "made",
                "track": "default",
                "category": "c",
                "task_id": task,
                "id": f"{task}-{number:08x}",
                "answers": [prompts[number % 1999][:40]],
                "text": prompts[number % 1997][:40],
                "calls": [{"tool": "Calculator", "input": "1 + 1", "result": "2"}] if number % 9 == 0 else [],
                "prompt": f"{number} {prompts[number % 2000]}",
                "prompt_sha256": f"{number * 2654435761:064x}",
                "prompt_tokens": 200,
                "new_tokens": number % 50,
                "model_sha256": "1" * 64,
                "adapter_sha256": None,
            }
        )
    return made


def _changed(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"answers": [row["answers"][0][::-1]], "new_tokens": row["new_tokens"] + 1}


def make(folder: Path, case: str, count: int, tasks: int) -> None:
    """Write versions a and b of the case's table."""
    from nightjar.core.contracts import INSTANCES, PREDICTIONS
    from nightjar.core.tables import ArtifactWriter

    chance = random.Random(1)
    old = _rows(count, tasks)
    if case == "inserted":
        new = [row | {"id": row["id"] + "n"} if chance.random() < SHARE else row for row in old]
        new = sorted(new[count // 200 :], key=lambda row: (row["task_id"], row["prompt_sha256"]))
        old = sorted(old, key=lambda row: (row["task_id"], row["prompt_sha256"]))
    else:
        share = ANSWERS if case == "answers" else SHARE
        new = [_changed(row) if chance.random() < share else row for row in old]
    if case == "shuffled":
        chance.shuffle(new)
    for name, rows in (("a", old), ("b", new)):
        with ArtifactWriter(folder / name) as writer:
            if case == "shards":
                _write_shards(writer, INSTANCES, rows, name)
            else:
                writer.write(PREDICTIONS, rows)
        if case == "rows":
            (folder / name / PREDICTIONS.name).rename(folder / name / "unknown")


def _write_shards(writer: Any, contract: Any, rows: Sequence[dict[str, Any]], name: str) -> None:
    """The same rows as instances, a part a task; in version b those of every tenth task are changed."""
    for number, task in enumerate(sorted({row["task_id"] for row in rows})):
        own = [
            {
                "dataset": "made",
                "file": task,
                "task_id": task,
                "id": row["id"],
                "index": index,
                "input": row["prompt"],
                "outputs": [row["answers"][0] if name == "b" and number % 10 == 0 else row["text"]],
            }
            for index, row in enumerate(row for row in rows if row["task_id"] == task)
        ]
        writer.write(contract, own, part=task)


def measure(route: str, folder: Path) -> None:
    """Run one route here and print its seconds and the memory it took as JSON."""
    import pyarrow.parquet as pq

    from pipelines.versions import diff as diffs
    from pipelines.versions.files import File, Version

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result: dict[str, Any] = {}
    started, busy = time.perf_counter(), time.process_time()
    if route == "read":
        # Both are held, as whoever compares them in memory does.
        held = [pq.read_table(next(it for it in (folder / name).iterdir() if it.is_dir())) for name in "ab"]
        result["rows"] = {"read": sum(map(len, held))}
    else:
        versions = []
        for name in "ab":
            version = Version(name, None, name)
            for line in (folder / f"{name}.json").read_text().splitlines():
                path, digest = json.loads(line)
                version.files[path] = File(folder / name / path, digest)
            versions.append(version)
        tables = diffs.compare_versions(versions[0], versions[1])["tables"]
        [result["rows"]] = [it["rows"] for it in tables if it["table"] != "rejected"]
    result["seconds"] = time.perf_counter() - started
    result["cpu"] = time.process_time() - busy
    result["memory"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps(result))


def _hashes(folder: Path) -> None:
    """Write the hashes that DVC would have recorded."""
    import hashlib

    for name in "ab":
        files = [path for path in sorted((folder / name).rglob("*")) if path.is_file()]
        lines = [
            json.dumps(
                [path.relative_to(folder / name).as_posix(), hashlib.md5(path.read_bytes()).hexdigest()]
            )
            for path in files
        ]
        (folder / f"{name}.json").write_text("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    parser.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        case, folder = arguments.make
        make(Path(folder), case, arguments.rows, arguments.tasks)
        _hashes(Path(folder))
        return
    if arguments.measure:
        measure(arguments.measure[0], Path(arguments.measure[1]))
        return
    print(f"{arguments.rows:,} rows a version; medians of {arguments.repeats}; ratios are of runs in turn")
    columns = ("read s", "diff s", "read cpu", "diff cpu", "read MB", "diff MB")
    print(f"{'case':9} {'MB':>5}", *(f"{name:>8}" for name in columns), " read / diff by the clock, by cpu")
    for case in arguments.cases:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            # In a process of its own: Linux counts the peak of whoever starts a process as the new one's too.
            sizes = ["--rows", str(arguments.rows), "--tasks", str(arguments.tasks)]
            subprocess.run([sys.executable, "-m", "bench.diff", *sizes, "--make", case, name], check=True)
            size = sum(path.stat().st_size for path in folder.rglob("*.parquet")) / 1e6
            runs: dict[str, list[dict[str, Any]]] = {"read": [], "diff": []}
            for _ in range(arguments.repeats):
                for route in runs:
                    command = [sys.executable, "-m", "bench.diff", "--measure", route, name]
                    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                    runs[route].append(json.loads(done.stdout))
            medians = [
                statistics.median(run[what] for run in runs[route])
                for what in ("seconds", "cpu", "memory")
                for route in runs
            ]
            ratios = [
                " ".join(
                    f"{read[what] / ours[what]:.1f}"
                    for read, ours in zip(runs["read"], runs["diff"], strict=True)
                )
                for what in ("seconds", "cpu")
            ]
            pairs = zip(runs["read"], runs["diff"], strict=True)
            record(
                f"diff, {case}", "reading both versions", "processor", [a["cpu"] / b["cpu"] for a, b in pairs]
            )
            figures = " ".join(f"{value:8.{0 if at > 3 else 2}f}" for at, value in enumerate(medians))
            print(
                f"{case:9} {size:5.0f} {figures}  {', '.join(ratios)}   {runs['diff'][0]['rows']}", flush=True
            )


if __name__ == "__main__":
    main()
