"""Exact JSON: doubled keys are seen, NaN is allowed, and every failure has one short reason.

JSON parsers silently keep the last of two equal keys, so one of two texts would vanish without a trace.
"""

from __future__ import annotations

import json
from typing import Any, TypeGuard

from stages.ingest.accounts import UnreadableFile


class Doubled(dict[str, Any]):
    """A JSON object in which a key stands twice; `pairs` has all of it, `key` is the first such key."""

    def __init__(self, pairs: list[tuple[str, Any]], key: str) -> None:
        super().__init__(pairs)
        self.pairs, self.key = pairs, key


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return Doubled(pairs, key)
        seen.add(key)
    raise AssertionError("a shorter dictionary has a doubled key")


class Constant(float):
    """A bare NaN, Infinity or -Infinity: Python's parser takes them, JSON has none."""


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=Constant)


def exact(data: bytes) -> Any:
    """The value of a JSON text; objects with a doubled key come as `Doubled`, NaN and bare infinities as `Constant`.

    Raises UnreadableFile: not UTF-8, not JSON, nested too deeply.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile("not UTF-8", f"at byte {error.start}") from None
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        # Some messages end in "at" already, or in a colon with nothing after it.
        what = error.msg.removesuffix(" at").rstrip(": ")
        place = f"{what} at line {error.lineno} column {error.colno}"
        raise UnreadableFile(
            "not JSON", place + (", it seems to be cut off" if cut and text.strip() else "")
        ) from None
    except RecursionError:
        raise UnreadableFile("not JSON", "nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise UnreadableFile("not JSON", str(error)) from None


def doubled_key(value: Any) -> str | None:
    """The first doubled key anywhere in a value that `exact` gave, or None."""
    if isinstance(value, Doubled):
        return value.key
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((key for key in map(doubled_key, items) if key is not None), None)


def has_constant(value: Any) -> bool:
    """Whether a bare NaN or infinity stands anywhere in a value that `exact` gave."""
    if isinstance(value, dict):
        pairs = value.pairs if isinstance(value, Doubled) else value.items()
        return any(has_constant(item) for _, item in pairs)
    return isinstance(value, Constant) or (isinstance(value, list) and any(map(has_constant, value)))


def raw_text(value: Any) -> str:
    """A value of `exact` as JSON again, doubled keys and lone surrogates included; for rejected rows."""
    return _dump(value).encode("utf-8", "backslashreplace").decode("utf-8")


def _dump(value: Any) -> str:
    if isinstance(value, dict):
        pairs = value.pairs if isinstance(value, Doubled) else value.items()
        return "{" + ", ".join(f"{_dump(key)}: {_dump(item)}" for key, item in pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_dump, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def is_text(value: object) -> TypeGuard[str]:
    """Whether a value is a string that UTF-8 can hold (JSON's escapes can write half a character)."""
    if not isinstance(value, str):
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def not_text(value: object) -> str:
    """Why `is_text` is false: 'NaN', 'not a string' or 'not valid Unicode'."""
    if isinstance(value, str):
        return "not valid Unicode"
    return "NaN" if isinstance(value, float) and value != value else "not a string"
