"""Rows as numbers, in numpy and Arrow: codes that are equal where values are, and which cells differ.

Values are equal here if they would be written alike: null equals null and NaN equals NaN, 0.0 and -0.0 differ.
Arrow's own ways to and from numpy import pandas, which takes longer than most comparisons: buffers are passed.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_VIEWS = {2: pa.int16(), 4: pa.int32(), 8: pa.int64()}


def integers(array: pa.Array) -> Integers:
    """(n) an array of whole numbers, anything where it is null, not copied if they are of 64 bits."""
    if not len(array):
        return np.zeros(0, np.int64)
    width = array.type.bit_width // 8
    numbers = np.frombuffer(array.buffers()[1], f"i{width}", len(array), array.offset * width)
    return numbers.astype(np.int64, copy=False)


def mask(array: pa.Array | pa.ChunkedArray) -> Mask:
    """(n) an array of booleans, anything where it is null."""
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    return (
        np.concatenate([integers(chunk.cast(pa.uint8())) for chunk in chunks] or [np.zeros(0, np.int64)]) != 0
    )


def indices(numbers: Integers, there: Mask | None = None) -> pa.Array:
    """(n) numbers as an Arrow array, null where they are not `there`."""
    valid = None if there is None else pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(
        pa.int64(), len(numbers), [valid, pa.py_buffer(np.ascontiguousarray(numbers))]
    )


def is_list(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind))


def plain(array: pa.Array) -> pa.Array:
    """The array without dictionary or extension; floats as the integers of their bits, maps as lists of pairs."""
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_floating(array.type):
        array = array.view(_VIEWS[array.type.bit_width // 8])
    if pa.types.is_map(array.type):
        pair = pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])
        array = array.cast(pa.list_(pair))
    return array


def codes(array: pa.Array) -> Integers:
    """(n) whole numbers from 0 on, equal exactly where the values of the n rows are; any type."""
    array = plain(array)
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64)
    if pa.types.is_struct(kind):
        present = mask(array.is_valid()).astype(np.int64)
        return combined([present, *(codes(child) for child in array.flatten())])
    if is_list(kind):
        array = _as_bytes(array)
    encoded = pc.dictionary_encode(array, null_encoding="encode")
    return integers(encoded.indices)


def _as_bytes(array: pa.Array) -> pa.Array:
    """Lists as byte strings: the codes of their elements, eight bytes each."""
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(list_lengths(array) * 8)])
    inner = codes(array.flatten())
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(inner)]
    blobs = pa.Array.from_buffers(pa.large_binary(), len(array), buffers)
    return pc.replace_with_mask(blobs, array.is_null(), pa.nulls(array.null_count, blobs.type))


def list_lengths(array: pa.Array) -> Integers:
    """(n) the lengths of lists, 0 for null."""
    lengths = pc.list_value_length(array)
    return np.where(mask(array.is_valid()), integers(lengths), 0)


def combined(columns: Iterable[Integers]) -> Integers:
    """(n) codes of the tuples of codes that are in one row of the columns, each (n); less than 4 n, save for a
    lone column. The columns may come one after another: only one is held.
    """
    columns = iter(columns)
    row = next(columns)
    values = int(row.max(initial=0)) + 1
    for column in columns:
        more = int(column.max(initial=0)) + 1
        if more == 1:
            continue
        if values * more > 2**62:
            row = _dense(row)
            values = int(row.max(initial=0)) + 1
        row, values = row * more + column, values * more
    return row if values <= 4 * len(row) else _dense(row)


def _dense(numbers: Integers) -> Integers:
    return integers(indices(numbers).dictionary_encode().indices)


def turns(numbers: Integers) -> Integers:
    """(n) how often each of the codes has occurred before: all 0 if every one occurs once."""
    counts = np.bincount(numbers) if len(numbers) else np.zeros(0, np.int64)
    turn = np.zeros(len(numbers), np.int64)
    if counts.max(initial=0) > 1:
        order = np.argsort(numbers, kind="stable")
        starts = np.cumsum(counts) - counts
        turn[order] = np.arange(len(numbers)) - starts[numbers[order]]
    return turn


def whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece, with wider offsets where texts need them."""
    wider = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
    if column.type in wider and column.nbytes > 2**31 - 1:
        column = column.cast(wider[column.type])
    return column.combine_chunks()


def differ(a: pa.ChunkedArray, b: pa.ChunkedArray) -> Mask:
    """(n) True where two columns of one type and length differ."""
    if is_nested(a.type) or isinstance(a.type, pa.BaseExtensionType):
        return _differ(whole(a), whole(b))
    if pa.types.is_floating(a.type):
        a, b = (
            pa.chunked_array([plain(chunk) for chunk in it.chunks], _VIEWS[a.type.bit_width // 8])
            for it in (a, b)
        )
    return _unlike(a, b)


def _differ(a: pa.Array, b: pa.Array) -> Mask:
    """`differ` of arrays, into structs and lists; only elements of lists of one length are compared."""
    a, b = plain(a), plain(b)
    if pa.types.is_struct(a.type):
        unlike = _one_null(a, b)
        for mine, other in zip(a.flatten(), b.flatten(), strict=True):
            unlike |= _differ(mine, other)
        return unlike
    if not is_list(a.type):
        return _unlike(a, b)
    lengths, others = (list_lengths(it) for it in (a, b))
    unlike = _one_null(a, b) | (lengths != others)
    if unlike.any():
        alike = np.flatnonzero(~unlike)
        a, b, lengths = a.take(indices(alike)), b.take(indices(alike)), lengths[alike]
    inner = _differ(a.flatten(), b.flatten())
    unlike[np.repeat(np.flatnonzero(~unlike), lengths)[inner]] = True
    return unlike


def _unlike(a: pa.Array | pa.ChunkedArray, b: pa.Array | pa.ChunkedArray) -> Mask:
    if pa.types.is_null(a.type):
        return np.zeros(len(a), np.bool_)
    unlike = pc.not_equal(a, b)
    if not unlike.null_count:
        return mask(unlike)
    return mask(unlike) & mask(unlike.is_valid()) | _one_null(a, b)


def _one_null(a: pa.Array | pa.ChunkedArray, b: pa.Array | pa.ChunkedArray) -> Mask:
    return mask(pc.xor(a.is_null(), b.is_null()))
