"""Model directories: what is in one, and the checksums that tell whether it is still what it was.

Only safetensors and GGUF are read, never pickle.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

from safetensors import safe_open

from nightjar.core.errors import NightjarError
from nightjar.core.files import sha256_of
from nightjar.core.json_text import recorded

CHECKSUMS = "checksums.json"


def weight_files(folder: Path) -> list[Path]:
    """The weight files of a model directory: its safetensors, or else its one GGUF.

    Raises NightjarError if there are none, or only pickled ones.
    """
    if not folder.is_dir():
        raise NightjarError(
            "no such model directory", folder, "check the path, or run: nightjar rebuild base_model"
        )
    for pattern in ("*.safetensors", "*.gguf"):
        if files := sorted(folder.glob(pattern)):
            return files
    if any(folder.glob("*.bin")):
        fix = "give safetensors or GGUF, or save it as safetensors where you trust it (save_pretrained)"
        raise NightjarError("only pickled weights in this model directory", folder, fix)
    raise NightjarError("no weights in this model directory", folder, "give safetensors or GGUF")


def digest(folder: Path) -> str:
    """One sha256 for a model directory: of its weight file, or of the list of digests if there are several."""
    sums = [sha256_of(path) for path in weight_files(folder)]
    return sums[0] if len(sums) == 1 else hashlib.sha256("\n".join(sums).encode()).hexdigest()


def parameters(folder: Path) -> int:
    """The parameters in the safetensors files of a model directory, 0 without any; tied weights count once."""
    count = 0
    for path in folder.glob("*.safetensors"):
        with safe_open(path, "np") as file:
            count += sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    return count


def write_checksums(folder: Path) -> str:
    """Record the digest of a model directory beside its weights; returns it."""
    value = digest(folder)
    (folder / CHECKSUMS).write_text(json.dumps({"sha256": value}) + "\n", encoding="utf-8")
    return value


def verify(folder: Path) -> str:
    """The digest of a model directory. Raises NightjarError if it is not the recorded one."""
    value = digest(folder)
    record = folder / CHECKSUMS
    if record.exists():
        expected = recorded(record).get("sha256")
        if not isinstance(expected, str):
            raise NightjarError("unreadable checksum file", record, "make the model again")
        if value != expected:
            what = f"the weights' sha256 is {value[:12]}…, recorded was {expected[:12]}…"
            raise NightjarError(
                what, folder, "the files changed or are damaged: delete the folder, make it again"
            )
    return value
