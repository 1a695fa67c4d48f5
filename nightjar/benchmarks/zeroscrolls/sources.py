"""Examples from the source sets in their published formats, a row of a file at a time (facts 5.1).

How the benchmark's makers wrote a source document as text is not published. The layouts here are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.benchmarks.zeroscrolls.examples import Unfit
from nightjar.benchmarks.zeroscrolls.rows import need
from nightjar.core.json_text import shown

LETTERS = "ABCD"
# What MuSiQue and Qasper write for a question that the document does not answer.
UNANSWERABLE = "unanswerable"


@dataclass(frozen=True)
class Made:
    """An example before it is checked: its texts may be anything that the row has. `n`: how many summaries."""

    id: str
    document: Any
    references: Sequence[Any]
    query: Any = ""
    n: int = 0


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
    yield Made(str(row.get("id") or place.name), _sections(report), [_sections(summary)])


def summ_screen_fd(row: Mapping[str, Any], place: Place) -> Iterator[Made]:
    """SummScreen: `Transcript` and `Recap`, texts or lists of lines."""
    low = {key.lower(): value for key, value in row.items()}
    name = low.get("filename") or low.get("id") or place.name
    yield Made(str(name), _lines(need(low, "transcript")), [_lines(need(low, "recap"))])


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
    name = metadata.get("passage_id") if isinstance(metadata, dict) else None
    for number, one in enumerate(_objects(need(row, "questions"), "questions"), start=1):
        responses = [it.get("response_text") for it in _objects(one.get("responses") or [], "responses")]
        id = f"{name or place.name}-{one.get('question_number', number)}"
        yield Made(id, need(row, "document"), responses, one.get("question_text"))


def qasper(row: Mapping[str, Any], place: Place) -> Iterator[Made]:
    """Qasper: a paper with its questions; an answer is "Unanswerable", "Yes", "No", spans or a free text."""
    sections = [f"{row.get('title') or ''}", f"Abstract\n{row.get('abstract') or ''}"]
    sections += [
        _joined([one.get("section_name"), *(one.get("paragraphs") or [])], "\n")
        for one in _objects(need(row, "full_text"), "full_text")
    ]
    document = "\n\n".join(text for text in sections if text.strip())
    for number, one in enumerate(_objects(need(row, "qas"), "qas")):
        answers = [_qasper_answer(it.get("answer")) for it in _objects(one.get("answers") or [], "answers")]
        id = one.get("question_id") or f"{row.get('id') or place.name}-{number}"
        yield Made(str(id), document, list(dict.fromkeys(answers)), one.get("question"))


def _qasper_answer(answer: Any) -> str:
    if not isinstance(answer, dict):
        raise Unfit("an answer has no object answer")
    if answer.get("unanswerable"):
        return UNANSWERABLE.capitalize()
    if answer.get("extractive_spans"):
        return _joined(answer["extractive_spans"], ", ")
    if answer.get("free_form_answer"):
        return str(answer["free_form_answer"])
    if answer.get("yes_no") is None:
        raise Unfit("an answer has no text, no spans, and no yes or no")
    return "Yes" if answer["yes_no"] else "No"


def narrative_qa(row: Mapping[str, Any], place: Place) -> Iterator[Made]:
    """NarrativeQA: a row of qaps.csv, whose story is the file DOCUMENT_ID.content or .txt beside it or in tmp/; or an
    object with `document`, `question` and `answers` that have a `text`.
    """
    if "document_id" in row:
        id, question = need(row, "document_id"), need(row, "question")
        answers = [row[key] for key in ("answer1", "answer2") if row.get(key)]
        yield Made(f"{id}-{place.number}", _story(str(id), place.file.parent), answers, question)
        return
    document, question = need(row, "document"), need(row, "question")
    if not isinstance(document, dict) or not isinstance(question, dict):
        raise Unfit("document or question is not an object with a text")
    texts = [it.get("text") for it in _objects(row.get("answers") or [], "answers")]
    name = f"{document.get('id') or 'document'}-{place.number}"
    yield Made(name, document.get("text"), texts, question.get("text"))


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
        lines = [f"({letter}) {option}" for letter, option in zip(LETTERS, options, strict=True)]
        gold = one.get("gold_label")
        if gold is not None and gold not in (1, 2, 3, 4):
            raise Unfit(f"the gold_label is {shown(str(gold))}, not 1 to 4")
        id = one.get("question_unique_id") or f"{row.get('article_id') or place.name}-{number}"
        query = _joined([one.get("question"), "", *lines], "\n")
        yield Made(str(id), need(row, "article"), [LETTERS[gold - 1]] if gold else [], query)


def musique(row: Mapping[str, Any], place: Place) -> Iterator[Made]:
    """MuSiQue: a question with its paragraphs; aliases of the answer are references, as in its own evaluator."""
    paragraphs = _objects(need(row, "paragraphs"), "paragraphs")
    texts = [
        f"Paragraph {number}: {_text(one, 'title')}\n{_text(one, 'paragraph_text')}"
        for number, one in enumerate(paragraphs, start=1)
    ]
    answers: list[Any] = [UNANSWERABLE]
    if row.get("answerable", True):
        answers = [row.get("answer"), *(row.get("answer_aliases") or [])]
    references = list(dict.fromkeys(answer for answer in answers if answer is not None))
    yield Made(str(row.get("id") or place.name), "\n\n".join(texts), references, need(row, "question"))


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


def _objects(value: Any, name: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise Unfit(f"{name} is not a list of objects")
    return value


def _text(row: Mapping[str, Any], key: str) -> str:
    value = need(row, key)
    if not isinstance(value, str):
        raise Unfit(f"{key} is not a string")
    return value


def _joined(texts: Sequence[Any], by: str) -> str:
    return by.join(str(text) for text in texts if text is not None)


def _lines(value: Any) -> Any:
    return _joined(value, "\n") if isinstance(value, list) else value


def _sections(value: Any) -> Any:
    """The text of sections with titles, paragraphs and subsections; of a text the text itself."""
    if isinstance(value, list):
        return _joined([_sections(one) for one in value], "\n\n")
    if isinstance(value, dict):
        title, paragraphs = value.get("section_title"), value.get("paragraphs") or []
        return _joined(
            [*([title] if title else []), *paragraphs, *map(_sections, value.get("subsections") or [])],
            "\n\n",
        )
    return value
