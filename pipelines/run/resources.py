"""Memory, jobs and the one GPU: what stages need of the machine, what it has, and which stage gets it."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from pydantic import ConfigDict

from nightjar.core.config import Attempts, StrictModel, checked
from nightjar.core.errors import NightjarError
from pipelines.graph.graph import Graph
from pipelines.process import lock

if TYPE_CHECKING:
    from nightjar.params.drivers import Rebuild

# The share of the machine's memory that stages may need together, where params.yaml says nothing else.
SHARE = 0.8
_CGROUP = Path("/sys/fs/cgroup/memory.max")


class Meta(StrictModel):
    """The keys of a stage's `meta` that are read."""

    model_config = ConfigDict(extra="ignore")

    gpu: bool = False
    memory: str | None = None
    attempts: Attempts = 1
    shards: bool = False


def needs(graph: Graph, settings: Rebuild) -> dict[str, Needs]:
    """Return what each stage needs. Raises NightjarError that names the stage and the key of a bad value."""
    classes, needs_by_stage = settings.memory_classes, {}
    for name, stage in graph.stages.items():
        meta = checked(Meta, dict(stage.meta), "dvc.yaml", f"stage {name}: meta")
        if meta.memory is not None and meta.memory not in classes:
            class_names = ", ".join(classes) or "none"
            what = f"stage {name}: meta.memory = {meta.memory!r} is not allowed"
            fix = f"give a class of rebuild.memory_classes; there are: {class_names}"
            raise NightjarError(what, "dvc.yaml", fix)
        memory = 0.0 if meta.memory is None else classes[meta.memory]
        needs_by_stage[name] = Needs(memory, meta.gpu, meta.attempts, meta.shards)
    return needs_by_stage


def limits(settings: Rebuild, jobs: int | None = None) -> Limits:
    """Return what may be used at once on this machine; `jobs` instead of the setting, where given."""
    memory = settings.memory_gb if settings.memory_gb is not None else SHARE * machine_gb()
    one_gpu = settings.gpu == "always" or (settings.gpu == "auto" and has_gpu())
    return Limits(settings.jobs if jobs is None else jobs, memory, one_gpu)


def machine_gb(limit: Path = _CGROUP) -> float:
    """The machine's memory in GB (10^9 bytes), or the container's in the file `limit` where that is less."""
    size = psutil.virtual_memory().total
    with contextlib.suppress(OSError, ValueError):  # no control groups, or "max"
        size = min(size, int(limit.read_text(encoding="ascii")))
    return size / 1e9


