"""Studies that set one key of params.yaml: which key, what values it may have, and which are tried by default."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.core.config import PARAMS_FILE
from nightjar.core.errors import NightjarError

# A value as it is written and as it is set.
Parse = Callable[[Path, str], Any]


@dataclass(frozen=True)
class Kind:
    """`key` has {benchmark} and {reader}, the recipe of the system's reader, in it. `numbers`: values are numbers,
    which come in ascending order. `published`: the values of the paper (Guo et al. 2023, tables 3 to 6; for the length
    of input Shaham et al. 2023, table 4). `passages`: the setting is for systems that read passages.
    `cleared` are keys that take precedence over this one, so that they are null in all points.
    """

    key: str
    published: tuple[str, ...] = ()
    numbers: bool = False
    passages: bool = True
    cleared: tuple[str, ...] = ()
    parse: Parse = lambda root, value: value


def _folder(root: Path, value: str) -> str:
    """A model directory, as a path that holds in a clone too."""
    folder = root / value
    if not (folder / "config.json").is_file():
        raise NightjarError("no model there (no config.json)", value, "give directories of language models")
    return str(folder.resolve())


KINDS: Mapping[str, Kind] = {
    # How many passages of the first stage are compared: k.
    "candidates": Kind("rerank.candidates", ("16", "50", "100", "150"), numbers=True),
    # How many passages a reader reads: d.
    "passages": Kind("readers.{reader}.passages", ("4", "8", "16", "24"), numbers=True),
    "reranker": Kind("rerank.benchmarks.{benchmark}.model", parse=_folder),
    "granularity": Kind("index.granularity", ("words", "sentences")),
    # The most tokens of a prompt.
    "input_length": Kind(
        "encoding.max_source_length",
        ("512", "1024", "2048", "4096", "8192"),
        numbers=True,
        passages=False,
        cleared=("benchmarks.{benchmark}.total_tokens",),
    ),
    "retriever": Kind("retrieve.benchmarks.{benchmark}.retriever", ("dense", "bm25", "hybrid")),
}


def key_of(params: Mapping[str, Any], kind: str, benchmark: str, system: str) -> str:
    """The key that a study sets for a system. Raises NightjarError if the parameters have no such key."""
    reader = Path(params["predict"]["systems"].get(f"{benchmark}-{system}", {}).get("weights", "")).name
    key = KINDS[kind].key.format(benchmark=benchmark, reader=reader)
    try:
        _value(params, key)
    except KeyError:
        fix = "name a benchmark, and a recipe, that the setting is for"
        raise NightjarError(f"no setting {key}: nothing to study", PARAMS_FILE, fix) from None
    return key


def cleared(params: Mapping[str, Any], kind: str, benchmark: str) -> dict[str, None]:
    """What a study sets to null in all points: the keys `cleared` of its kind that the parameters have a value of."""
    found: dict[str, None] = {}
    for template in KINDS[kind].cleared:
        key = template.format(benchmark=benchmark)
        with contextlib.suppress(KeyError):
            if _value(params, key) is not None:
                found[key] = None
    return found


def _value(params: Mapping[str, Any], key: str) -> Any:
    """The value of a dotted key. Raises KeyError if there is none."""
    group: Any = params
    for name in key.split("."):
        if not isinstance(group, Mapping):
            raise KeyError(key)
        group = group[name]
    return group


def default_system(kind: str, systems: Sequence[Mapping[str, Any]], benchmark: str) -> str | None:
    """The first system of a benchmark that reads reranked passages, or else retrieved ones; None if there is none.

    The first system of all for a kind that is not for passages.
    """
    if not KINDS[kind].passages:
        return next((str(one["system"]) for one in systems if one["benchmark"] == benchmark), None)
    for stage in ("rerank", "retrieve"):
        for one in systems:
            if one["benchmark"] == benchmark and one["evidence"] == f"data/{stage}/{benchmark}":
                return str(one["system"])
    return None


def values_of(root: Path, kind: str, given: Sequence[str], number: Callable[[str], int]) -> dict[str, Any]:
    """The values to try as {as shown: as set}. Raises NightjarError for one that cannot be, and if there are none."""
    one = KINDS[kind]
    values = list(given) or list(one.published)
    if not values:
        raise NightjarError(f"no values for {one.key}", "--values", "give some")
    if one.numbers:
        numbers = sorted(number(value) for value in values)
        return {str(value): value for value in numbers}
    return {value: one.parse(root, value) for value in values}
