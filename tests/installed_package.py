"""What pip leaves of a package with entry points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def install(folder: Path, package: str, version: str, group: str, points: Sequence[str]) -> None:
    """`points` are lines NAME = MODULE:OBJECT of the group."""
    info = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *points]))
