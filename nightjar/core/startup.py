"""Quick starts of a process: names that are imported when they are used, and rare garbage collection. Its threads
share the processor with other programs.

torch, faiss and pyarrow take seconds to load; `import nightjar.search` must not wait for what a program may never use.
"""

from __future__ import annotations

import ast
import atexit
import gc
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

_USUAL = gc.get_threshold()


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of `package` (PEP 562): each import in its block `if TYPE_CHECKING` is made when the
    name is first used.
    """
    source = Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8")
    block = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
    imports = (node for node in block.body if isinstance(node, ast.ImportFrom))
    names = {one.asname or one.name: (str(node.module), one.name) for node in imports for one in node.names}

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = names[name]
        submodule = module == package
        value: Any = (
            import_module(f"{module}.{attribute}") if submodule else getattr(import_module(module), attribute)
        )
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted({*vars(sys.modules[package]), *names})


def wait_asleep() -> None:
    """Let threads of OpenMP that wait for each other sleep soon. To be called before torch is loaded.

    By default they spin for milliseconds. Where another program has one of two cores, the thread that waits then takes
    the time of the one that it waits for (docs/results.md, Threads). A user's own OMP_WAIT_POLICY or GOMP_SPINCOUNT
    stays.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")


def collect_seldom() -> None:
    """Look for garbage seldom from now on, and not at the exit.

    Torch, transformers, DVC and Prefect make half a million objects while they are imported, and nearly all of those
    stay to the end: looking for garbage among them takes a third of the import's seconds.
    """
    gc.set_threshold(100_000, 20, 20)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def collect_as_usual() -> None:
    """Look for garbage as often as Python does: what is kept alive in vain may be a tensor from now on.

    What was made while it was sought seldom, is never looked through again: the modules that were imported.
    """
    if gc.get_threshold() != _USUAL:
        gc.freeze()
    gc.set_threshold(*_USUAL)
