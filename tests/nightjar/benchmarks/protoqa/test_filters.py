"""Labels of questions."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.protoqa.filters import labels
from nightjar.benchmarks.protoqa.formats import asked
from tests.nightjar.benchmarks.protoqa.files import row


def question(text: str, *answers: str) -> dict[str, Any]:
    clusters = {f"c{place}": {"count": 10, "answers": [one]} for place, one in enumerate(answers)}
    return row(**clusters) | {"question": {"normalized": text}}


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
    assert list(labels(asked(question(text, *answers)))) == expected


def test_the_omitted_questions_are_stereotypes(real_data: Path) -> None:
    lines = (real_data / "protoqa" / "omitted.jsonl").read_text("utf-8").splitlines()
    counts = Counter(label for line in lines for label in labels(asked(json.loads(line))))
    assert (len(lines), counts["stereotype"]) == (29, 28)
