"""The code by its content: Git's identifier of a folder as it is on the disk, whether it was committed or not.

The name of a commit is no property of the code: with it in the report, equal inputs would give other bytes after every
commit. A tree's identifier changes only with the code, and Git finds the commits that hold it.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

_IGNORED = "__pycache__"


def identifier(folder: Path) -> str:
    """What `git rev-parse COMMIT:FOLDER` prints for a commit that holds `folder` as it is; compiled Python is left out.

    Raises OSError for a file that cannot be read.
    """
    entries = []
    for path in folder.iterdir():
        name = os.fsencode(path.name)
        if path.is_symlink():
            entries.append((name, b"120000", _hash(b"blob", os.fsencode(path.readlink()))))
        elif path.is_dir():
            if path.name != _IGNORED and any(path.iterdir()):
                # Git sorts a folder as if its name ended with a slash.
                entries.append((name + b"/", b"40000", bytes.fromhex(identifier(path))))
        elif path.suffix != ".pyc":
            mode = b"100755" if path.stat().st_mode & 0o100 else b"100644"
            entries.append((name, mode, _hash(b"blob", path.read_bytes())))
    lines = (mode + b" " + name.rstrip(b"/") + b"\0" + digest for name, mode, digest in sorted(entries))
    return _hash(b"tree", b"".join(lines)).hex()


def _hash(kind: bytes, content: bytes) -> bytes:
    header = kind + b" " + str(len(content)).encode() + b"\0"
    return hashlib.sha1(header + content, usedforsecurity=False).digest()
