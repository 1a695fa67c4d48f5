"""How far a stage is, by a line that it writes, such as "40 of 200 instances"."""

from __future__ import annotations

import re

_OF = re.compile(r"(?<![\d.,])(\d[\d,]*) of (\d[\d,]*)(?![\d.])")


def counted(line: str) -> tuple[int, int] | None:
    """How many things are done, and how many there are, by the last "1,200 of 5,000" of a line; None if it has none."""
    found = None
    for done, whole in _OF.findall(line):
        a, b = int(done.replace(",", "")), int(whole.replace(",", ""))
        if 0 <= a <= b and b > 1:
            found = a, b
    return found