def has_gpu(devices: Path = Path("/dev")) -> bool:
    """Return true if stages started here would see an NVIDIA GPU. Looks for the device file: no driver is asked."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return False
    return any(path.name[6:].isdigit() for path in devices.glob("nvidia[0-9]*")) or (devices / "dxg").exists()


# How often a stage that waits looks again: the GPU may be in use by another process.
LOOK_SECONDS = 0.5
# Expected seconds of a stage of which no time is known.
UNKNOWN_SECONDS = 1.0


@dataclass(frozen=True)
class Needs:
    """The needs of a stage: memory in GB, the GPU, how often it may be tried, and whether its work may be
    shared.
    """

    memory_gb: float = 0.0
    gpu: bool = False
    attempts: int = 1
    shards: bool = False


@dataclass(frozen=True)
class Limits:
    """The limits of use at once: stages, GB of memory (of stages that need any), and stages that need the GPU.

    Of the latter there is one at once; with `one_gpu` false, as on a machine without a GPU, there is no limit.
    """

    jobs: int
    memory_gb: float = float("inf")
    one_gpu: bool = False


class Room:
    """The stages that have room on the machine, and the queue of those that wait for it.

    A stage that does not fit into the memory left waits, with all that have less way to go and need memory; one that
    needs more than there is runs beside none of them. A stage that waits for the GPU takes nothing from others.
    """

    def __init__(
        self,
        limits: Limits,
        remaining: Mapping[str, float],
        take_gpu: Callable[[str], bool] = lambda name: True,
        give_gpu: Callable[[str], None] = lambda name: None,
    ) -> None:
        """`remaining`: see `critical_path`; of equals, the first is first. `take_gpu` is called last, for a stage
        that has room but for the GPU, and returns whether it was granted; `give_gpu` gives it back.
        """
        self._limits, self._take_gpu, self._give_gpu = limits, take_gpu, give_gpu
        self._rank = {
            name: at for at, name in enumerate(sorted(remaining, key=lambda name: -remaining[name]))
        }
        self._lock = threading.Lock()
        self._waiting: dict[str, Needs] = {}
        self._running: dict[str, Needs] = {}

    def queue(self, name: str, needs: Needs) -> None:
        """Let a stage wait for room."""
        with self._lock:
            self._waiting[name] = needs

    def take(self) -> str | None:
        """Give room to the first of the stages that wait and for which there is room; None if there is none."""
        with self._lock:
            full = False
            for name in sorted(self._waiting, key=self._rank.__getitem__):
                needs = self._waiting[name]
                if len(self._running) >= self._limits.jobs:
                    return None
                if needs.memory_gb and (full := full or not self._fits(needs)):
                    continue
                if needs.gpu and self._limits.one_gpu and not self._granted(name):
                    continue
                self._running[name] = self._waiting.pop(name)
                return name
        return None

    def release(self, name: str) -> None:
        """Take back the room of a stage, if it has some."""
        with self._lock:
            needs = self._running.pop(name, None)
            if needs and needs.gpu and self._limits.one_gpu:
                self._give_gpu(name)

    def _granted(self, name: str) -> bool:
        return not any(needs.gpu for needs in self._running.values()) and self._take_gpu(name)

    def _fits(self, needs: Needs) -> bool:
        used = sum(other.memory_gb for other in self._running.values())
        # A little more than the sum: 0.1 + 0.2 is not to be over 0.3.
        return not used or used + needs.memory_gb <= self._limits.memory_gb + 1e-9


def critical_path(upstream: Mapping[str, Collection[str]], seconds: Mapping[str, float]) -> dict[str, float]:
    """Seconds from the start of each stage to the end of the last that needs it. `upstream` has every stage after
    those it needs.
    """
    remaining: dict[str, float] = {}
    after = dict.fromkeys(upstream, 0.0)
    for name in reversed(list(upstream)):
        remaining[name] = seconds.get(name, UNKNOWN_SECONDS) + after[name]
        for needed in upstream[name]:
            if needed in after:
                after[needed] = max(after[needed], remaining[name])
    return {name: remaining[name] for name in upstream}


def lease_file() -> Path:
    """The file of this user's lease. Raises NightjarError if the folder is somebody else's."""
    folder = Path(tempfile.gettempdir()) / f"nightjar-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise NightjarError("not a folder of this user", folder, "remove it, or set TMPDIR to another folder")
    return folder / "gpu.lock"


class Gpu:
    """The leases that the stages of one run hold; used by several threads."""

    def __init__(self, root: Path, explain: Callable[[str, str], None]) -> None:
        """`explain` is called with the name of a stage that has to wait and the reason, once for each holder."""
        self._root = root
        self._explain = explain
        self._held: dict[str, int] = {}
        self._waits: dict[str, str] = {}

    def take(self, stage: str) -> bool:
        """Take the lease for `stage` if it is free; never waits."""
        try:
            descriptor = lock.take(lease_file(), {"stage": stage, "project": str(self._root)})
        except (lock.LockTaken, OSError) as error:
            why = _held_by(error.holder) if isinstance(error, lock.LockTaken) else f"cannot be taken: {error}"
            if self._waits.get(stage) != why:
                self._waits[stage] = why
                self._explain(stage, f"waits for the GPU ({why})")
            return False
        self._held[stage] = descriptor
        return True

    def descriptor(self, stage: str) -> int | None:
        """The descriptor that the processes of `stage` inherit; None if it holds no lease."""
        return self._held.get(stage)

    def release(self, stage: str) -> None:
        """Release the lease, if `stage` has it. Processes that it left running continue to hold it."""
        descriptor = self._held.pop(stage, None)
        if descriptor is not None:
            os.close(descriptor)


def _held_by(holder: Mapping[str, Any]) -> str:
    if not {"stage", "project", "pid", "since"} <= holder.keys():
        return "held by another stage"
    return "held by {stage} of {project}, process {pid}, since {since}".format_map(holder)
