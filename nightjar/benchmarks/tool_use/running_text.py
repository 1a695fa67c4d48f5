"""Running texts whose perplexity is computed: WikiText (Merity et al. 2017), and any held-out text.

The paper's second text is 10,000 documents of CCNet that were not trained on; here it is whatever is in held_out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.tool_use.rows import FIX, JsonObject, Unfit, line_records, read_bytes, records, text
from nightjar.core.errors import NightjarError

WIKITEXT, HELD_OUT = "wikitext", "held_out"
# The title of an article has one "=" on both sides, those of its sections have more.
_TITLE = re.compile(r"^ ?= (?!=)(?P<title>.*[^=\s]) = ?$")


def load_wikitext(folder: Path) -> Iterator[Record | Refused]:
    """The articles of the files folder/wikitext/*.tokens and *.txt, such as wiki.test.tokens.

    An article begins at its title, a line such as " = Valkyria = ", and goes to the next; what is before the first
    title is an article too. Its text is kept as it is, with "<unk>" and " @-@ ". An id is FILE-NUMBER. Raises
    NightjarError if there is no file, or one cannot be read.
    """
    for path in _files(folder, WIKITEXT, ("*.tokens", "*.txt")):
        file = path.relative_to(folder).as_posix()
        numbered = enumerate(_articles(_text(path)), start=1)
        rows = [(f"{path.stem}-{number:04d}", title, whole) for number, (title, whole) in numbered]

        def read(row: tuple[str, str, str], id: str, file: str = file) -> Record:
            return _record(WIKITEXT, id, file, *row[1:])

        yield from records(file, rows, itemgetter(0), read, itemgetter(2))


def load_held_out(folder: Path) -> Iterator[Record | Refused]:
    """The documents of folder/held_out: a file *.txt is one, a line {id, text, title} of a file *.jsonl is one.

    Raises NightjarError if there is no file, or one cannot be read.
    """
    seen: set[str] = set()
    for path in _files(folder, HELD_OUT, ("*.txt", "*.jsonl")):
        file = path.relative_to(folder).as_posix()

        def read(row: JsonObject, id: str, file: str = file) -> Record:
            return _record(HELD_OUT, id, file, row.get("title", ""), row.get("text"))

        if path.suffix == ".jsonl":
            yield from line_records(folder, file, "id", read, seen)
        else:
            yield from records(
                file,
                [{"title": path.stem, "text": _text(path)}],
                lambda row: row["title"],
                read,
                lambda row: row["text"],
                seen,
            )


def _files(folder: Path, name: str, patterns: tuple[str, ...]) -> list[Path]:
    found = sorted(path for pattern in patterns for path in (folder / name).glob(pattern))
    if not found:
        raise NightjarError(f"no files {' or '.join(patterns)}", folder / name, "put at least one in it")
    return found


def _text(path: Path) -> str:
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NightjarError(f"not UTF-8 at byte {error.start}", path, FIX) from None


def _articles(content: str) -> Iterator[tuple[str, str]]:
    """(title, text) of every article; lines before the first title, if they are not blank, have none."""
    title, lines = "", list[str]()
    for line in content.splitlines(keepends=True):
        if found := _TITLE.match(line.rstrip("\r\n")):
            if "".join(lines).strip():
                yield title, "".join(lines)
            title, lines = found["title"], []
        lines.append(line)
    if "".join(lines).strip():
        yield title, "".join(lines)


def _record(task: str, id: str, file: str, title: Any, whole: Any) -> Record:
    """The text is the reference: what the model is to find likely."""
    if not isinstance(title, str):
        raise Unfit("title is not a string")
    text(whole, "text")
    return Record(task, id, file, {"title": title}, (whole,))
