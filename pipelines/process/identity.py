"""Which process a process number means: a later process may have the same number."""

from __future__ import annotations

from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def identity(pid: int) -> str:
    """A text that no other process has, before or after; empty if there is no process `pid`.

    It consists of the machine's boot and the kernel's tick at which the process started. Neither changes with the
    clock, unlike the time of day that psutil derives from them.
    """
    fields = _stat(pid)
    return f"{_boot()}-{fields[19]}" if fields else ""


def alive(pid: int, known: str) -> bool:
    """Whether the process with the identity `known` runs. A zombie does not."""
    fields = _stat(pid)
    return bool(fields) and fields[0] not in ("Z", "X") and identity(pid) == known


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on (see proc(5)); empty if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _boot() -> str:
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return "boot"
