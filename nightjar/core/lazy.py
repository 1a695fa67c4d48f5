"""Public names of a package that are imported when they are first used.

torch, faiss and pyarrow take seconds to load. `import nightjar.search` must not wait for what a program may never use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of `package` (PEP 562), which make `names` its attributes.

    `names`: for each public name "module:attribute", the module relative to the package; "module" is the module itself.
    """

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = names[name].partition(":")
        value: Any = import_module(f".{module}", package)
        if attribute:
            value = getattr(value, attribute)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted({*vars(sys.modules[package]), *names})
