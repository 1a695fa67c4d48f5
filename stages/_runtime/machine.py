"""The machine that a model ran on: the last bits of what it computes depend on the processor and the GPU."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

_GIB = 1024**3


def describe(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, Any]:
    """Processor, architecture, logical cores, memory in GiB, GPUs and Python version of this machine.

    `gpus` lists what torch can use, and is None where torch was not loaded. Neither a clock nor a host name is among
    the values: two runs on one machine give the same.
    """
    return {
        "processor": _processor(cpuinfo),
        "architecture": platform.machine(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB),
        "gpus": _gpus(),
        "python": platform.python_version(),
    }


def _processor(cpuinfo: Path) -> str:
    """The model's name as Linux gives it; where it gives none, what the platform says, or "unknown"."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.lower().startswith("model name"))
    return next(names, "") or platform.processor() or "unknown"


def _gpus() -> list[str] | None:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    if not torch.cuda.is_available():
        return []
    return [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
