"""Printed text that cannot control a terminal, and how numbers are written.

Names, model output and log lines are made printable where they are printed (`printable`); files keep the raw text.
"""

from __future__ import annotations

import contextlib
import math
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal

# Control characters (C0, DEL, C1), marks that change the direction of text, line separators, and halves of characters
# (bytes of a file's name that are not UTF-8).
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ud800-\udfff]")


def printable(text: str, keep: str = "") -> str:
    """`text` with every character that could control a terminal or begin another line written as an escape, such as
    `\\x1b` or `\\n`; those in `keep` remain.
    """
    return _UNSAFE.sub(lambda match: _escape(match[0], keep), text)


def _escape(character: str, keep: str) -> str:
    return character if character in keep else character.encode("unicode_escape").decode("ascii")


def printable_json(text: str) -> str:
    """`text`, which is JSON, with the same characters as JSON's own escapes; line ends between its values remain."""
    return _UNSAFE.sub(lambda match: "\n" if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text)


@contextlib.contextmanager
def stdout_kept() -> Iterator[None]:
    """While code runs whose prints are no part of a command's output, such as JSON, they go to standard error.

    `sys.stdout` belongs to the whole process, so only its main thread may replace it.
    """
    main = threading.current_thread() is threading.main_thread()
    with contextlib.redirect_stdout(sys.stderr) if main else contextlib.nullcontext():
        yield


def number(value: float, decimals: int, signed: bool = False) -> str:
    """The value with so many decimals, rounded once and half up by its decimal digits: 26.15 is 26.2, -2.45 is -2.5.

    Zero has no minus sign; `signed` numbers have a plus sign where they are not negative.
    """
    if not math.isfinite(value):
        return str(value)
    rounded = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP) + 0
    return f"{rounded:+f}" if signed else f"{rounded:f}"


def p(value: float) -> str:
    """A p-value with four decimals."""
    return number(value, 4) if value >= 0.0001 else "< 0.0001"


def counted_as(count: int, thing: str) -> str:
    """A count with its noun: "1 stage", "1,234 stages"."""
    return f"{count:,} {thing}{'s' * (count != 1)}"


def duration(seconds: float) -> str:
    """Seconds in the largest unit of which there are two or more, such as `95 s`, `12 min` and `3.5 h`."""
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7170 else f"{seconds / 3600:.1f} h"


def first_few(texts: Sequence[str], between: str = ", ", limit: int = 3) -> str:
    """Return the first of several texts in one line, and how many more there are."""
    more = f" and {len(texts) - limit:,} more" if len(texts) > limit else ""
    return between.join(texts[:limit]) + more


def first_ids(ids: Sequence[str]) -> str:
    """Return the first ids in one line, each without line breaks, and how many more there are."""
    return first_few([" ".join(id.split()) or repr(id) for id in ids])
