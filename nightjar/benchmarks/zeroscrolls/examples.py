"""An example in the published form: the whole prompt with the places of its parts (paper: tables 5, 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from nightjar.benchmarks.zeroscrolls.tasks import LongTask
from nightjar.core.json_text import is_text, not_text

# The published spelling of the key for the omission message.
SEPARATOR = "truncation_seperator"
OFFSETS = ("document_start_index", "document_end_index", "query_start_index", "query_end_index")


class Unfit(ValueError):
    """A row that cannot be used; the message is the reason."""


@dataclass(frozen=True)
class Example:
    """The prompt: `input` and offsets in its characters, fields as published.

    The document is input[document_start_index:document_end_index], its header included in examples that we make; the
    query, with its header, input[query_start_index:query_end_index]. The response header follows. Without a query both
    of its offsets are the place of the response header.
    """

    input: str
    document_start_index: int
    document_end_index: int
    query_start_index: int
    query_end_index: int
    truncation_seperator: str

    def parts(self) -> dict[str, Any]:
        """The example as the parts of a record."""
        return asdict(self)

    def document(self, header: str) -> str:
        """The document without its header and the blanks around it."""
        text = self.input[self.document_start_index : self.document_end_index].strip()
        return text.removeprefix(header).strip()

    @property
    def query(self) -> str:
        """The query with its header; empty if there is none."""
        return self.input[self.query_start_index : self.query_end_index]


def of_parts(parts: Mapping[str, Any]) -> Example:
    """The example of a record or question, which `published` or `built` made."""
    return Example(**{field.name: parts[field.name] for field in fields(Example)})


def built(task: LongTask, document: str, query: str = "", n: int = 0) -> Example:
    """The example of a document and a query in the published layout. `n`: how many summaries are to be sorted.

    Raises Unfit if the document is blank, or the query of a task that has queries.
    """
    document, query = document.strip(), query.strip()
    if not document:
        raise Unfit("the document is blank")
    if task.query and not query:
        raise Unfit("the query is blank")
    before = task.instruction.replace("{n}", str(n)) + "\n\n"
    until_query = f"{before}{task.document}\n{document}\n\n"
    until_response = until_query + (f"{task.query}\n{query}\n\n" if task.query else "")
    return Example(
        f"{until_response}{task.response}\n",
        len(before),
        len(until_query),
        len(until_query),
        len(until_response),
        task.separator,
    )


def published(row: Mapping[str, Any]) -> Example:
    """The example of a row of a published file. Raises Unfit for a missing field and for offsets outside the text."""
    for key in ("input", SEPARATOR):
        if key not in row:
            raise Unfit(f"no {key}")
        if not is_text(row[key]):
            raise Unfit(f"{key} is {not_text(row[key])}")
    text = row["input"]
    places = []
    for key in OFFSETS:
        if key not in row:
            raise Unfit(f"no {key}")
        place = row[key]
        if isinstance(place, bool) or not isinstance(place, int):
            raise Unfit(f"{key} is not a whole number")
        if not 0 <= place <= len(text):
            raise Unfit(f"{key} is {place}, outside the {len(text)} characters of the input")
        places.append(place)
    if places != sorted(places):
        raise Unfit(
            "document_start_index, document_end_index, query_start_index, query_end_index do not ascend"
        )
    if not text[places[0] : places[1]].strip():
        raise Unfit("the document is blank")
    return Example(text, places[0], places[1], places[2], places[3], row[SEPARATOR])
