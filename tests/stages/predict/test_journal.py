"""The journal after every kind of end: each byte at which a write can be cut, a second process, another run."""

from __future__ import annotations

from pathlib import Path

import pytest

from stages.errors import NightjarError
from stages.predict.journal import ANSWERS, Journal, digest

ROWS = [[{"text": "a\nb\u2028 \ud800", "n": 1}], [{"text": "c"}, {"text": "é"}]]


def written(folder: Path) -> bytes:
    with Journal("run", folder) as journal:
        for number, rows in enumerate(ROWS):
            journal.add(number, rows)
    return (folder / "run" / ANSWERS).read_bytes()


def test_what_is_added_is_there_when_opened_again(tmp_path: Path) -> None:
    written(tmp_path)
    with Journal("run", tmp_path) as journal:
        assert journal.done == dict(enumerate(ROWS))
    with Journal("another", tmp_path) as journal:
        assert journal.done == {}


def test_a_write_cut_at_any_byte_leaves_the_whole_batches_and_can_be_gone_on_from(tmp_path: Path) -> None:
    whole = written(tmp_path)
    first = whole.index(b"\n") + 1
    for length in range(len(whole)):
        (tmp_path / "run" / ANSWERS).write_bytes(whole[:length])
        with Journal("run", tmp_path) as journal:
            assert journal.done == ({0: ROWS[0]} if length >= first else {})
            for number, rows in enumerate(ROWS):
                if number not in journal.done:
                    journal.add(number, rows)
        assert (tmp_path / "run" / ANSWERS).read_bytes() == whole


def test_what_follows_a_damaged_line_does_not_count(tmp_path: Path) -> None:
    whole = written(tmp_path)
    (tmp_path / "run" / ANSWERS).write_bytes(b"{\0}\n" + whole)
    with Journal("run", tmp_path) as journal:
        assert journal.done == {}


def test_two_cannot_write_the_same(tmp_path: Path) -> None:
    with (
        Journal("run", tmp_path),
        pytest.raises(NightjarError, match="another process"),
        Journal("run", tmp_path),
    ):
        pass
    with Journal("run", tmp_path) as journal:
        journal.remove()
    assert not list(tmp_path.iterdir())


def test_a_digest_sees_every_value_and_no_order() -> None:
    assert digest({"a": 1, "b": [1, None]}) == digest({"b": [1, None], "a": 1})
    assert len({digest(d) for d in ({"a": 1}, {"a": 1.5}, {"a": "1"}, {"b": 1}, {"a": [1]})}) == 5
