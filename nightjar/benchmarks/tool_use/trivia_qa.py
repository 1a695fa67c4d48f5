"""TriviaQA (Joshi et al. 2017): the development questions of its unfiltered part, which has one row a question.

The paper names no part. This one is what systems report that find their evidence themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.tool_use.rows import FIX, JsonObject, Unfit, json_value, objects, text
from nightjar.core.errors import NightjarError

NAME, FOLDER = "trivia_qa", "triviaqa"
FILE = "triviaqa/unfiltered-web-dev.json"


def load(folder: Path) -> Iterator[Record | Refused]:
    """The questions of folder/triviaqa/unfiltered-web-dev.json: {"Data": [{QuestionId, Question, Answer}]}.

    References are the Value of the Answer, its Aliases and its NormalizedAliases, each once. Raises NightjarError if
    the file cannot be read, or has no such list.
    """
    whole = json_value(folder / FILE)
    if not isinstance(whole, dict) or not isinstance(whole.get("Data"), list):
        raise NightjarError("not a JSON object with a list Data", folder / FILE, FIX)
    yield from objects(FILE, whole["Data"], "QuestionId", _record)


def _record(row: JsonObject, id: str) -> Record:
    answer = row.get("Answer")
    if not isinstance(answer, dict):
        raise Unfit("Answer is not an object" if answer is not None else "no Answer")
    references = [text(answer.get("Value"), "Value")]
    for name in ("Aliases", "NormalizedAliases"):
        aliases = answer.get(name, [])
        if not isinstance(aliases, list):
            raise Unfit(f"{name} is not a list")
        references += [text(one, "an alias") for one in aliases]
    return Record(
        NAME, id, FILE, {"question": text(row.get("Question"), "Question")}, tuple(dict.fromkeys(references))
    )
