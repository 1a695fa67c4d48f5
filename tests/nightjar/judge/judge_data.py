"""A small comparison: three tasks of four instances, among them texts that would break a careless page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HOSTILE = [
    "</script><script>alert('out')</script>",
    "<img src=x onerror=\"alert('img')\"><svg onload=alert(1)>",
    "<!-- <script> --> ]]> &lt;b&gt; &amp; \\u003c",
    "abc \u202etxt.exe\u202c \u0627\u0644\u0633\u0644\u0627\u0645",
    "nul \x00 bell \x07 escape \x1b[31m",
    "lines\n\u2028and\u2029more \ud7ff \U0001f985 {{ 7 * 7 }} ${1}",
]
CATEGORY = dict(task1_alpha="Word Analogy", task2_beta="Title Generation", task3_gamma="Title Generation")


def instances(count: int = 4) -> list[dict[str, Any]]:
    """References with input and definition, by task."""
    return [
        {
            "id": f"{task}-{number}",
            "references": [f"gold {task} {number}", "another"],
            "task_id": task,
            "task_category": category,
            "input": f"input of {task} {number}",
            "definition": ["Do it well.", f"This is {task}."],
        }
        for task, category in CATEGORY.items()
        for number in range(count)
    ]


def predictions(rows: list[dict[str, Any]]) -> dict[str, str]:
    """An answer to each; the first ones hostile."""
    return {
        row["id"]: HOSTILE[number] if number < len(HOSTILE) else f"  answer {number} "
        for number, row in enumerate(rows)
    }


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def comparison(folder: Path) -> tuple[Path, Path, dict[str, str]]:
    """The files of references and predictions in `folder`, and the predictions by id."""
    rows = instances()
    given = predictions(rows)
    references = write(folder / "references.jsonl", rows)
    mine = write(folder / "mine.jsonl", [{"id": id, "prediction": text} for id, text in given.items()])
    return references, mine, given
