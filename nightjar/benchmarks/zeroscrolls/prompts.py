"""The prompt of an example: its parts, its variants, and how a prompt that is too long is trimmed (Shaham et al. 2023).

The end of the document is cut and the omission message put in its place, so that the instruction and the query survive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from nightjar.benchmarks.source_rows import InvalidRow
from nightjar.benchmarks.zeroscrolls.tasks import LongTask
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import is_text, not_text

if TYPE_CHECKING:
    from nightjar.models.tokenizer import Tokenizer

# The published spelling of the key for the omission message.
SEPARATOR = "truncation_seperator"
OFFSETS = ("document_start_index", "document_end_index", "query_start_index", "query_end_index")
# completion: the published input. chat: a request for the answer alone, and no response header. claude: chat in the
# form of Claude 1, with tags around the answer.
Style = Literal["completion", "chat", "claude"]
REQUEST = "Do not provide any explanation."
_HUMAN, _ASSISTANT = "\n\nHuman:", "\n\nAssistant:"
# Tokens that are kept free beside the answer: one, and for chat those of the message's frame.
_FREE, _FREE_OF_CHAT = 1, 9


@dataclass(frozen=True)
class LongExample:
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


def of_parts(parts: Mapping[str, Any]) -> LongExample:
    """The example of a record or question, which `published` or `built` made."""
    return LongExample(**{field.name: parts[field.name] for field in fields(LongExample)})


def built(task: LongTask, document: str, query: str = "", n: int = 0) -> LongExample:
    """The example of a document and a query in the published layout. `n`: how many summaries are to be sorted.

    Raises InvalidRow if the document is blank, or the query of a task that has queries.
    """
    document, query = document.strip(), query.strip()
    if not document:
        raise InvalidRow("the document is blank")
    if task.query and not query:
        raise InvalidRow("the query is blank")
    before = task.instruction.replace("{n}", str(n)) + "\n\n"
    until_query = f"{before}{task.document}\n{document}\n\n"
    until_response = until_query + (f"{task.query}\n{query}\n\n" if task.query else "")
    return LongExample(
        f"{until_response}{task.response}\n",
        len(before),
        len(until_query),
        len(until_query),
        len(until_response),
        task.separator,
    )


def published(row: Mapping[str, Any]) -> LongExample:
    """The example of a row of a published file. Raises InvalidRow for a missing field or a wrong offset."""
    for key in ("input", SEPARATOR):
        if key not in row:
            raise InvalidRow(f"no {key}")
        if not is_text(row[key]):
            raise InvalidRow(f"{key} is {not_text(row[key])}")
    text = row["input"]
    places = []
    for key in OFFSETS:
        if key not in row:
            raise InvalidRow(f"no {key}")
        place = row[key]
        if isinstance(place, bool) or not isinstance(place, int):
            raise InvalidRow(f"{key} is not a whole number")
        if not 0 <= place <= len(text):
            raise InvalidRow(f"{key} is {place}, outside the {len(text)} characters of the input")
        places.append(place)
    if places != sorted(places):
        raise InvalidRow(
            "document_start_index, document_end_index, query_start_index, query_end_index do not ascend"
        )
    if not text[places[0] : places[1]].strip():
        raise InvalidRow("the document is blank")
    return LongExample(text, places[0], places[1], places[2], places[3], row[SEPARATOR])


def prompt(
    task: LongTask,
    example: LongExample,
    tokenizer: Tokenizer,
    limit: int,
    style: Style = "completion",
    encoder_decoder: bool = False,
) -> str:
    """The prompt in at most `limit` tokens, those of the answer not included; trimmed if it is longer.

    With `encoder_decoder` a completion is trimmed as for the published T5 models: `limit` includes the end token, which
    counts once whether or not `tokenizer` adds it; the document's tokens are cut apart from the query's and joined to
    them as words of their own. Raises NightjarError if the limit has no room for any token before the query.
    """
    if style == "claude":
        return _claude(task, example, tokenizer, limit)
    if style == "chat":
        example = _for_chat(task, example)
        text, free = example.input[: example.query_end_index], _FREE + _FREE_OF_CHAT
    else:
        text, free = example.input, _FREE
    suffix = example.truncation_seperator + text[example.query_start_index :]
    ids = tokenizer.encode(text)
    taken = len(tokenizer.encode(suffix))
    if style == "completion" and encoder_decoder:
        free = 0 if tokenizer.encode("") else 1
        if len(ids) + free <= limit:
            return text
        before = _beginning(
            tokenizer, text[: example.query_start_index], _document_tokens(limit, taken, free)
        )
        # As published, the ids are joined: for T5 the suffix begins a word, which a blank says and no token counts.
        blank = " " if tokenizer.encode(f" {suffix}") == tokenizer.encode(suffix) else ""
        return before + blank + suffix
    if len(ids) <= limit:
        return text
    return tokenizer.decode(ids[: _document_tokens(limit, taken, free)]) + suffix


def untrimmed(task: LongTask, example: LongExample, style: Style = "completion") -> str:
    """The prompt before it is trimmed."""
    if style == "claude":
        example, turn = _for_claude(task, example)
        return f"{_HUMAN} {example.input[: example.query_end_index]}{turn}"
    if style == "chat":
        example = _for_chat(task, example)
        return example.input[: example.query_end_index]
    return example.input


def _for_chat(task: LongTask, example: LongExample) -> LongExample:
    return example if task.summary else with_request(example, REQUEST)


def with_request(example: LongExample, request: str) -> LongExample:
    """The example with a request after its instruction, which ends at the first blank line; the offsets shift."""
    instruction, blank, remainder = example.input.partition("\n\n")
    shift = len(request) + 1
    return replace(
        example,
        input=f"{instruction.strip()} {request}{blank}{remainder}",
        document_start_index=example.document_start_index + shift,
        document_end_index=example.document_end_index + shift,
        query_start_index=example.query_start_index + shift,
        query_end_index=example.query_end_index + shift,
    )


def highlighted(task: LongTask, answer: str) -> str:
    """Return the scored part of an answer: the text between the tags that Claude's form asks for.

    The text before the closing tag, without an opening one. An answer without a tag, and a summary, which no tag is
    asked for, stays as it is.
    """
    opening, closing = f"<{task.tag}>", f"</{task.tag}>"
    if task.summary or (opening not in answer and closing not in answer):
        return answer
    return answer.partition(closing)[0].rpartition(opening)[2].strip()


def _for_claude(task: LongTask, example: LongExample) -> tuple[LongExample, str]:
    """The example with its request, and the beginning of the assistant's turn."""
    if task.summary:
        return example, _ASSISTANT
    answer, tag = task.response.removesuffix(":"), task.tag
    request = f"{REQUEST[:-1]}, and please highlight your final {answer.lower()} with <{tag}></{tag}> tags."
    return with_request(example, request), f"{_ASSISTANT} {answer}: <{tag}>"


