"""Questions about long documents in ZeroSCROLLS's ten tasks: some as files of the benchmark, some as source sets."""

# ruff: noqa: E501

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from data.sample_generator import long_texts as texts

# Of the tasks whose files are those of the benchmark: instruction, document header, query header, response header, and
# what the omission message names.
_TASKS = {
    "gov_report": (
        "You are given a report by a government agency. Write a one-page summary of the report.",
        "Report:", "", "Summary:", "report",
    ),
    "narrative_qa": (
        "You are given a story, which can be either a novel or a movie script, and a question. Answer the question as concisely as you can, using a single phrase if possible.",
        "Story:", "Question:", "Answer:", "story",
    ),
    "quality": (
        "You are provided a story and a multiple-choice question with 4 possible answers (marked by A, B, C, D). Choose the best answer by writing its corresponding letter (either A, B, C, or D).",
        "Story:", "Question and Possible Answers:", "Answer:", "story",
    ),
}  # fmt: skip
# Reviews of a hotel with 1, 2, 4 or 5 points, and those with 3.
_REVIEWS, _FAIR = 52, 4


def long_document_files(seed: int) -> dict[str, str]:
    """Relative path to text of every file."""
    files = {
        "gov_report/validation.jsonl": _json_lines(_reports()),
        "summ_screen_fd/episodes.jsonl": _json_lines(
            {"filename": f"{name}.json", "Transcript": script.strip().split("\n"), "Recap": [recap]}
            for name, script, recap in texts.EPISODES
        ),
        "qmsum/meetings.jsonl": _json_lines([_meeting()]),
        "squality/stories.jsonl": _json_lines([_story()]),
        "qasper/papers.json": json.dumps(_papers(), indent=1) + "\n",
        "narrative_qa/validation.jsonl": _json_lines(_script()),
        "quality/validation.jsonl": _json_lines(_article(seed)),
        "musique/questions.jsonl": _json_lines(_hops(seed)),
        "space_digest/reviews.csv": _table(("hotel", "rating", "review"), _reviews(seed)),
        "book_sum_sort/summaries.csv": _table(("book", "chapter", "summary"), _chapters(seed)),
    }
    return {f"zeroscrolls/{name}": text for name, text in files.items()}


def _json_lines(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([head, *rows])
    return stream.getvalue()


def _row(task: str, id: str, pid: str, document: str, query: str, output: str) -> dict[str, Any]:
    """A row of a file of the benchmark."""
    instruction, header, query_header, response, noun = _TASKS[task]
    before = f"{instruction}\n\n"
    with_document = f"{before}{header}\n{document.strip()}\n\n"
    with_query = with_document + (f"{query_header}\n{query}\n\n" if query_header else "")
    return {
        "id": id,
        "pid": pid,
        "input": f"{with_query}{response}\n",
        "output": output,
        "document_start_index": len(before),
        "document_end_index": len(with_document),
        "query_start_index": len(with_document),
        "query_end_index": len(with_query),
        "truncation_seperator": f"... [The rest of the {noun} is omitted]\n\n",
    }


def _reports() -> Iterator[dict[str, Any]]:
    for name, report, summary in texts.REPORTS:
        yield _row("gov_report", name, f"{name}_0", report, "", summary)


def _script() -> Iterator[dict[str, Any]]:
    name, script, asked = texts.SCRIPT
    for number, (question, answers) in enumerate(asked):
        for place, answer in enumerate(answers):
            id = f"{name}_{number}"
            yield _row("narrative_qa", id, f"{id}_{place}", script, question, answer)


def _article(seed: int) -> Iterator[dict[str, Any]]:
    """The first of the written options is the right one; their order is drawn."""
    name, article, asked = texts.ARTICLE
    for number, (question, options) in enumerate(asked):
        order = Random(f"{seed}:long:{question}").sample(options, len(options))
        query = "\n".join(
            [question, ""] + [f"({letter}) {it}" for letter, it in zip("ABCD", order, strict=True)]
        )
        id = f"{name}_{number}"
        yield _row("quality", id, f"{id}_0", article, query, "ABCD"[order.index(options[0])])


def _meeting() -> dict[str, Any]:
    _, transcript, general, specific = texts.MEETING
    turns = [line.split(": ", 1) for line in transcript.strip().splitlines()]
    return {
        "topic_list": [],
        "general_query_list": [{"query": query, "answer": answer} for query, answer in general],
        "specific_query_list": [
            {"query": query, "answer": answer, "relevant_text_span": []} for query, answer in specific
        ],
        "meeting_transcripts": [{"speaker": speaker, "content": content} for speaker, content in turns],
    }


def _story() -> dict[str, Any]:
    name, story, asked = texts.STORY
    questions = [
        {
            "question_text": question,
            "question_number": number,
            "responses": [{"uid": str(place), "response_text": one} for place, one in enumerate(responses)],
        }
        for number, (question, responses) in enumerate(asked, start=1)
    ]
    return {"metadata": {"passage_id": name}, "document": story.strip(), "questions": questions}


def _papers() -> dict[str, Any]:
    paper: dict[str, Any] = texts.PAPER
    empty = {"unanswerable": False, "extractive_spans": [], "yes_no": None, "free_form_answer": ""}
    questions = [
        {
            "question": question,
            "question_id": f"{paper['id']}-{number}",
            "answers": [{"answer": empty | answer} for answer in answers],
        }
        for number, (question, answers) in enumerate(paper["questions"])
    ]
    sections = [{"section_name": name, "paragraphs": paragraphs} for name, paragraphs in paper["sections"]]
    row = {key: paper[key] for key in ("title", "abstract")}
    return {paper["id"]: row | {"full_text": sections, "qas": questions}}


def _hops(seed: int) -> Iterator[dict[str, Any]]:
    """A question without an answer lacks the last paragraph that it would need; the order of the others is drawn."""
    for id, question, answer, aliases, answerable, needed in texts.HOPS:
        chosen = [n for n in range(len(texts.PARAGRAPHS)) if answerable or n != needed[-1]]
        Random(f"{seed}:long:{id}").shuffle(chosen)
        yield {
            "id": id,
            "paragraphs": [
                {
                    "idx": place,
                    "title": texts.PARAGRAPHS[n][0],
                    "paragraph_text": texts.PARAGRAPHS[n][1],
                    "is_supporting": n in needed,
                }
                for place, n in enumerate(chosen)
            ],
            "question": question,
            "answer": answer,
            "answer_aliases": aliases,
            "answerable": answerable,
        }


def _reviews(seed: int) -> Iterator[tuple[str, int, str]]:
    for hotel, share in texts.HOTELS:
        rng = Random(f"{seed}:long:{hotel}")
        positive = round(share * _REVIEWS)
        found = [(rng.choice((4, 5)), rng.choice(texts.GOOD)) for _ in range(positive)]
        found += [(rng.choice((1, 2)), rng.choice(texts.BAD)) for _ in range(_REVIEWS - positive)]
        found += [(3, rng.choice(texts.FAIR)) for _ in range(_FAIR)]
        rng.shuffle(found)
        for rating, review in found:
            yield hotel, rating, review


def _chapters(seed: int) -> Iterator[tuple[str, int, str]]:
    """The chapters, numbered; the rows of the table are in an order that is drawn."""
    book, chapters = texts.BOOK
    rows = [(book, number, summary) for number, summary in enumerate(chapters, start=1)]
    Random(f"{seed}:long:{book}").shuffle(rows)
    yield from rows
