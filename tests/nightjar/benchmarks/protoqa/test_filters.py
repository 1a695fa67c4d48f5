"""Labels of questions."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.protoqa.answer_clusters import parse_question
from nightjar.benchmarks.protoqa.filters import labels
from tests.nightjar.benchmarks.protoqa.files import row


def question(text: str, *answers: str) -> dict[str, Any]:
    clusters = {f"c{place}": {"count": 10, "answers": [one]} for place, one in enumerate(answers)}
    raw = dict.fromkeys(answers, 10)
    return row(**clusters) | {
        "question": {"normalized": text},
        "answers": {"raw": raw, "clusters": row(**clusters)["answers"]["clusters"]},
    }


@pytest.mark.parametrize(
    ("text", "answers", "expected"),
    [
        ("name a fruit you eat in summer.", ["apples", "cherry", "soup"], ["taxonomic"]),
        ("name an animal with spots", ["dog", "leopard"], ["taxonomic"]),
        ("name a soft drink.", ["cola", "toothpaste"], ["taxonomic"]),
        ("name a soft drink.", ["toothpaste"], []),
        ("name something you eat in summer.", ["apples"], []),
        ("name a reason to cry", ["pain", "joy"], []),
        ("name a fruit", ["soup", "bread", "apple"], []),
        ("tell me what women like", ["shoes"], ["stereotype"]),
        ("name an animal little boys like", ["dog"], ["taxonomic", "stereotype"]),
        ("name a mango recipe", ["cake"], []),
    ],
)
def test_labels(text: str, answers: list[str], expected: list[str]) -> None:
    assert list(labels(parse_question(question(text, *answers)))) == expected


@pytest.mark.parametrize(
    ("counts", "raw", "scattered"),
    [
        ([30, 20, 10, 5, 5, 5, 5, 5, 4, 4, 4, 3], 100, False),  # the 8 largest hold 85
        ([30, 20, 10, 5, 5, 5, 5, 4, 4, 4, 4, 4], 100, True),  # 84
        ([4, 4, 4, 4, 5, 5, 5, 5, 10, 20, 29], 100, True),
        ([50, 34], 100, True),  # the others were left out when clusters were made
        ([50, 34], None, False),
        ([], None, False),
    ],
)
def test_scattered_questions(counts: list[int], raw: int | None, scattered: bool) -> None:
    """Published: questions are dropped when the 8 largest clusters hold fewer than 85 of 100 answers."""
    clusters = {f"c{place}": {"count": count, "answers": [f"a{place}"]} for place, count in enumerate(counts)}
    given = row(**clusters)
    given["answers"]["raw"] = {"a": raw}
    if raw is None:
        del given["answers"]["raw"]
    if not counts:
        del given["answers"]
    assert ("scattered" in labels(parse_question(given))) == scattered


def test_twelve_development_questions_are_scattered(real_data: Path) -> None:
    lines = (real_data / "protoqa" / "dev.crowdsourced.jsonl").read_text("utf-8").splitlines()
    assert sum("scattered" in labels(parse_question(json.loads(line))) for line in lines) == 12


def test_the_omitted_questions_are_stereotypes(real_data: Path) -> None:
    lines = (real_data / "protoqa" / "omitted.jsonl").read_text("utf-8").splitlines()
    counts = Counter(label for line in lines for label in labels(parse_question(json.loads(line))))
    assert (len(lines), counts["stereotype"]) == (29, 28)
