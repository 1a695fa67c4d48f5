"""The examples of ZeroSCROLLS from its source sets in their published formats (Shaham et al. 2023).

How the benchmark's makers wrote a source document as text is not published. The layouts here are ours. The examples of
SpaceDigest and BookSumSort are made of tables (`aggregation`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from nightjar.benchmarks.question import drawn
from nightjar.benchmarks.source_rows import InvalidRow, SourceRow, need, objects_of
from nightjar.core.json_text import is_text, quote_short

T = TypeVar("T")
LETTERS = "ABCD"
# The seed of the published runs; which examples, reviews and orders the makers drew is not published.
SEED = 43
# The most examples of a task, and how many of them MuSiQue has with and without an answer if there are more.
EXAMPLES, ANSWERABLE, UNANSWERED = 500, 400, 100
# What MuSiQue and Qasper write for a question that the document does not answer.
UNANSWERABLE = "unanswerable"


@dataclass(frozen=True, eq=False)
class Draft:
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
class RowPlace:
    """The place of a row: its file and its number, which name a row without an id."""

    file: Path
    number: int

    @property
    def name(self) -> str:
        """The name of the file and the number."""
        return f"{self.file.stem}-{self.number}"


Builder = Callable[[Mapping[str, Any], RowPlace], Iterator[Draft]]


def gov_report(row: Mapping[str, Any], place: RowPlace) -> Iterator[Draft]:
    """GovReport: texts `report` or `document` and `summary`; or sections, as the GAO (report, highlight) and the CRS
    (reports, summary) parts have them.
    """
    report, summary = need(row, "report", "reports", "document"), need(row, "highlight", "summary")
    yield Draft(_name(row.get("id"), place.name), _sections(report), [_sections(summary)])


def summ_screen_fd(row: Mapping[str, Any], place: RowPlace) -> Iterator[Draft]:
    """SummScreen: `Transcript` and `Recap`, texts or lists of lines."""
    low = {key.lower(): value for key, value in row.items()}
    name = low.get("filename") or low.get("id")
    yield Draft(_name(name, place.name), _lines(need(low, "transcript")), [_lines(need(low, "recap"))])


def qmsum(row: Mapping[str, Any], place: RowPlace) -> Iterator[Draft]:
    """QMSum: a meeting with its general and specific queries; the document has a line for each turn."""
    turns = objects_of(need(row, "meeting_transcripts"), "meeting_transcripts")
    document = "\n".join(f"{_text(turn, 'speaker')}: {_text(turn, 'content')}" for turn in turns)
    for kind in ("general", "specific"):
        for number, query in enumerate(objects_of(row.get(f"{kind}_query_list") or [], "a list of queries")):
            yield Draft(f"{place.name}-{kind}-{number}", document, [query.get("answer")], query.get("query"))


def squality(row: Mapping[str, Any], place: RowPlace) -> Iterator[Draft]:
    """SQuALITY: a story with its questions, each with several responses."""
    metadata = row.get("metadata")
    name = _name(metadata.get("passage_id") if isinstance(metadata, dict) else None, place.name)
    for number, question in enumerate(objects_of(need(row, "questions"), "questions"), start=1):
        responses = [
            it.get("response_text") for it in objects_of(question.get("responses") or [], "responses")
        ]
        id = f"{name}-{_name(question.get('question_number'), str(number))}"
        yield Draft(id, need(row, "document"), responses, question.get("question_text"))


def qasper(row: Mapping[str, Any], place: RowPlace) -> Iterator[Draft]:
    """Qasper: a paper with its questions; an answer is "Unanswerable", "Yes", "No", spans or a free text."""
    title, abstract = (row.get(key) or "" for key in ("title", "abstract"))
    sections = [_joined([title], ""), "Abstract\n" + _joined([abstract], "")]
    sections += [
        _joined([entry.get("section_name"), *_list(entry.get("paragraphs"))], "\n")
        for entry in objects_of(need(row, "full_text"), "full_text")
    ]
    document = "\n\n".join(text for text in sections if text.strip())
    for number, entry in enumerate(objects_of(need(row, "qas"), "qas")):
        answers = [
            _qasper_answer(it.get("answer")) for it in objects_of(entry.get("answers") or [], "answers")
        ]
        id = _name(entry.get("question_id"), f"{_name(row.get('id'), place.name)}-{number}")
        yield Draft(id, document, list(dict.fromkeys(answers)), entry.get("question"))


def _qasper_answer(answer: Any) -> str:
    if not isinstance(answer, dict):
        raise InvalidRow("an answer has no object answer")
    if answer.get("unanswerable"):
        return UNANSWERABLE.capitalize()
    if answer.get("extractive_spans"):
        return _joined(_list(answer["extractive_spans"]), ", ")
    if answer.get("free_form_answer"):
        return _joined([answer["free_form_answer"]], "")
    if answer.get("yes_no") is None:
        raise InvalidRow("an answer has no text, no spans, and no yes or no")
    return "Yes" if answer["yes_no"] else "No"


def narrative_qa(row: Mapping[str, Any], place: RowPlace) -> Iterator[Draft]:
    """NarrativeQA: a row of qaps.csv, whose story is the file DOCUMENT_ID.content or .txt beside it or in tmp/; or an
    object with `document`, `question` and `answers` that have a `text`.
    """
    if "document_id" in row:
        id, question = _name(need(row, "document_id"), ""), need(row, "question")
        answers = [row[key] for key in ("answer1", "answer2") if row.get(key)]
        yield Draft(f"{id}-{place.number}", _story(id, place.file.parent), answers, question)
        return
    document, question = need(row, "document"), need(row, "question")
    if not isinstance(document, dict) or not isinstance(question, dict):
        raise InvalidRow("document or question is not an object with a text")
    texts = [it.get("text") for it in objects_of(row.get("answers") or [], "answers")]
    name = f"{_name(document.get('id'), 'document')}-{place.number}"
    yield Draft(name, document.get("text"), texts, question.get("text"))


@lru_cache(maxsize=8)
def _story(id: str, folder: Path) -> str:
    if not id or id != Path(id).name:
        raise InvalidRow(f"the document_id {quote_short(id)} is no name of a file")
    for path in (folder / name / f"{id}{ending}" for name in (".", "tmp") for ending in (".content", ".txt")):
        if path.is_file():
            return path.read_text(encoding="utf-8", errors="replace")
    raise InvalidRow(f"no file {id}.content with the story")


def quality(row: Mapping[str, Any], place: RowPlace) -> Iterator[Draft]:
    """QuALITY: an article with its questions of four options; gold_label is 1 to 4."""
    for number, question in enumerate(objects_of(need(row, "questions"), "questions")):
        options = question.get("options")
        if not isinstance(options, list) or len(options) != len(LETTERS):
            raise InvalidRow("a question has not four options")
        lines = [
            f"({letter}) {_joined([option], '')}" for letter, option in zip(LETTERS, options, strict=True)
        ]
        gold = question.get("gold_label")
        if gold is not None and (not isinstance(gold, int) or gold not in (1, 2, 3, 4)):
            raise InvalidRow(f"the gold_label is {quote_short(str(gold))}, not 1 to 4")
        id = _name(question.get("question_unique_id"), f"{_name(row.get('article_id'), place.name)}-{number}")
        query = _joined([question.get("question"), "", *lines], "\n")
        yield Draft(id, need(row, "article"), [LETTERS[gold - 1]] if gold else [], query)


def musique(row: Mapping[str, Any], place: RowPlace) -> Iterator[Draft]:
    """MuSiQue: a question with its paragraphs; aliases of the answer are references, as in its own evaluator.

    The set with unanswerable questions has each id twice: that of the unanswerable one gets an ending.
    """
    paragraphs = objects_of(need(row, "paragraphs"), "paragraphs")
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
    yield Draft(id, "\n\n".join(texts), references, need(row, "question"))


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


def drafts(task: str, path: Path, row: SourceRow) -> list[Draft]:
    """The examples of a row of a task's source set. Raises InvalidRow if the row cannot be used."""
    if row.fault:
        raise InvalidRow(row.fault)
    row_drafts = list(BUILDERS[task](row.value, RowPlace(path, row.number)))
    if not row_drafts:
        raise InvalidRow("no questions")
    return row_drafts


