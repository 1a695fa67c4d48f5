"""The files of running texts, whose perplexity is computed: WikiText, and any text that a model was not trained on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.source_rows import (
    InvalidRow,
    JsonObject,
    SourceRow,
    files_of,
    json_lines,
    read_text,
    records,
    text,
)
from nightjar.benchmarks.tool_use.tasks import HELD_OUT, WIKITEXT

Rows = Iterator[Record | Refused]
# The title of an article of WikiText has one "=" on both sides, those of its sections have more.
_TITLE = re.compile(r"^ ?= (?!=)(?P<title>.*[^=\s]) = ?$")


def load_wikitext(folder: Path) -> Rows:
    """WikiText (Merity et al. 2017): the articles of the files wikitext/*.tokens and *.txt, such as wiki.test.tokens.

    An article begins at its title, a line such as " = Valkyria = ", and goes to the next; what is before the first
    title is an article too. Its text is kept as it is, with "<unk>" and " @-@ ". An id is FILE-NUMBER.
    """
    for path in files_of(folder, WIKITEXT, ("*.tokens", "*.txt")):
        file = path.relative_to(folder).as_posix()
        articles = (
            SourceRow(number, {"id": f"{path.stem}-{number:04d}", "title": title, "text": article}, article)
            for number, (title, article) in enumerate(_articles(read_text(path)), start=1)
        )
        yield from records(file, articles, lambda row: str(row["id"]), partial(_running_text, WIKITEXT, file))


def load_held_out(folder: Path) -> Rows:
    """The documents of held_out: a file *.txt is one, a line {id, text, title} of a file *.jsonl is one.

    The paper's second text is 10,000 documents of CCNet that were not trained on.
    """
    ids: set[str] = set()
    for path in files_of(folder, HELD_OUT, ("*.txt", "*.jsonl")):
        file = path.relative_to(folder).as_posix()
        file_rows: Iterable[SourceRow]
        if path.suffix == ".jsonl":
            file_rows = json_lines(path)
        else:
            content = read_text(path)
            file_rows = [SourceRow(1, {"id": path.stem, "title": path.stem, "text": content}, content)]
        yield from records(file, file_rows, "id", partial(_running_text, HELD_OUT, file), ids)


def _articles(content: str) -> Iterator[tuple[str, str]]:
    """(title, text) of every article; lines before the first title, if they are not blank, have none."""
    title, lines = "", list[str]()
    for line in content.splitlines(keepends=True):
        if match := _TITLE.match(line.rstrip("\r\n")):
            if "".join(lines).strip():
                yield title, "".join(lines)
            title, lines = match["title"], []
        lines.append(line)
    if "".join(lines).strip():
        yield title, "".join(lines)


def _running_text(task: str, file: str, row: JsonObject, id: str) -> Record:
    """The text is the reference: what the model is to find likely."""
    title, content = row.get("title", ""), row.get("text")
    if not isinstance(title, str):
        raise InvalidRow("title is not a string")
    text(content, "text")
    return Record(task, id, file, {"title": title}, (str(content),))
