"""Rows as numbers, in numpy and Arrow: codes that are equal where values are, which cells differ, digests of rows.

Values are equal here if they would be written alike: null equals null and NaN equals NaN, 0.0 and -0.0 differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_VIEWS = {2: pa.int16(), 4: pa.int32(), 8: pa.int64()}


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind))


def _plain(array: pa.Array) -> pa.Array:
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
    array = _plain(array)
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64)
    if pa.types.is_struct(kind):
        present = np.asarray(array.is_valid(), dtype=np.int64)
        return combined([present, *(codes(child) for child in array.flatten())])
    if _is_list(kind):
        array = _as_bytes(array)
    encoded = pc.dictionary_encode(array, null_encoding="encode")
    return np.asarray(encoded.indices, dtype=np.int64)


def _as_bytes(array: pa.Array) -> pa.Array:
    """Lists as byte strings: the codes of their elements, eight bytes each."""
    lengths = np.asarray(pc.fill_null(pc.list_value_length(array), 0), dtype=np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths * 8)])
    inner = codes(array.flatten())
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(inner)]
    blobs = pa.Array.from_buffers(pa.large_binary(), len(array), buffers)
    if array.null_count:
        return pc.if_else(array.is_valid(), blobs, pa.scalar(None, pa.large_binary()))
    return blobs


def combined(columns: Sequence[Integers]) -> Integers:
    """(n) codes of the tuples of codes that stand in one row of the columns, each (n)."""
    row, values = columns[0], int(columns[0].max(initial=0)) + 1
    for column in columns[1:]:
        more = int(column.max(initial=0)) + 1
        if values * more > 2**62:
            row = _dense(row)
            values = int(row.max(initial=0)) + 1
        row, values = row * more + column, values * more
    return _dense(row)


def _dense(numbers: Integers) -> Integers:
    return np.asarray(pa.array(numbers).dictionary_encode().indices, dtype=np.int64)


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
    if not len(a):
        return np.zeros(0, np.bool_)
    if is_nested(a.type):
        both = codes(whole(pa.chunked_array([*a.chunks, *b.chunks], a.type)))
        return both[: len(a)] != both[len(a) :]
    if pa.types.is_floating(a.type) or isinstance(a.type, pa.BaseExtensionType):
        a, b = (pa.chunked_array([_plain(chunk) for chunk in it.chunks]) for it in (a, b))
    if pa.types.is_null(a.type):
        return np.zeros(len(a), np.bool_)
    unlike = pc.not_equal(a, b)
    if a.null_count or b.null_count:
        unlike = pc.or_(pc.fill_null(unlike, False), pc.xor(a.is_null(), b.is_null()))
    return np.asarray(unlike, dtype=np.bool_)


def digests(table: pa.Table) -> pa.Array:
    """(n) 16 bytes a row that are equal where whole rows are: tables too large to hold are compared by them."""
    columns = [_netstrings(column) for column in table.columns]
    empty = pa.scalar(b"", pa.large_binary())
    joined = pc.binary_join_element_wise(*columns, empty) if columns else pa.nulls(len(table))
    rows = [blake2b(row or b"", digest_size=16).digest() for row in joined.to_pylist()]
    return pa.array(rows, pa.binary(16))


def _netstrings(column: pa.ChunkedArray) -> pa.Array:
    """Every value as its length, a colon and its bytes; null as a hyphen: no two rows run together alike."""
    array = _plain(whole(column))
    try:
        if is_nested(array.type):
            raise pa.ArrowNotImplementedError
        if not pa.types.is_large_binary(array.type) and not pa.types.is_binary(array.type):
            array = array.cast(pa.large_string())
        array = array.cast(pa.large_binary())
    except pa.ArrowNotImplementedError:
        # Lists and the like: as Python writes them.
        told = [None if value is None else repr(value).encode() for value in array.to_pylist()]
        array = pa.array(told, pa.large_binary())
    lengths = pc.cast(pc.cast(pc.binary_length(array), pa.large_string()), pa.large_binary())
    colon = pa.scalar(b":", pa.large_binary())
    joined = pc.binary_join_element_wise(lengths, array, colon)
    return pc.fill_null(joined, pa.scalar(b"-", pa.large_binary()))