def _text(row: Mapping[str, Any], key: str) -> str:
    value = need(row, key)
    if not isinstance(value, str):
        raise InvalidRow(f"{key} is not a string")
    return value


def _list(value: Any) -> list[Any]:
    """The list; an empty one for None. Raises InvalidRow for anything else."""
    if value is not None and not isinstance(value, list):
        raise InvalidRow(f"{quote_short(str(value))} is not a list")
    return value or []


def _name(value: Any, default: str) -> str:
    """An id as a text, the default if there is none. Raises InvalidRow if it is neither a text nor a whole number."""
    if value is None or value == "":
        return default
    if not is_text(value) and (isinstance(value, bool) or not isinstance(value, int)):
        raise InvalidRow(f"the id {quote_short(str(value))} is not a text")
    return str(value)


def _joined(texts: Sequence[Any], by: str) -> str:
    """The texts that are not None, joined. Raises InvalidRow for one that is not a text."""
    present_texts = [text for text in texts if text is not None]
    if odd := [text for text in present_texts if not is_text(text)]:
        raise InvalidRow(f"{quote_short(str(odd[0]))} is not a text")
    return by.join(present_texts)


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


def sampled(task: str, drafts: Sequence[Draft]) -> Sequence[Draft]:
    """At most EXAMPLES of the examples of a task, drawn, in their order.

    Of MuSiQue at most ANSWERABLE with an answer and UNANSWERED without, if there are more than EXAMPLES in all. Of
    SpaceDigest those of the most rated hotels, and of BookSumSort all orders of the books that are drawn.
    """
    if len(drafts) <= EXAMPLES:
        return drafts
    if task == "book_sum_sort":
        return drawn(drafts, EXAMPLES, SEED, lambda it: ("book", it.id.rpartition("-")[0]))
    groups = [(drafts, EXAMPLES)]
    if task == "musique":
        without = [one for one in drafts if list(one.references) == [UNANSWERABLE]]
        answered = [one for one in drafts if list(one.references) != [UNANSWERABLE]]
        groups = [(answered, ANSWERABLE), (without, UNANSWERED)]
    drawn_drafts = {
        one for group, size in groups for one in drawn(group, size, SEED, lambda it: (task, it.id))
    }
    if task == "space_digest":
        drawn_drafts = set(sorted(drafts, key=lambda it: (-it.ratings, it.id))[:EXAMPLES])
    return [one for one in drafts if one in drawn_drafts]
