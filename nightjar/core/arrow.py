"""Arrow without pandas.

The first time pyarrow makes an array of Python objects it looks for pandas and, where that is installed, imports it, in
case one of them is a pandas object. None here ever is, and it costs every process a third of a second and 40 MB.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

import pyarrow as pa


class _Hides(MetaPathFinder):
    """Says of one package that it is not installed."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname == self._package:
            raise ModuleNotFoundError(f"{fullname} is hidden", name=fullname)


def leave_pandas() -> None:
    """Let pyarrow look for pandas now, and not find it.

    It does not look again by itself; `to_pandas` and the like still import it. Does nothing where pandas is there.
    """
    if "pandas" in sys.modules:
        return
    hides = _Hides("pandas")
    sys.meta_path.insert(0, hides)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(hides)
