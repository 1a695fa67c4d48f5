"""Small made files of every set in its published format."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks.zeroscrolls.prompts import built
from nightjar.benchmarks.zeroscrolls.tasks import TASKS

SOURCES: dict[str, list[Any]] = {
    "gov_report": [
        {
            "id": "GAO-1",
            "report": [
                {"section_title": "Background", "paragraphs": ["Costs rose.", "Twice."], "subsections": []}
            ],
            "highlight": [{"section_title": "", "paragraphs": ["It rose."]}],
        },
        {
            "id": "CRS-1",
            "reports": {
                "section_title": "Top",
                "paragraphs": [],
                "subsections": [{"paragraphs": ["Below."]}],
            },
            "summary": ["A summary.", "In two parts."],
        },
        {"report": "A plain report.", "summary": "Plain."},
    ],
    "summ_screen_fd": [
        {"filename": "show-1", "Transcript": ["[Door]", "Ann: Hello."], "Recap": ["Ann says hello."]},
        {"Transcript": "Bob: Bye.", "Recap": "Bob leaves."},
    ],
    "qmsum": [
        {
            "topic_list": [],
            "meeting_transcripts": [
                {"speaker": "A", "content": "Hi ."},
                {"speaker": "B", "content": "Buy it ."},
            ],
            "general_query_list": [{"query": "Summarize it.", "answer": "They met."}],
            "specific_query_list": [{"query": "What did B say?", "answer": "To buy it."}],
        }
    ],
    "squality": [
        {
            "metadata": {"passage_id": "p1"},
            "document": "A story.",
            "questions": [
                {
                    "question_text": "What is the plot?",
                    "question_number": 1,
                    "responses": [
                        {"response_text": "One."},
                        {"response_text": "Two."},
                        {"response_text": " "},
                    ],
                }
            ],
        }
    ],
    "qasper": [
        {
            "1234.5": {
                "title": "A title",
                "abstract": "We do it.",
                "full_text": [{"section_name": "Intro", "paragraphs": ["First.", "Second."]}],
                "qas": [
                    {
                        "question": "Which?",
                        "question_id": "q1",
                        "answers": [
                            {"answer": {"unanswerable": True, "extractive_spans": []}},
                            {"answer": {"extractive_spans": ["a", "b"]}},
                            {"answer": {"extractive_spans": [], "yes_no": False, "free_form_answer": ""}},
                            {"answer": {"yes_no": None, "free_form_answer": "both"}},
                        ],
                    }
                ],
            }
        }
    ],
    "narrative_qa": [
        {
            "document": {"id": "d1", "text": "Once upon a time."},
            "question": {"text": "When?"},
            "answers": [{"text": "once"}, {"text": "upon a time"}],
        }
    ],
    "quality": [
        {
            "article_id": "a1",
            "article": "A long article.",
            "questions": [
                {"question": "Why?", "question_unique_id": "a1_1", "options": list("wxyz"), "gold_label": 3},
                {"question": "Who?", "question_unique_id": "a1_2", "options": list("wxyz")},
            ],
        }
    ],
    "musique": [
        {
            "id": "2hop__1",
            "paragraphs": [{"idx": 0, "title": "Paris", "paragraph_text": "A city."}],
            "question": "Where?",
            "answer": "Paris",
            "answer_aliases": ["City of Paris", "Paris"],
            "answerable": True,
        },
        {
            "id": "2hop__2",
            "paragraphs": [{"idx": 0, "title": "Rome", "paragraph_text": "A city."}],
            "question": "Where?",
            "answer": "Oslo",
            "answer_aliases": [],
            "answerable": False,
        },
    ],
}


def hotels(names: Sequence[str] = ("Sea View",), reviews: int = 60) -> list[dict[str, Any]]:
    """Reviews with ratings 1, 2, 3, 4, 5 in turn."""
    return [
        {"hotel": name, "rating": number % 5 + 1, "review": f"Review {number} of {name}."}
        for name in names
        for number in range(reviews)
    ]


def books(chapters: int = 5, names: Sequence[str] = ("Emma",)) -> list[dict[str, Any]]:
    """Chapters from the last to the first."""
    return [
        {"book": name, "chapter": number, "summary": f"{name}, part {number}."}
        for name in names
        for number in range(chapters, 0, -1)
    ]


def put(path: Path, rows: Sequence[Any]) -> Path:
    """Rows as JSON Lines; a text is a line as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def put_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Rows as a table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
    return path


def row(task: str = "qasper", id: str = "e1", output: Any = "Yes", **changed: Any) -> dict[str, Any]:
    """A row of a file of the benchmark; keys whose new value is ... are left out."""
    example = built(TASKS[task], "A document.", "Which?" if TASKS[task].query else "", 3)
    whole = {"id": id, "pid": f"{id}_0", "output": output, **example.parts(), **changed}
    return {key: value for key, value in whole.items() if value is not ...}


def put_all(folder: Path) -> Path:
    """A folder with a made file for every task; two of SpaceDigest's examples, eight of BookSumSort's."""
    for task, rows in SOURCES.items():
        put(folder / task / "validation.jsonl", rows if task != "qasper" else [])
    (folder / "qasper" / "validation.json").write_text(json.dumps(SOURCES["qasper"][0]))
    put_table(folder / "space_digest" / "reviews.csv", hotels(("Sea View", 'Hill, or "Top"\nHouse'), 70))
    put_table(folder / "book_sum_sort" / "books.tsv", books(5, ("Emma", "Ulysses")))
    return folder
