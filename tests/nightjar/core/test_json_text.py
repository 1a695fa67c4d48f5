"""The exact JSON reader, against texts whose doubled keys are known because the test wrote them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from nightjar.core.json_text import (
    MAX_DEPTH,
    NotJson,
    duplicate_key,
    exact,
    parse,
    raw_text,
    read_object,
    recorded,
)

KEYS = st.sampled_from(["a", "b", 'c"', "d\\", "e:", "é", ""])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from(['": ', '"a":', "\\", "x", " :"])
)


class Pairs(list[tuple[str, Any]]):
    """An object before it is text: it may hold a key twice."""


TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(st.tuples(KEYS, inner), max_size=4).map(Pairs)
    ),
    max_leaves=12,
)


def write(tree: Any, blank: str, escape: bool) -> str:
    """The tree as JSON text, with `blank` around colons and keys escaped or plain."""
    if isinstance(tree, Pairs):
        items = []
        for key, value in tree:
            name = "".join(f"\\u{ord(c):04x}" for c in key) if escape else json.dumps(key)[1:-1]
            items.append(f'"{name}"{blank}:{blank}{write(value, blank, escape)}')
        return "{" + ",".join(items) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(write(item, blank, escape) for item in tree) + "]"
    return json.dumps(tree)


def has_double(tree: Any) -> bool:
    """Whether any object of the tree, nested in whatever, has a key twice: by looking."""
    if isinstance(tree, Pairs):
        keys = [key for key, _ in tree]
        return any(keys.count(key) > 1 for key in keys) or any(has_double(value) for _, value in tree)
    return isinstance(tree, list) and any(map(has_double, tree))


@given(TREES, st.sampled_from(["", " ", "\n\t"]), st.booleans())
def test_doubled_keys_are_found_wherever_they_are(tree: Any, blank: str, escape: bool) -> None:
    text = write(tree, blank, escape)
    value = exact(text.encode())
    assert value == json.loads(text)
    found = duplicate_key(value)
    # A double inside a value that its own double hides is found through the outer one.
    assert (found is not None) == has_double(tree)


@given(TREES)
def test_raw_text_keeps_everything(tree: Any) -> None:
    text = write(tree, "", False)
    again = raw_text(exact(text.encode()))
    pairs = [json.loads(one, object_pairs_hook=lambda items: ("object", items)) for one in (text, again)]
    assert pairs[0] == pairs[1]


@pytest.mark.parametrize(
    ("data", "reason", "detail"),
    [
        (b"", "not JSON", "Expecting value"),
        (
            b'{"a": "never end',
            "not JSON",
            "Unterminated string starting at line 1 column 7, it seems to be cut off",
        ),
        (b'{"a": "\\x"}', "not JSON", "Invalid \\escape at line 1 column 8"),
        ('{"a": "é"}'.encode("latin-1"), "not UTF-8", "at byte 7"),
        ('{"a": 1}'.encode("utf-16-le"), "not JSON", ""),
        (b"[" + b"9" * 10_000 + b"]", "not JSON", "digits"),
    ],
)
def test_unreadable(data: bytes, reason: str, detail: str) -> None:
    with pytest.raises(NotJson) as caught:
        exact(data)
    assert caught.value.reason == reason
    assert detail in caught.value.detail


def test_what_is_read() -> None:
    assert exact(b"\xef\xbb\xbf[1]") == [1], "a byte-order mark is harmless"
    assert exact(b"[NaN]")[0] != exact(b"[NaN]")[0], "NaN is read, for the rows beside it"
    assert raw_text(exact(b'["\\ud800"]')) == '["\\ud800"]', "half a character stays as its escape"


def nested(depth: int) -> bytes:
    return b'{"a": ' * depth + b"1" + b"}" * depth


@pytest.mark.parametrize("read", [exact, parse])
def test_the_depth_has_a_limit_that_no_stack_decides(read: Callable[[bytes], Any]) -> None:
    assert read(nested(MAX_DEPTH)) and read(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    for depth in (MAX_DEPTH + 1, 500, 1000, 100_000):
        for data in (nested(depth), b"[" * depth + b"]" * depth):
            with pytest.raises(NotJson, match="nested too deeply"):
                read(data)
    assert read(json.dumps(["[{" * 500]).encode()), "brackets in a text are none"
    with pytest.raises(NotJson, match="nested too deeply"):
        exact(b'{"a": ' + nested(500) + b', "a": 1}')


@pytest.mark.parametrize(
    ("data", "told", "line"),
    [
        (b'{"a": 1,\n "b": {"c": 1,\n "c": 2}}', "the key 'c' occurs twice", None),
        (b'{"a": 1, "\\u0061": 2}', "the key 'a' occurs twice", None),
        (b"[1,\n\nNaN]", "not JSON: NaN is not a JSON number", None),
        (b'{"a":\n-Infinity}', "not JSON: -Infinity is not a JSON number", None),
        (b"[1,\n1e400]", "the number 1e400 is too large", None),
        (b"[18446744073709551616]", "the number 18446744073709551616 is too large", None),
        (b"[\n" + b"9" * 10_000 + b"]", "the number 999", None),
        (b'["x",\n"\\ud800"]', "is not valid Unicode", None),
        (b'{"\\udc00x": 1}', "is not valid Unicode", None),
        (b'{"a":\n' * 1000 + b"1" + b"}" * 1000, "not JSON: nested too deeply", None),
        (b'{"a": 1,\n', "not JSON: Expecting property name", 2),
        (b'{\n\n"a": "\xff"}', "not UTF-8: at byte 9", 3),
        (b"", "not JSON", 1),
    ],
)
def test_the_strict_reader_names_the_fault(data: bytes, told: str, line: int | None) -> None:
    with pytest.raises(NotJson) as caught:
        parse(data)
    assert told in str(caught.value) and caught.value.line == line
    assert len(str(caught.value)) < 200


def test_the_strict_reader_takes_what_is_json() -> None:
    text = r'{"a": ["\ud83d\ude00", "\\ud800", "NaN", 18446744073709551615, -9223372036854775808, 1e308], "[[": {}}'
    assert parse(text) == parse(b"\xef\xbb\xbf" + text.encode()) == json.loads(text)


@given(TREES, st.booleans())
def test_the_strict_reader_refuses_just_what_holds_a_key_twice(tree: Any, escape: bool) -> None:
    text = write(tree, "\n", escape)
    if any(abs(number) >= 2**63 for number in integers(tree)):
        return
    if has_double(tree):
        with pytest.raises(NotJson, match="occurs twice"):
            parse(text)
    else:
        assert parse(text) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        b'{"a\\u0022": "\\u0022", "b": "x", "a\\\\": ""}',
        b'{"a": "\\ud83d\\ude00"}',
        b"[-0, 1E5, 1.0]",
        b"[" * 100 + b"]" * 100,
        b'{"long": 1234567890123456789}',
    ],
)
def test_the_strict_reader_gives_what_pythons_own_gives(text: bytes) -> None:
    assert repr(parse(text)) == repr(json.loads(text)), "types and orders too"


def integers(tree: Any) -> list[int]:
    if isinstance(tree, list):
        return [number for item in tree for number in integers(item[1] if isinstance(item, tuple) else item)]
    return [tree] if isinstance(tree, int) else []


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    with pytest.raises(NightjarError, match=r"facts\.json: no such file"):
        read_object(file, "make it again")
    assert recorded(file) == {}
    file.write_text('{"a":\n1}')
    assert read_object(file, "make it again") == recorded(file) == {"a": 1}
    file.write_text('{"loss": [NaN, -Infinity], "half": "\\ud83d\\ude00"}')
    assert recorded(file)["loss"][1] == read_object(file, "", constants=True)["loss"][1] == -math.inf
    for data, told in (
        (b"[1]", "json: not a JSON object; make it"),
        (b'{\n"a": 1e999}', "json: the number 1e999"),
    ):
        file.write_bytes(data)
        with pytest.raises(NightjarError, match=told):
            read_object(file, "make it again")
        assert recorded(file) == {}
