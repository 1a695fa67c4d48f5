"""What stages need of the machine (dvc.yaml's `meta`), and what there is of it (params.yaml's group `rebuild`).

DVC keeps a stage's `meta` and makes nothing of it: changing it makes nothing stale. Read here are

    meta: {gpu: true, memory: large, attempts: 3}

where `memory` names a class whose GB params.yaml gives, so that a profile can change them, and `attempts` says how
often a stage may be tried that is safe to run again. Other keys belong to others.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from nightjar.core.errors import NightjarError
from pipelines.execution.schedule import Limits, Needs
from pipelines.graph.graph import Graph

if TYPE_CHECKING:
    from nightjar.core.driver_params import Rebuild

# The share of the machine's memory that stages may need together, where params.yaml says nothing else.
SHARE = 0.8
MOST_ATTEMPTS = 20
_CGROUP = Path("/sys/fs/cgroup/memory.max")


def needs(graph: Graph, settings: Rebuild) -> dict[str, Needs]:
    """What each stage needs. Raises NightjarError that names the stage and the key of a bad value."""
    return {name: _needs(name, stage.meta, settings.memory_classes) for name, stage in graph.stages.items()}


def _needs(stage: str, meta: Mapping[str, Any], classes: Mapping[str, float]) -> Needs:
    gpu, memory, attempts = meta.get("gpu", False), meta.get("memory"), meta.get("attempts", 1)
    if not isinstance(gpu, bool):
        raise _bad(stage, "gpu", gpu, "give true or false")
    if memory is not None and (not isinstance(memory, str) or memory not in classes):
        known = ", ".join(classes) or "none"
        raise _bad(stage, "memory", memory, f"give a class of rebuild.memory_classes; there are: {known}")
    if not isinstance(attempts, int) or isinstance(attempts, bool) or not 1 <= attempts <= MOST_ATTEMPTS:
        raise _bad(stage, "attempts", attempts, f"give a whole number from 1 to {MOST_ATTEMPTS}")
    return Needs(0.0 if memory is None else classes[memory], gpu, attempts)


def _bad(stage: str, key: str, value: object, fix: str) -> NightjarError:
    return NightjarError(f"stage {stage}: meta.{key} = {value!r} is not allowed", "dvc.yaml", fix)


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
