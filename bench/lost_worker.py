"""Shares of stages on a Ray cluster of two nodes that loses one, against one process.

    python -m bench.lost_worker [--shares 4] [STAGE ...]

Runs in a project with the profile `sample`, where the inputs of the stages are there and the stages are not. A copy of
the project runs each stage in shares. As soon as a share has written to the checkpoint, one node is killed with
SIGKILL: its raylet and all processes under it. Prints how often a share was lost, and whether the outputs have the
bytes of one process; the exit status is 1 unless a share was lost and the bytes are the same. Needs the extra `ray`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from ray.cluster_utils import Cluster

from bench.harness import NIGHTJAR, ROOT, options, timed
from nightjar.core import paths
from pipelines.graph import repository as graphs

STAGES = ("augment@calculator", "predict@supernatinst-untuned")


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Two nodes of one processor each, and a head without any."""
    small: dict[str, Any] = {"object_store_memory": 80_000_000, "include_dashboard": False}
    ray_cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **small})
    try:
        for _ in range(2):
            ray_cluster.add_node(num_cpus=1, **small)
        ray_cluster.wait_for_nodes()
        yield ray_cluster
    finally:
        ray_cluster.shutdown()


def lose(ray_cluster: Cluster, folder: Path, rebuilt: threading.Event) -> None:
    """Kill the first worker node while it runs a share and there is work in a checkpoint of the project."""
    raylet = psutil.Process(ray_cluster.list_all_nodes()[1].all_processes["raylet"][0].process.pid)
    while not rebuilt.wait(0.05):
        begun = any(part.stat().st_size for part in (folder / paths.CHECKPOINTS).rglob("*-of-*.jsonl"))
        under = raylet.children(recursive=True)
        if begun and any("--shard" in process.cmdline() for process in under):
            for process in [raylet, *under]:
                process.kill()
            return


def rebuild(folder: Path, stage: str) -> float:
    """The seconds of a rebuild of one stage. Raises SystemExit if it fails."""
    done = timed(lambda: subprocess.run([*NIGHTJAR, "rebuild", stage], cwd=folder, check=False))
    if done.result.returncode:
        raise SystemExit(f"{folder}: nightjar rebuild {stage} failed")
    return done.clock


def outputs(folder: Path, stage: str) -> dict[str, bytes]:
    """The bytes of all files that the stage writes, its facts included."""
    graph_stage = graphs.read(folder).stages[stage]
    files = [
        file
        for out in (*graph_stage.outs, *graph_stage.metrics)
        for file in [folder / out, *(folder / out).rglob("*")]
        if file.is_file()
    ]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def shared(folder: Path, stage: str, shares: int) -> tuple[float, int]:
    """Rebuild one stage in shares on a cluster that loses a node: the seconds, and how many shares were lost."""
    with cluster() as ray_cluster:
        rebuilt = threading.Event()
        killer = threading.Thread(target=lose, args=(ray_cluster, folder, rebuilt))
        settings = [f"--set=shards.count={shares}", f"--set=shards.address={ray_cluster.address}"]
        subprocess.run([*NIGHTJAR, "use", "sample", *settings], cwd=folder, check=True)
        killer.start()
        seconds = rebuild(folder, stage)
        rebuilt.set()
        killer.join()
    logs = (folder / paths.LOGS).rglob(f"{stage}.shards.log")
    return seconds, sum(log.read_text("utf-8").count("was lost") for log in logs)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("stages", nargs="*", default=STAGES, metavar="STAGE")
    parser.add_argument("--shares", type=int, default=4)
    arguments = parser.parse_args()
    os.environ |= {"PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
    project, good = Path.cwd(), True
    with tempfile.TemporaryDirectory() as name:
        many = Path(name, "many")
        shutil.copytree(project, many, symlinks=True, ignore=shutil.ignore_patterns("tmp", "prefect"))
        for stage in arguments.stages:
            alone = rebuild(project, stage)
            seconds, lost = shared(many, stage, arguments.shares)
            same = outputs(project, stage) == outputs(many, stage) != {}
            good &= same and lost > 0
            print(
                f"{stage}: {arguments.shares} shares, {lost} lost; bytes {'the same' if same else 'DIFFERENT'}; "
                f"{seconds:.0f} s, one process {alone:.0f} s",
                flush=True,
            )
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
