"""Shares of a stage on a Ray cluster that loses a worker, against one process: `python -m bench.shards`.

Starts a local cluster of two workers of one processor each, runs each stage in shares there, kills one worker with
SIGKILL as soon as work is in the journal, runs the ordinary command, which writes the outputs, and compares their bytes
with those of one process. By default with tiny models; `--project FOLDER` takes the data and models of a built project
instead, and does not change it. Needs the extra `ray`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from ray.cluster_utils import Cluster

from nightjar.params.drivers import Shards
from pipelines.graph.graph import Graph, Stage
from pipelines.run import shards

STAGES = ("augment@calculator", "encode@combined", "predict@supernatinst-untuned")
ROOT = Path(__file__).parent.parent


def copy(project: Path | None, folder: Path) -> None:
    """The project's data, links to its models, and the parameters of this checkout; or one of a tiny model."""
    if project is None:
        from tests import shard_project
        from tests.tiny_models import language_model

        model = folder.with_name("model")
        if not model.exists():
            model.mkdir()
            language_model(model)
        shard_project.make(folder, model)
        return
    folder.mkdir()
    shutil.copytree(project / "data", folder / "data")
    (folder / "models").symlink_to(project / "models")
    shutil.copy(ROOT / "params.yaml", folder)


def outputs(folder: Path, stage: str) -> dict[str, bytes]:
    made = folder / "data" / stage.replace("@", "/")
    facts = folder / "data/metrics" / f"{stage.replace('@', '-')}.json"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in [*made.rglob("*.*"), facts]}


def command(stage: str) -> list[str]:
    folder, _, item = stage.partition("@")
    return ["python", "-m", f"stages.{folder}", item]


def whole(folder: Path, stage: str) -> float:
    """The stage's ordinary command; its seconds."""
    started = time.monotonic()
    words = [sys.executable, *command(stage)[1:]]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, env=os.environ)
    return time.monotonic() - started


@contextmanager
def cluster() -> Iterator[Cluster]:
    small: dict[str, Any] = {"object_store_memory": 80_000_000, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **small})
    try:
        for _ in range(2):
            made.add_node(num_cpus=1, **small)
        made.wait_for_nodes()
        yield made
    finally:
        made.shutdown()


def lose(made: Cluster, folder: Path, over: threading.Event) -> None:
    """Kill the first worker of the cluster, all that its raylet started, once there is work in the journal."""
    while not over.wait(0.02):
        parts = (folder / ".nightjar/journal").rglob("*-of-*.jsonl")
        if any(part.stat().st_size for part in parts):
            raylet = psutil.Process(made.list_all_nodes()[1].all_processes["raylet"][0].process.pid)
            busy = [one for one in raylet.children(recursive=True) if "--shard" in one.cmdline()]
            if busy:  # else its share is between two commands
                for one in [raylet, *raylet.children(recursive=True)]:
                    one.kill()
                print(f"  killed a worker with {len(busy)} of the stage's processes", flush=True)
                return


def compare(stage: str, one: Path, many: Path, count: int) -> bool:
    alone = whole(one, stage)
    over = threading.Event()
    shown = Stage(stage, " ".join(command(stage)), "", (), (), (), {}, (), ())
    shutil.rmtree(many / "data" / stage.replace("@", "/"), ignore_errors=True)
    with cluster() as made:
        killer = threading.Thread(target=lose, args=(made, many, over))
        killer.start()
        settings = Shards(count=count, address=made.address)
        log = many / ".nightjar/logs" / f"{stage}.log"
        started = time.monotonic()
        fault = shards.share(
            Graph(many, {}),
            shown,
            settings,
            log,
            lambda lines: print("  " + lines[-1][:150]),
            threading.Event(),
        )
        shared = time.monotonic() - started
        over.set()
        killer.join()
    parts = list((many / ".nightjar/journal").rglob("*-of-*.jsonl"))
    units = sum(part.read_bytes().count(b"\n") for part in parts)
    last = whole(many, stage)
    same = outputs(many, stage) == outputs(one, stage) != {} and not fault
    print(
        f"{stage}: {units} units in {count} shards, {shared:.0f} s; the command after them {last:.0f} s; one process "
        f"{alone:.0f} s; bytes {'the same' if same else 'DIFFERENT'} {fault}",
        flush=True,
    )
    return same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--project", type=Path, help="a built project")
    parser.add_argument("--stages", nargs="+", default=STAGES)
    parser.add_argument("--count", type=int, default=4)
    asked = parser.parse_args()
    os.environ |= {"PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
    with tempfile.TemporaryDirectory() as name:
        one, many = Path(name, "one"), Path(name, "many")
        for folder in (one, many):
            copy(asked.project.resolve() if asked.project else None, folder)
        same = [compare(stage, one, many, asked.count) for stage in asked.stages]
    raise SystemExit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
