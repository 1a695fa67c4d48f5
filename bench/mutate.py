"""Broken versions of valid files, drawn by a seed: bytes, JSON, lines of JSON, YAML, texts and Parquet tables."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Mutate = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True)
class FuzzedReader:
    """One way into Nightjar: valid bytes, how they are broken, and what reads the file they are put into.

    `share` is its part of the cases, for those that take long.
    """

    name: str
    seeds: tuple[bytes, ...]
    mutate: Mutate
    file: str
    read: Callable[[Path], object]
    share: float = 1.0


# What has broken parsers before; put anywhere into a file.
PIECES = (
    b"NaN", b"-Infinity", b"1e999", b"9" * 400, b"9" * 5000, b"[" * 1200, b'{"a":' * 1200, b"null", b"true", b'""',
    b"[]", b"{}", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\x00", b"\r\n", b"\t", b'\\ud800', b"\\u0000", b"\\", b'"',
    b",", b":", b"&a ", b"*a", b"<<: *a", b"!!python/object:os.system x", b"!!int x", b"!!binary x", b"!!set {a}",
    b"? [a]\n: b", b"? {a: b}\n: c", b"---\n", b"...\n", b"%YAML 9.9\n", b"|\n", b">-\n", b"2026-13-45",
    b"0001-01-01T00:00:00+23:59", b"0x" + b"f" * 50, b"190:20:30", b".inf", b"(" * 60, b"-" * 60, b"/0", b"1/0.0",
    b"**", b"->", b"]", b"Calculator(", "\u202e\u2028\u0085\u0660".encode(), "\U0001f985".encode(), b" \n\n ",
)  # fmt: skip
# In the place of a value of JSON.
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**30, -(10**30), 2**64, 1e308, float("nan"), float("inf"), "", " ", "x" * 3000, "\ud800",
    "\x00\x1b[31m", "a\nb", "../../x", [], [[]], [None], ["", None], {}, {"a": {}}, {"id": 1},
)  # fmt: skip


class Pairs(list[tuple[str, Any]]):
    """An object of JSON that may hold a key twice."""


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """`data` after one to three cuts, flips, repeats or insertions."""
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + int(rng.expovariate(1 / 20)))
        kind = rng.randrange(6)
        if kind == 0:
            data = data[:start]
        elif kind == 1:
            data = data[:start] + data[end:]
        elif kind == 2:
            data = data[:end] + data[start:end] * rng.choice((1, 2, 50)) + data[end:]
        elif kind == 3 and start < len(data):
            data = data[:start] + bytes([data[start] ^ 1 << rng.randrange(8)]) + data[start + 1 :]
        else:
            data = data[:start] + rng.choice(PIECES) + data[end if kind == 5 else start :]
    return data


def mutate_json(data: bytes, rng: random.Random) -> bytes:
    """A JSON text with values swapped, removed, nested or doubled; sometimes its bytes are changed as well."""
    if rng.random() < 0.3:
        return mutate_bytes(data, rng)
    value = _change(json.loads(data, object_pairs_hook=Pairs), rng)
    text = _text(value, rng.random() < 0.5).encode("utf-8", "surrogatepass")
    return mutate_bytes(text, rng) if rng.random() < 0.1 else text


def mutate_lines(data: bytes, rng: random.Random) -> bytes:
    """JSON Lines with some lines changed, doubled, removed or put elsewhere."""
    if rng.random() < 0.2:
        return mutate_bytes(data, rng)
    lines = data.splitlines()
    for _ in range(rng.randint(1, 2)):
        place = rng.randrange(len(lines))
        kind = rng.randrange(6)
        if kind == 0:
            lines.insert(rng.randrange(len(lines) + 1), lines[place])
        elif kind == 1 and len(lines) > 1:
            del lines[place]
        elif kind == 2:
            lines[place] = mutate_bytes(lines[place], rng)
        elif lines[place].startswith(b"{"):
            try:
                lines[place] = mutate_json(lines[place], rng)
            except (ValueError, RecursionError):  # changed already
                lines[place] = mutate_bytes(lines[place], rng)
    return b"\n".join(lines) + b"\n" * rng.randrange(2)


def mutate_yaml(data: bytes, rng: random.Random) -> bytes:
    """YAML with a value replaced, a line doubled, indented or removed, or bytes changed."""
    lines = data.splitlines()
    kind, place = rng.randrange(5), rng.randrange(len(lines))
    key, colon, _ = lines[place].partition(b":")
    if kind == 0 and colon:
        odd = rng.choice(ODD)
        text = json.dumps(odd).encode() if rng.random() < 0.5 else rng.choice(PIECES)
        lines[place] = key + b": " + text
    elif kind == 1:
        lines.insert(place, lines[place])
    elif kind == 2:
        lines[place] = rng.choice((b" ", b"\t", b"   ")) + lines[place]
    elif kind == 3:
        del lines[place]
    else:
        return mutate_bytes(data, rng)
    return b"\n".join(lines) + b"\n"


def mutate_parquet(data: bytes, rng: random.Random) -> bytes:
    """A Parquet file with columns removed, renamed, doubled, of another type or with nulls; or with bytes changed."""
    if rng.random() < 0.15:
        return mutate_bytes(data, rng)
    table = pq.read_table(BytesIO(data))
    for _ in range(rng.randint(1, 2)):
        if not table.num_columns:
            break
        table = _change_table(table, rng.randrange(table.num_columns), rng)
    target = BytesIO()
    pq.write_table(table, target)
    return target.getvalue()


def _change_table(table: pa.Table, place: int, rng: random.Random) -> pa.Table:
    name, values, names = table.column_names[place], table.column(place).to_pylist(), table.column_names
    kind = table.schema.field(place).type

    def put(column: Any) -> pa.Table:
        return table.set_column(place, name, column)

    changes: tuple[Callable[[], pa.Table], ...] = (
        lambda: table.remove_column(place),
        lambda: put(pa.array([None] * len(values), kind)),
        lambda: put(pa.array([None, *values[1:]][: len(values)], kind)),
        lambda: put(pa.array(range(len(values)), pa.int64())),
        lambda: put(pa.array([float("nan")] * len(values))),
        lambda: put(pa.array([str(value) for value in values], pa.large_string())),
        lambda: put(pa.array([str(value) for value in values]).dictionary_encode()),
        lambda: put(pa.array([b"\xff"] * len(values))),
        lambda: put(pa.array([[str(value), None] for value in values], pa.list_(pa.string()))),
        lambda: put(pa.array([{"a": 1}] * len(values), pa.struct([("a", pa.int64())]))),
        lambda: put(pa.array([rng.choice(("{" * 1200, "[]", "NaN", "", '{"a":1,"a":2}'))] * len(values))),
        lambda: table.append_column(name, table.column(place)),
        lambda: table.slice(0, 0),
        lambda: pa.concat_tables([table, table]),
        lambda: table.rename_columns([f"{one}2" if one == name else one for one in names]),
        lambda: table.select(list(reversed(range(table.num_columns)))),
    )
    return rng.choice(changes)()


def _change(value: Any, rng: random.Random) -> Any:
    """The tree with one node changed, the deeper ones more often."""
    if isinstance(value, list) and value and rng.random() < 0.85:
        place, keyed = rng.randrange(len(value)), isinstance(value, Pairs)
        entry = value[place]
        kind = rng.randrange(10)
        copy = value[:]
        if kind == 0:
            del copy[place]
        elif kind == 1:
            copy.insert(place, entry)
        elif kind == 2 and keyed:
            copy.append((entry[0], rng.choice(ODD)))
        elif kind == 3 and keyed:
            copy[place] = (rng.choice(("", "x" * 500, entry[0].upper(), "\ud800")), entry[1])
        else:
            copy[place] = (entry[0], _change(entry[1], rng)) if keyed else _change(entry, rng)
        return Pairs(copy) if keyed else copy
    if rng.random() < 0.1:
        for _ in range(rng.choice((2, 50, 200))):
            value = [value] if rng.random() < 0.5 else Pairs([("a", value)])
        return value
    return rng.choice(ODD)


def _text(node: Any, escape: bool) -> str:
    """JSON text; half characters as escapes or as bytes that are not UTF-8."""
    if isinstance(node, Pairs):
        return "{" + ", ".join(f"{_text(key, escape)}: {_text(item, escape)}" for key, item in node) + "}"
    if isinstance(node, list):
        return "[" + ", ".join([_text(item, escape) for item in node]) + "]"
    return json.dumps(node, ensure_ascii=escape)


def mutate_safetensors(data: bytes, rng: random.Random) -> bytes:
    """A weight file whose header, or some bytes, are changed; half the time the length of the header fits."""
    length = int.from_bytes(data[:8], "little")
    kind = rng.randrange(5)
    if kind == 0:
        return mutate_bytes(data, rng)
    if kind == 1:
        return rng.choice((b"", data[:7], data[: rng.randrange(len(data))], data + b"\0", bytes(len(data))))
    if kind == 2:  # values that are no numbers, or far too large
        place = rng.randrange(8 + length, len(data) - 4)
        return data[:place] + rng.choice((b"\xff", b"\x7f")) * 4 + data[place + 4 :]
    header = mutate_json(data[8 : 8 + length], rng)
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def mutate_gguf(data: bytes, rng: random.Random) -> bytes:
    """A GGUF with changed bytes, most of them near its beginning, where its numbers are."""
    if rng.random() < 0.3:
        return mutate_bytes(data, rng)
    place = rng.randrange(rng.choice((40, 1000, len(data) - 8)))
    value = rng.choice((0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, rng.randrange(2**64)))
    width = rng.choice((1, 4, 8))
    return data[:place] + value.to_bytes(8, "little")[:width] + data[place + width :]
