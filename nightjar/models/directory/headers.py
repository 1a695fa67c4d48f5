"""Checks of the files of a model directory by their headers, before a library reads them.

Model directories come from outside: a file may be cut, of another kind, or ask for more memory than there is.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open

from nightjar.core.errors import NightjarError, first_line, from_os_error
from nightjar.core.files import check_input
from nightjar.core.json_text import quote_short, read_object

AGAIN = "check the directory, or get the model again"
_FLOATING = frozenset({"F64", "F32", "F16", "BF16", "F8_E5M2", "F8_E4M3"})
# More layers or labels than this take time and memory before any weight is read.
_FEW = 1000
_COUNTED = ("layer", "block_count", "num_labels")
_PREFIXED = re.compile(rb'"continuing_subword_prefix"\s*:\s*"')


@dataclass(frozen=True)
class TensorHeader:
    """A tensor of a weight file: its shape, and whether it holds floating-point numbers."""

    shape: tuple[int, ...]
    floating: bool

    @property
    def size(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)


@contextmanager
def refusing(what: str, where: Path, fix: str = AGAIN) -> Iterator[None]:
    """Turn whatever a library raises on a damaged file into one NightjarError; its warnings are not shown.

    The libraries raise what they like there, from KeyError to the panics of Rust, which are no Exception.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except NightjarError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if isinstance(error, OSError) and (os_fault := from_os_error(error, where)):
            raise os_fault from None
        # A key that is missing says nothing by itself.
        named = f"{type(error).__name__}: " if isinstance(error, LookupError) else ""
        reason = quote_short(f"{named}{first_line(error)}", 300, quoted=False)
        raise NightjarError(f"{what} ({reason})", where, fix) from None


def read_json_object(file: Path) -> dict[str, Any]:
    """The object in a JSON file of a model directory."""
    check_input(file)
    return read_object(file, AGAIN, constants=True)


def read_tensors(file: Path) -> dict[str, TensorHeader]:
    """The tensors of a safetensors file by name, from its header."""
    check_input(file)
    with refusing("not a safetensors file, or damaged", file), safe_open(str(file), "np") as opened:
        parts = {name: opened.get_slice(name) for name in opened.keys()}  # noqa: SIM118  no mapping
        return {
            name: TensorHeader(tuple(part.get_shape()), part.get_dtype() in _FLOATING)
            for name, part in parts.items()
        }


def check_merges(file: Path) -> None:
    """Raise NightjarError for a tokenizer whose merges lack its prefix: the library panics, and prints how."""
    with refusing("this tokenizer cannot be read", file):
        if not _PREFIXED.search(file.read_bytes()):
            return
    model = read_json_object(file).get("model")
    values = model if isinstance(model, dict) else {}
    prefix, merges = values.get("continuing_subword_prefix"), values.get("merges")
    if not isinstance(prefix, str) or not isinstance(merges, list):
        return
    for merge in merges:
        parts = merge.split(" ", 1) if isinstance(merge, str) else merge
        if not (isinstance(parts, list) and parts and str(parts[-1]).startswith(prefix)):
            raise NightjarError(f"merges without the prefix {quote_short(prefix)}", file, AGAIN)


def check_sizes(values: Mapping[str, Any], tensor_count: int, where: Path) -> None:
    """Raise NightjarError for a configuration of many more layers than `tensor_count` can hold.

    What else a configuration asks for is counted while the model is made (`pretrained.limit_size`).
    """
    for key, value in _numbers(values, ""):
        if value > max(tensor_count, _FEW) and any(word in key for word in _COUNTED):
            what = (
                f"{quote_short(key, quoted=False)} is out of range: the weights have {tensor_count:,} tensors"
            )
            raise NightjarError(what, where, AGAIN)


def _numbers(value: Any, key: str) -> Iterator[tuple[str, int]]:
    """All integers in a JSON value, with the key that each is under."""
    if isinstance(value, int):
        yield key, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _numbers(item, str(name))
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item, key)
