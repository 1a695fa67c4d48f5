"""What stages need of the machine (dvc.yaml's `meta`), and what there is of it (params.yaml's group `rebuild`).

DVC keeps a stage's `meta` and makes nothing of it: changing it makes nothing stale. Read here are

    meta: {gpu: true, memory: large, attempts: 3, shards: true}

where `memory` names a class whose GB params.yaml gives, so that a profile can change them, `attempts` says how often a
stage may be tried that is safe to run again, and `shards` that its command accepts `--shard I/N`. Other keys belong to
others.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from pydantic import ConfigDict

from nightjar.core.config import Attempts, Model, checked
from nightjar.core.errors import NightjarError
from pipelines.graph.graph import Graph
from pipelines.run.room import Limits, Needs

if TYPE_CHECKING:
    from nightjar.params.drivers import Rebuild

# The share of the machine's memory that stages may need together, where params.yaml says nothing else.
SHARE = 0.8
_CGROUP = Path("/sys/fs/cgroup/memory.max")


class Meta(Model):
    """The keys of a stage's `meta` that are read."""

    model_config = ConfigDict(extra="ignore")

    gpu: bool = False
    memory: str | None = None
    attempts: Attempts = 1
    shards: bool = False


def needs(graph: Graph, settings: Rebuild) -> dict[str, Needs]:
    """What each stage needs. Raises NightjarError that names the stage and the key of a bad value."""
    classes, found = settings.memory_classes, {}
    for name, stage in graph.stages.items():
        meta = checked(Meta, dict(stage.meta), "dvc.yaml", f"stage {name}: meta")
        if meta.memory is not None and meta.memory not in classes:
            known = ", ".join(classes) or "none"
            what = f"stage {name}: meta.memory = {meta.memory!r} is not allowed"
            fix = f"give a class of rebuild.memory_classes; there are: {known}"
            raise NightjarError(what, "dvc.yaml", fix)
        memory = 0.0 if meta.memory is None else classes[meta.memory]
        found[name] = Needs(memory, meta.gpu, meta.attempts, meta.shards)
    return found


def limits(settings: Rebuild, jobs: int | None = None) -> Limits:
    """What may be used at once on this machine; `jobs` instead of the setting, where given."""
    memory = settings.memory_gb if settings.memory_gb is not None else SHARE * machine_gb()
    one_gpu = settings.gpu == "always" or (settings.gpu == "auto" and has_gpu())
    return Limits(settings.jobs if jobs is None else jobs, memory, one_gpu)


def machine_gb() -> float:
    """The machine's memory in GB (10^9 bytes), or the container's where that is less."""
    size = psutil.virtual_memory().total
    with contextlib.suppress(OSError, ValueError):  # no control groups, or "max"
        size = min(size, int(_CGROUP.read_text(encoding="ascii")))
    return size / 1e9


def has_gpu(devices: Path = Path("/dev")) -> bool:
    """Whether stages started here would see an NVIDIA GPU. Looks for the device file: no driver is asked."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return False
    return any(path.name[6:].isdigit() for path in devices.glob("nvidia[0-9]*")) or (devices / "dxg").exists()
