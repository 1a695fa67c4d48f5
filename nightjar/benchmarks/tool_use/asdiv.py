"""ASDiv (Miao et al. 2020): 2,305 word problems of school grades 1 to 6, all of which are evaluated.

One file, ASDiv.xml.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.tool_use.rows import FIX, Unfit, read_bytes, records, text
from nightjar.core.errors import NightjarError

NAME = FOLDER = "asdiv"
FILE = "asdiv/ASDiv.xml"
# Elements within one another; the published file has four.
MAX_DEPTH = 20


def load(folder: Path) -> Iterator[Record | Refused]:
    """The problems of folder/asdiv/ASDiv.xml: elements Problem with an ID and one Body, Question and Answer each.

    The reference is the text of Answer as published: "9 (apples)", "5 (years old); 15 (years old)", "3:4", "Yes".
    Raises NightjarError if the file cannot be read, is not XML in UTF-8, or declares a document type: only there can
    entities be declared, which may expand without end or name files of this machine.
    """
    return records(FILE, _problems(folder / FILE), lambda it: text(it.get("ID"), "ID"), _record, _raw)


def _problems(path: Path) -> Iterator[ET.Element]:
    try:
        content = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NightjarError(f"not UTF-8 at byte {error.start}", path, FIX) from None
    if "<!DOCTYPE" in content:
        raise NightjarError("a document type (<!DOCTYPE) is declared", path, FIX)
    depth = 0
    try:
        for event, element in _events(content):
            depth += 1 if event == "start" else -1
            if depth > MAX_DEPTH:
                raise NightjarError("elements are nested too deeply", path, FIX)
            if event == "end" and element.tag == "Problem":
                yield element
    except ET.ParseError as error:
        raise NightjarError(f"not XML ({error})", f"{path}:{error.position[0]}", FIX) from None


def _events(content: str) -> Iterator[tuple[str, ET.Element]]:
    parser: Any = ET.XMLPullParser(("start", "end"))
    parser.feed(content)
    # Before `close`, which gives the wrong line of an error that `feed` has met.
    yield from parser.read_events()
    parser.close()
    yield from parser.read_events()


def _record(problem: ET.Element, id: str) -> Record:
    parts = {name.lower(): _field(problem, name) for name in ("Body", "Question")}
    return Record(NAME, id, FILE, parts, (_field(problem, "Answer"),))


def _field(problem: ET.Element, name: str) -> str:
    found = problem.findall(name)
    if len(found) > 1:
        raise Unfit(f"{name} occurs twice")
    return text("".join(found[0].itertext()) if found else None, name)


def _raw(problem: ET.Element) -> str:
    return ET.tostring(problem, encoding="unicode").strip()