def _claude(task: LongTask, example: LongExample, tokenizer: Tokenizer, limit: int) -> str:
    example, turn = _for_claude(task, example)
    text = example.input[: example.query_end_index]
    prompt = f"{_HUMAN} {text}{turn}"
    ids = tokenizer.encode(prompt)
    if len(ids) <= limit:
        return prompt
    ending = example.truncation_seperator + example.query + turn
    keep = _document_tokens(limit, len(tokenizer.encode(f"{_HUMAN} {ending}")), _FREE)
    # As published: the place is counted with "\n\nHuman: " and used in the text without it.
    return f"{_HUMAN} {text[: len(tokenizer.decode(ids[:keep]))]}{ending}"


def _beginning(tokenizer: Tokenizer, text: str, count: int) -> str:
    """The text of its first `count` tokens, as it is.

    A T5 tokenizer lacks characters, such as braces and line ends: the text of its ids would be without them.
    """
    places = tokenizer.encode_with_offsets(text)[1][:count]
    return text[: places[-1][1] if places else 0]


def _document_tokens(limit: int, suffix: int, free: int) -> int:
    """The number of tokens of the document that fit before the suffix."""
    if (tokens := limit - suffix - free) > 0:
        return tokens
    what = f"the query and the omission message take {suffix} tokens, and a prompt may have {limit}"
    raise NightjarError(
        what, "the prompt", f"allow it at least {suffix + free + 1} (max_source_length, total_tokens)"
    )
