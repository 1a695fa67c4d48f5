"""YAML parsed once for each text. DVC parses params.yaml and dvc.lock several times for each stage, which takes longer
than all else that it does for a stage.
"""

from __future__ import annotations

import contextlib
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

from dvc.utils import serialize, strictyaml
from dvc.utils.serialize import EncodingError, ParseError

_parse = serialize.parse_yaml


def use_in_dvc() -> None:
    """Let DVC read stages, lock files and parameters with the functions below."""
    strictyaml.parse_yaml = parse_yaml
    serialize.LOADERS.update({".yaml": load_yaml, ".yml": load_yaml})


def parse_yaml(text: str, path: str | Path, typ: str = "safe") -> Any:
    """What DVC's function of this name returns. Each caller gets a copy of its own."""
    if typ == "safe":
        with contextlib.suppress(ParseError):
            return deepcopy(_parsed(text))
    return _parse(text, path, typ)


def load_yaml(path: str, fs: Any = None, **options: Any) -> Any:
    """What DVC's function of this name returns."""
    with (fs.open if fs else open)(path, encoding="utf-8", **options) as file:
        try:
            return parse_yaml(file.read(), path)
        except UnicodeDecodeError:
            raise EncodingError(path, "utf-8") from None


@lru_cache(maxsize=16)
def _parsed(text: str) -> Any:
    return _parse(text, "")
