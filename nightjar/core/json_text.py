"""JSON from outside: one reader for texts that people and other programs wrote, in which every fault has a name.

Python's parser keeps the last of two equal keys, takes NaN, fails on deep nesting with a RecursionError, and lets
numbers through that no column can hold. `parse` refuses all of that with one line; `exact` lets duplicate keys and NaN
through, marked, for a reader that refuses single rows instead of the file.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, TypeGuard

from nightjar.core.errors import NightjarError, from_os_error

# Objects and lists within one another; nothing that Nightjar reads needs ten.
MAX_DEPTH = 100
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
# The escape of half a character; whether its other half follows is for a closer look.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


class NotJson(ValueError):
    """A text that cannot be read as JSON: the reason, what exactly is wrong, and the line if it is known."""

    def __init__(self, reason: str, detail: str = "", line: int | None = None) -> None:
        self.reason, self.detail, self.line = reason, detail, line
        super().__init__(f"{reason}: {detail}" if detail else reason)


class DuplicateKey(dict[str, Any]):
    """A JSON object in which a key occurs twice; `pairs` has all of it, `key` is the first such key."""

    def __init__(self, pairs: list[tuple[str, Any]], key: str) -> None:
        super().__init__(pairs)
        self.pairs, self.key = pairs, key


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    keys: set[str] = set()
    for key, _ in pairs:
        if key in keys:
            return DuplicateKey(pairs, key)
        keys.add(key)
    raise AssertionError("a shorter dictionary has a duplicate key")


class Constant(float):
    """A bare NaN, Infinity or -Infinity: Python's parser takes them, JSON has none."""


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=Constant)


def exact(data: bytes) -> Any:
    """The value of a JSON text. Objects with a duplicate key come as `DuplicateKey`, NaN and infinities as `Constant`.

    Raises NotJson: not UTF-8, not JSON, nested too deeply.
    """
    return _decode(_DECODER, _text(data))


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NotJson("not UTF-8", f"at byte {error.start}", line) from None


def _decode(decoder: json.JSONDecoder, text: str) -> Any:
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        # Some messages end in "at" already, or in a colon with nothing after it.
        what = error.msg.removesuffix(" at").rstrip(": ")
        place = f"{what} at line {error.lineno} column {error.colno}"
        detail = place + (", it seems to be cut off" if cut and text.strip() else "")
        raise NotJson("not JSON", detail, error.lineno) from None
    except RecursionError:
        raise NotJson("not JSON", "nested too deeply") from None
    except NotJson:
        raise
    except ValueError as error:  # a number of thousands of digits
        raise NotJson("not JSON", str(error)) from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _deep(value):
        raise NotJson("not JSON", "nested too deeply")
    return value


def _deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [item for one in level for item in _items(one) if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _items(value: Any) -> Any:
    if isinstance(value, DuplicateKey):
        return [item for _, item in value.pairs]
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = _object(pairs)
    if isinstance(value, DuplicateKey):
        raise NotJson(f"the key {quote_short(value.key)} occurs twice")
    return value


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise NotJson(f"the number {quote_short(text, quoted=False)} is too large")
    return value


def _integer(text: str) -> int:
    if len(text) > 20 or not _SMALLEST <= (value := int(text)) <= _LARGEST:
        raise NotJson(f"the number {quote_short(text, quoted=False)} is too large")
    return value


def _constant(name: str) -> float:
    raise NotJson("not JSON", f"{name} is not a JSON number")


_STRICT = json.JSONDecoder(
    object_pairs_hook=_once, parse_constant=_constant, parse_float=_number, parse_int=_integer
)
_OWN = json.JSONDecoder(object_pairs_hook=_once, parse_float=_number)


def parse(data: bytes | str, constants: bool = False) -> Any:
    """The value of a JSON text that keeps to all the rules; a byte order mark is passed over.

    Raises NotJson for everything that `exact` refuses, and for a duplicate key, NaN, an infinity, a number beyond 64
    bits or the range of a float, and half a character. `constants` lets NaN, infinities and integers of any size pass,
    which Python writes: a loss in a file of ours may be one, and model_max_length of tokenizers has 31 digits.
    """
    text = _text(data) if isinstance(data, bytes) else data
    value = _decode(_OWN if constants else _STRICT, text)
    if _HALF.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise NotJson(f"{quote_short(error.object[error.start])} is not valid Unicode") from None
    return value


def quote_short(text: str, limit: int = 60, quoted: bool = True) -> str:
    """The beginning of a text from outside, at most `limit` characters, as it is quoted in a line."""
    cut = f"{text[:limit]}…" if len(text) > limit else text
    return repr(cut) if quoted else cut


def parse_at(data: bytes | str, where: object, fix: str) -> Any:
    """`parse` of the one line at `where`."""
    try:
        return parse(data)
    except NotJson as error:
        raise _located(error, where, fix) from None


def _located(error: NotJson, where: object, fix: str) -> NightjarError:
    """The error with the line in `where` alone."""
    return NightjarError(re.sub(r" at line \d+ column ", " at column ", str(error)), where, fix)


def read(path: Path, fix: str, constants: bool = False) -> Any:
    """The value of a JSON file, as `parse` reads it. Raises NightjarError with file, line and `fix`."""
    try:
        return parse(path.read_bytes(), constants)
    except NotJson as error:
        raise _located(error, f"{path}:{error.line}" if error.line else path, fix) from None
    except OSError as error:
        raise from_os_error(error, path) or error from None


def read_object(path: Path, fix: str, constants: bool = False) -> dict[str, Any]:
    """As `read`, for a file that holds one object."""
    value = read(path, fix, constants)
    if not isinstance(value, dict):
        raise NightjarError("not a JSON object", path, fix)
    return value


def recorded(path: Path) -> dict[str, Any]:
    """The object in a file that Nightjar keeps for itself; empty where the file is missing or damaged."""
    try:
        value = parse(path.read_bytes(), constants=True)
    except (OSError, NotJson):
        return {}
    return value if isinstance(value, dict) else {}


def duplicate_key(value: Any) -> str | None:
    """The first duplicate key anywhere in a value that `exact` gave, or None."""
    if isinstance(value, DuplicateKey):
        return value.key
    for item in _items(value):
        if isinstance(item, dict | list) and (key := duplicate_key(item)) is not None:
            return key
    return None


def has_constant(value: Any) -> bool:
    """Return true if a value that `exact` gave holds a bare NaN or infinity."""
    return isinstance(value, Constant) or any(map(has_constant, _items(value)))


def raw_text(value: Any) -> str:
    """A value of `exact` as JSON again, duplicate keys and lone surrogates included; for rejected rows."""
    return _dump(value).encode("utf-8", "backslashreplace").decode("utf-8")


def _dump(value: Any) -> str:
    if isinstance(value, dict):
        pairs = value.pairs if isinstance(value, DuplicateKey) else value.items()
        return "{" + ", ".join(f"{_dump(key)}: {_dump(item)}" for key, item in pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_dump, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def is_text(value: object) -> TypeGuard[str]:
    """Return true for a string that UTF-8 can hold (JSON's escapes can write half a character)."""
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
