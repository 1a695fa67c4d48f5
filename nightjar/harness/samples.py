"""Samples: the scores of one document in a run of any harness, and the run that they belong to.

Files of other programs are read within bounds: of a line, of a file, and of the number of samples.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import check_input
from nightjar.core.identity import digest
from nightjar.core.json_text import NotJson, parse

MIB = 1 << 20
LONGEST_LINE, LARGEST_JSON = 64 * MIB, 1024 * MIB
MOST_SAMPLES = 1_000_000
# Of an input, a target or an answer that is shown as an example, in characters.
SHOWN_TEXT = 280
# The filter of a task that has none, as lm-evaluation-harness names it.
NO_FILTER = "none"


class Subject(NamedTuple):
    """The scored part of a run: a task, and the filter of answers (of Nightjar's own runs, a benchmark and a track)."""

    task: str
    filter: str


class Sample(NamedTuple):
    """One document, asked once.

    `content` is a digest of what was asked and expected, "" where it is not known. `values` has a number for each part
    of a metric. The texts are cut to SHOWN_TEXT characters.
    """

    id: str
    repeat: int
    content: str
    values: Mapping[str, float]
    input: str = ""
    target: str = ""
    answer: str = ""


@dataclass(frozen=True)
class HarnessRun:
    """One run of a model on some tasks.

    `higher_is_better` is as the run's own files say it, by metric. `left_out` has what has no number a document, by
    "task, metric", with the reason. `versions` are those of the tasks, as far as they are recorded.
    """

    source: Path
    harness: str
    model: str
    samples: Mapping[Subject, Sequence[Sample]]
    higher_is_better: Mapping[str, bool] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


def bounded_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the place and the bytes of each line that is not blank, none longer than LONGEST_LINE."""
    check_input(path)
    try:
        with path.open("rb") as file:
            for number in itertools.count(1):
                line = file.readline(LONGEST_LINE + 1)
                if not line:
                    return
                if len(line) > LONGEST_LINE:
                    what = f"a line of more than {LONGEST_LINE // MIB} MiB"
                    raise NightjarError(what, f"{path}:{number}", "name a file of samples")
                if line.strip():
                    yield f"{path}:{number}", line
    except OSError as error:
        raise from_os_error(error, path) or error from None


def bounded_bytes(path: Path, limit: int = LARGEST_JSON) -> bytes:
    """Return the bytes of a file of at most `limit` bytes."""
    check_input(path)
    try:
        with path.open("rb") as file:
            content_bytes = file.read(limit + 1)
    except OSError as error:
        raise from_os_error(error, path) or error from None
    if len(content_bytes) > limit:
        raise NightjarError(f"more than {limit // MIB:,} MiB", path, "name a smaller file")
    return content_bytes


def json_object(text: bytes, where: object, fix: str) -> dict[str, Any]:
    """Parse a JSON object; NaN may occur in it, since both harnesses write it."""
    try:
        value = parse(text, constants=True)
    except NotJson as error:
        raise NightjarError(str(error), where, fix) from None
    if not isinstance(value, dict):
        raise NightjarError("not a JSON object", where, fix)
    return value


def content_digest(*parts: Any) -> str:
    """Return a short digest of JSON values that were asked or expected."""
    return digest({"parts": parts})[:16]


def is_number(value: object) -> bool:
    """Return true for a finite number; true and false are 1 and 0."""
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:  # an integer that no float holds
        return False


def tail_text(text: str) -> str:
    """Return the last SHOWN_TEXT characters of a prompt, whose question follows its examples."""
    return text if len(text) <= SHOWN_TEXT else f"… {text[-SHOWN_TEXT:]}"


def check_count(count: int, path: Path) -> None:
    """Raise NightjarError for more samples than are read."""
    if count > MOST_SAMPLES:
        raise NightjarError(f"more than {MOST_SAMPLES:,} samples", path, "compare fewer tasks at a time")
