"""Hashes of cells and rows, equal where values are, for what is too large or too scattered to hold side by side.

Texts and bytes are hashed by SipHash, as Python's own `hash` does, numbers by a mixing function: 64 bits a lane.
Lanes have salts of their own, drawn anew in every process. Two cells that differ have one hash in one lane with a
chance of 2**-64, two rows that differ one digest, which has two lanes, with a chance of 2**-128.
"""

from __future__ import annotations

import os
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.versions.row_codes import integers, is_list, is_nested, list_lengths, mask, plain, whole

Hashes = npt.NDArray[np.uint64]
_LANES = 2
_SALTS = np.frombuffer(os.urandom(8 * _LANES), np.uint64)[:, None]
# Where the first so many texts have many doubles, every value is hashed once instead of every row.
_PROBE = 64
# Texts that are Python objects at once.
_TEXTS = 512


def cells(column: pa.ChunkedArray) -> Hashes:
    """(n) 64 bits a cell, equal where the values are; any type."""
    return _hashes(whole(column), 1)[0]


def digests(table: pa.Table) -> pa.Array:
    """(n) 16 bytes a row that are equal where whole rows are."""
    columns = (_hashes(whole(column), _LANES) for column in table.columns)
    lanes = reduce(_chained, columns, np.zeros((_LANES, len(table)), np.uint64))
    return pa.Array.from_buffers(
        pa.binary(16), len(table), [None, pa.py_buffer(np.ascontiguousarray(lanes.T))]
    )


def _hashes(array: pa.Array, lanes: int) -> Hashes:
    """(lanes, n) 64 bits each."""
    array = plain(array)
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros((lanes, len(array)), np.uint64)
    if pa.types.is_struct(kind):
        children = (_hashes(child, lanes) for child in array.flatten())
        found = reduce(_chained, children, np.zeros((lanes, len(array)), np.uint64))
    elif is_list(kind):
        found = _lists(array, lanes)
    elif pa.types.is_primitive(kind):
        found = _numbers(array, lanes)
    else:
        found = _texts(_as_binary(array), lanes)
    if array.null_count:
        found[:, mask(array.is_null())] = _SALTS[:lanes]
    return found


def _mixed(numbers: Hashes) -> Hashes:
    """Every number onto another, all bits depending on all: the finaliser of SplitMix64."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _chained(before: Hashes, column: Hashes) -> Hashes:
    """The hashes of rows with one more column."""
    return _mixed(before + column)


def _numbers(array: pa.Array, lanes: int) -> Hashes:
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    return _mixed(integers(array).view(np.uint64) + _SALTS[:lanes])


def _as_binary(array: pa.Array) -> pa.Array:
    try:
        if pa.types.is_decimal(array.type):
            array = array.cast(pa.string())
        if is_nested(array.type):
            raise pa.ArrowNotImplementedError
        return array.cast(pa.large_binary())
    except pa.ArrowNotImplementedError:
        # Unions and the like: as Python writes them.
        told = [None if value is None else repr(value).encode() for value in array.to_pylist()]
        return pa.array(told, pa.large_binary())


def _texts(array: pa.Array, lanes: int) -> Hashes:
    if pc.count_distinct(array[:_PROBE]).as_py() <= _PROBE // 2 < len(array):
        encoded = pc.dictionary_encode(array, null_encoding="encode")
        return _each(encoded.dictionary, lanes)[:, integers(encoded.indices)]
    return _each(array, lanes)


def _each(array: pa.Array, lanes: int) -> Hashes:
    found = np.empty((lanes, len(array)), np.int64)
    for start in range(0, len(array), _TEXTS):
        texts = [text or b"" for text in array[start : start + _TEXTS].to_pylist()]
        for lane in range(lanes):
            salted = map(_SALTS[lane].tobytes().__add__, texts) if lane else texts
            found[lane, start : start + len(texts)] = np.fromiter(map(hash, salted), np.int64, len(texts))
    return found.view(np.uint64)


def _lists(array: pa.Array, lanes: int) -> Hashes:
    """The hashes of the elements, each with its place in the list, summed up."""
    lengths = list_lengths(array)
    ends = np.cumsum(lengths)
    inner = _hashes(array.flatten(), lanes)
    place = np.arange(inner.shape[1]) - np.repeat(ends - lengths, lengths)
    sums = np.zeros((lanes, inner.shape[1] + 1), np.uint64)
    np.cumsum(_mixed(inner + _mixed(place.astype(np.uint64))), axis=1, out=sums[:, 1:])
    return _mixed(sums[:, ends] - sums[:, ends - lengths] + lengths.astype(np.uint64))
