"""Examples from the source sets in their published formats, a row of a file at a time (Shaham et al. 2023).

How the benchmark's makers wrote a source document as text is not published. The layouts here are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from nightjar.benchmarks.question import drawn
from nightjar.benchmarks.zeroscrolls.examples import Unfit
from nightjar.benchmarks.zeroscrolls.rows import need
from nightjar.core.json_text import is_text, shown

T = TypeVar("T")
LETTERS = "ABCD"
# The seed of the published runs; which examples, reviews and orders the makers drew is not published.
SEED = 43
# The most examples of a task, and how many of them MuSiQue has with and without an answer if there are more.
EXAMPLES, ANSWERABLE, UNANSWERED = 500, 400, 100
# What MuSiQue and Qasper write for a question that the document does not answer.
UNANSWERABLE = "unanswerable"


@dataclass(frozen=True, eq=False)
class Made:
    """An example before it is checked: its texts may be anything that the row has.

    `n`: how many summaries. `ratings`: how many ratings the hotel has.
    """

    id: str
    document: Any
    references: Sequence[Any]
    query: Any = ""
    n: int = 0
    ratings: int = 0


@dataclass(frozen=True)
class Place:
    """Where a row is: its file and its number, which name a row without an id."""

    file: Path
    number: int

    @property
    def name(self) -> str:
        """The name of the file and the number."""
        return f"{self.file.stem}-{self.number}"


Builder = Callable[[Mapping[str, Any], Place], Iterator[Made]]


def gov_report(row: Mapping[str, Any], place: Place) -> Iterator[Made]:
    """GovReport: texts `report` or `document` and `summary`; or sections, as the GAO (report, highlight) and the CRS
    (reports, summary) parts have them.
    """
    report, summary = need(row, "report", "reports", "document"), need(row, "highlight", "summary")
    yield Made(_name(row.get("id"), place.name), _sections(report), [_sections(summary)])


def summ_screen_fd(row: Mapping[str, Any], place: Place) -> Iterator[Made]:
    """SummScreen: `Transcript` and `Recap`, texts or lists of lines."""
    low = {key.lower(): value for key, value in row.items()}
    name = low.get("filename") or low.get("id")
    yield Made(_name(name, place.name), _lines(need(low, "transcript")), [_lines(need(low, "recap"))])


def qmsum(row: Mapping[str, Any], place: Place) -> Iterator[Made]:
    """QMSum: a meeting with its general and specific queries; the document has a line for each turn."""
    turns = _objects(need(row, "meeting_transcripts"), "meeting_transcripts")
    document = "\n".join(f"{_text(turn, 'speaker')}: {_text(turn, 'content')}" for turn in turns)
    for kind in ("general", "specific"):
        for number, one in enumerate(_objects(row.get(f"{kind}_query_list") or [], "a list of queries")):
            yield Made(f"{place.name}-{kind}-{number}", document, [one.get("answer")], one.get("query"))


def squality(row: Mapping[str, Any], place: Place) -> Iterator[Made]:
    """SQuALITY: a story with its questions, each with several responses."""
    metadata = row.get("metadata")
    name = _name(metadata.get("passage_id") if isinstance(metadata, dict) else None, place.name)
    for number, one in enumerate(_objects(need(row, "questions"), "questions"), start=1):
        responses = [it.get("response_text") for it in _objects(one.get("responses") or [], "responses")]
        id = f"{name}-{_name(one.get('question_number'), str(number))}"
        yield Made(id, need(row, "document"), responses, one.get("question_text"))


def qasper(row: Mapping[str, Any], place: Place) -> Iterator[Made]:
    """Qasper: a paper with its questions; an answer is "Unanswerable", "Yes", "No", spans or a free text."""
    title, abstract = (row.get(key) or "" for key in ("title", "abstract"))
    sections = [_joined([title], ""), "Abstract\n" + _joined([abstract], "")]
    sections += [
        _joined([one.get("section_name"), *_list(one.get("paragraphs"))], "\n")
        for one in _objects(need(row, "full_text"), "full_text")
    ]
    document = "\n\n".join(text for text in sections if text.strip())
    for number, one in enumerate(_objects(need(row, "qas"), "qas")):
        answers = [_qasper_answer(it.get("answer")) for it in _objects(one.get("answers") or [], "answers")]
        id = _name(one.get("question_id"), f"{_name(row.get('id'), place.name)}-{number}")
        yield Made(id, document, list(dict.fromkeys(answers)), one.get("question"))


def _qasper_answer(answer: Any) -> str:
    if not isinstance(answer, dict):
        raise Unfit("an answer has no object answer")
    if answer.get("unanswerable"):
        return UNANSWERABLE.capitalize()
    if answer.get("extractive_spans"):
        return _joined(_list(answer["extractive_spans"]), ", ")
    if answer.get("free_form_answer"):
        return _joined([answer["free_form_answer"]], "")
    if answer.get("yes_no") is None:
        raise Unfit("an answer has no text, no spans, and no yes or no")
    return "Yes" if answer["yes_no"] else "No"


def narrative_qa(row: Mapping[str, Any], place: Place) -> Iterator[Made]:
    """NarrativeQA: a row of qaps.csv, whose story is the file DOCUMENT_ID.content or .txt beside it or in tmp/; or an
    object with `document`, `question` and `answers` that have a `text`.
    """
    if "document_id" in row:
        id, question = _name(need(row, "document_id"), ""), need(row, "question")
        answers = [row[key] for key in ("answer1", "answer2") if row.get(key)]
        yield Made(f"{id}-{place.number}", _story(id, place.file.parent), answers, question)
        return
    document, question = need(row, "document"), need(row, "question")
    if not isinstance(document, dict) or not isinstance(question, dict):
        raise Unfit("document or question is not an object with a text")
    texts = [it.get("text") for it in _objects(row.get("answers") or [], "answers")]
    name = f"{_name(document.get('id'), 'document')}-{place.number}"
    yield Made(name, document.get("text"), texts, question.get("text"))


@lru_cache(maxsize=8)
def _story(id: str, folder: Path) -> str:
    if not id or id != Path(id).name:
        raise Unfit(f"the document_id {shown(id)} is no name of a file")
    for path in (folder / name / f"{id}{end}" for name in (".", "tmp") for end in (".content", ".txt")):
        if path.is_file():
            return path.read_text(encoding="utf-8", errors="replace")
    raise Unfit(f"no file {id}.content with the story")


def quality(row: Mapping[str, Any], place: Place) -> Iterator[Made]:
    """QuALITY: an article with its questions of four options; gold_label is 1 to 4."""
    for number, one in enumerate(_objects(need(row, "questions"), "questions")):
        options = one.get("options")
        if not isinstance(options, list) or len(options) != len(LETTERS):
            raise Unfit("a question has not four options")
        lines = [
            f"({letter}) {_joined([option], '')}" for letter, option in zip(LETTERS, options, strict=True)
        ]
        gold = one.get("gold_label")
        if gold is not None and (not isinstance(gold, int) or gold not in (1, 2, 3, 4)):
            raise Unfit(f"the gold_label is {shown(str(gold))}, not 1 to 4")
        id = _name(one.get("question_unique_id"), f"{_name(row.get('article_id'), place.name)}-{number}")
        query = _joined([one.get("question"), "", *lines], "\n")
        yield Made(id, need(row, "article"), [LETTERS[gold - 1]] if gold else [], query)


def musique(row: Mapping[str, Any], place: Place) -> Iterator[Made]:
    """MuSiQue: a question with its paragraphs; aliases of the answer are references, as in its own evaluator.

    The set with unanswerable questions has each id twice: that of the unanswerable one gets an ending.
    """
    paragraphs = _objects(need(row, "paragraphs"), "paragraphs")
    texts = [
        f"Paragraph {number}: {_text(one, 'title')}\n{_text(one, 'paragraph_text')}"
        for number, one in enumerate(paragraphs, start=1)
    ]
    id = _name(row.get("id"), place.name)
    answers: list[Any] = [UNANSWERABLE]
    if row.get("answerable", True) is False:
        id += f"-{UNANSWERABLE}"
    else:
        answers = [row.get("answer"), *_list(row.get("answer_aliases"))]
    references = [it for number, it in enumerate(answers) if it is not None and it not in answers[:number]]
    yield Made(id, "\n\n".join(texts), references, need(row, "question"))


BUILDERS: Mapping[str, Builder] = {
    "gov_report": gov_report,
    "summ_screen_fd": summ_screen_fd,
    "qmsum": qmsum,
    "squality": squality,
    "qasper": qasper,
    "narrative_qa": narrative_qa,
    "quality": quality,
    "musique": musique,
}


def chosen(task: str, made: Sequence[Made]) -> Sequence[Made]:
    """At most EXAMPLES of the examples of a task, drawn, in their order.

    Of MuSiQue at most ANSWERABLE with an answer and UNANSWERED without, if there are more than EXAMPLES in all. Of
    SpaceDigest those of the most rated hotels, and of BookSumSort all orders of the books that are drawn.
    """
    if len(made) <= EXAMPLES:
        return made
    if task == "space_digest":
        return most_rated(made, EXAMPLES, lambda it: (it.ratings, it.id))
    if task == "book_sum_sort":
        return drawn(made, EXAMPLES, SEED, lambda it: ("book", it.id.rpartition("-")[0]))
    groups = [(made, EXAMPLES)]
    if task == "musique":
        without = [one for one in made if list(one.references) == [UNANSWERABLE]]
        answered = [one for one in made if list(one.references) != [UNANSWERABLE]]
        groups = [(answered, ANSWERABLE), (without, UNANSWERED)]
    kept = {id(one) for group, most in groups for one in drawn(group, most, SEED, lambda it: (task, it.id))}
    return [one for one in made if id(one) in kept]


def most_rated(members: Sequence[T], most: int, key: Callable[[T], tuple[int, str]]) -> list[T]:
    """At most `most` of `members`, in their order, those with the most ratings, of equals the first by name.

    `key` gives the ratings and the name of a member.
    """
    ratings = [key(one) for one in members]
    order = sorted(range(len(members)), key=lambda place: (-ratings[place][0], ratings[place][1]))
    return [members[place] for place in sorted(order[:most])]


def _objects(value: Any, name: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise Unfit(f"{name} is not a list of objects")
    return value


def _text(row: Mapping[str, Any], key: str) -> str:
    value = need(row, key)
    if not isinstance(value, str):
        raise Unfit(f"{key} is not a string")
    return value


def _list(value: Any) -> list[Any]:
    """The list; an empty one for None. Raises Unfit for anything else."""
    if value is not None and not isinstance(value, list):
        raise Unfit(f"{shown(str(value))} is not a list")
    return value or []


def _name(value: Any, default: str) -> str:
    """An id as a text, the default if there is none. Raises Unfit for what is neither a text nor a whole number."""
    if value is None or value == "":
        return default
    if not is_text(value) and (isinstance(value, bool) or not isinstance(value, int)):
        raise Unfit(f"the id {shown(str(value))} is not a text")
    return str(value)


def _joined(texts: Sequence[Any], by: str) -> str:
    """The texts that are not None, joined. Raises Unfit for one that is not a text."""
    found = [text for text in texts if text is not None]
    if odd := [text for text in found if not is_text(text)]:
        raise Unfit(f"{shown(str(odd[0]))} is not a text")
    return by.join(found)


def _lines(value: Any) -> Any:
    return _joined(value, "\n") if isinstance(value, list) else value


def _sections(value: Any) -> Any:
    """The text of sections with titles, paragraphs and subsections; of a text the text itself."""
    if isinstance(value, list):
        return _joined([_sections(one) for one in value], "\n\n")
    if isinstance(value, dict):
        title = value.get("section_title") or None
        below = map(_sections, _list(value.get("subsections")))
        return _joined([title, *_list(value.get("paragraphs")), *below], "\n\n")
    return value
