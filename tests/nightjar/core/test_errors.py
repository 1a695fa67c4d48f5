"""Errors as one line each: what, where, what to do."""

from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError, from_os_error


def test_an_error_is_one_line_whatever_was_put_into_it() -> None:
    error = NightjarError("a\n  broken\tthing", "some\nfile", "fix\n\nit")
    assert str(error) == "some file: a broken thing; fix it"
    error = NightjarError("a\x1b[2J\x00b\x9b", "x\r\u202e\u2028y\udcff", "fix\x0bit\x85now")
    assert str(error) == "x \\u202e y\\udcff: a\\x1b[2J\\x00b\\x9b; fix it now"


@given(st.text(), st.text(), st.text())
def test_any_error_is_one_line_of_bounded_length(what: str, where: str, fix: str) -> None:
    """Tests of what raises it need not look again."""
    line = str(NightjarError(what * 300, where, fix))
    assert len(line.splitlines()) == 1 and len(line) < 2000


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EFBIG, "limit on file sizes"),
        (errno.EACCES, "permission denied"),
        (errno.ENOENT, "no such file"),
        (errno.ENOTDIR, "Not a directory"),
        (errno.ENAMETOOLONG, "name too long"),
        (errno.ELOOP, "links in a circle"),
        (errno.EROFS, "read-only"),
        (errno.ENXIO, "cannot be opened"),
    ],
)
def test_what_the_system_refuses_is_told_in_one_line(number: int, told: str) -> None:
    error = OSError(number, "Not a directory" if number == errno.ENOTDIR else "text", "data/x")
    assert told in str(from_os_error(error, "ingest"))
    # As Arrow words it.
    if number == errno.ENOSPC:
        arrow = OSError("[Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device")
        assert told in str(from_os_error(arrow, "split"))


def test_an_unknown_error_is_not_dressed_up() -> None:
    assert from_os_error(OSError(errno.EIO, "input/output error"), "split") is None


def test_a_temporary_file_is_told_by_the_name_that_it_is_to_take() -> None:
    error = NotADirectoryError(20, "Not a directory", "out/.x.json.tmp-123")
    assert str(from_os_error(error, "out/x.json")).startswith("out/x.json: ")
