"""Texts with a date for the tool Calendar: news of CoNLL-2003 (task 610 of Super-NaturalInstructions), August 1996.

The task has the sentences one by one, in the order of the corpus; a line such as "FRANKFURT 1996-08-22" begins an
article, after its headline. The task has no line twice: where a second article from Frankfurt of that day begins, only
its headline is left. So short lines, which may be headlines, separate texts, and texts that name the weekday of their
date come first: their date is right.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from bench.public_sets import tasks
from nightjar.tools.dates import MONTHS, WEEKDAYS

TASK = "task610_"
# Texts, words of the shortest and of the longest; a line of fewer words than SHORT may be a headline.
MOST, FEWEST_WORDS, WORDS, SHORT = 300, 25, 90, 10
_DATELINE = re.compile(r"[A-Z][A-Za-z .,'/()-]* (\d{4}-\d\d-\d\d)")
# Tokens that stand at the word before them.
_LEFT = re.compile(r"[,.;:?!%)]|'(?:s|m|d|re|ve|ll)?|n't")
# Where a text names one of these, to know the day helps to go on.
_TIME = re.compile(rf"\b({'|'.join((*WEEKDAYS, *MONTHS))}|[Tt]oday|[Yy]esterday|[Tt]omorrow|[Yy]ears?)\b")


def plain(text: str) -> str:
    """A sentence whose tokens are separated by blanks, as it was printed: only signs move to their words."""
    tokens = text.split()
    sentence, quoted, joined = "", False, True
    for place, token in enumerate(tokens):
        # Where a quotation of several sentences ends, none was opened in this one: '" , he said'.
        after = tokens[place + 1 : place + 2]
        ends = not after or (after[0].islower() and sentence.endswith((",", ".", "?", "!")))
        closes = token == '"' and (quoted or ends)
        if not (joined or closes or _LEFT.fullmatch(token)):
            sentence += " "
        sentence += token
        opens = token == '"' and not closes
        quoted = opens or (quoted and not closes)
        joined = opens or token.endswith(("(", "$"))
    return sentence


def articles(source: Path) -> Iterator[tuple[date, list[str]]]:
    """Date and lines of each article, and the headline of the next."""
    day, lines = None, list[str]()
    for line, _ in tasks(source / "natural-instructions/tasks", [TASK]):
        if dateline := _DATELINE.fullmatch(line):
            if day is not None:
                yield day, lines
            day, lines = date.fromisoformat(dateline[1]), []
        else:
            lines.append(line)
    if day is not None:
        yield day, lines


def parts(lines: list[str]) -> Iterator[str]:
    """Texts of neighbouring sentences, of WORDS words at most. A short line is left out, and a text ends at it."""
    part = ""
    for line in map(plain, lines):
        count = len(line.split())
        if count < SHORT or len(part.split()) + count > WORDS:
            yield part
            part = ""
        if count >= SHORT:
            part = f"{part} {line}".strip()
    yield part


def drawn(source: Path, seed: int) -> list[tuple[date, str]]:
    """At most MOST of the texts that name a time, first those that name their day's weekday, in random order."""
    texts = [
        (day, text)
        for day, lines in articles(source)
        for text in parts(lines)
        if FEWEST_WORDS <= len(text.split()) <= WORDS and _TIME.search(text)
    ]
    random.Random(f"{seed} dated").shuffle(texts)
    return sorted(texts, key=lambda one: WEEKDAYS[one[0].weekday()] not in one[1])[:MOST]
