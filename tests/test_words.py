"""The field's words: what names, messages and documentation do not say, and what they say instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = ("nightjar", "stages", "pipelines", "bench")
# In names, messages, docstrings, comments and pages: a pattern and what is said instead.
TEXTS = {
    r"afresh": "force, again",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bstands? twice\b": "is a duplicate",
    r"\blongest_way\b|\blongest way\b": "critical_path, critical path",
    r"\b_looks\b": "decisions",
    r"\bConduct\b": "a noun of the field",
    r"\bresumed_in_any_order\b": "run_resumable",
    r"\bJournal\b": "Checkpoint",
    r"\bgo(es)? on where\b|\bgo(es|ne)? on (with|from)\b": "resume, continue",
    r"\bclass Asked\b": "what it holds: Request, Question",
    r"\btold\b": "what a message, a function or a user gets",
    r"\bdoubled (key|id)s?\b": "duplicate key",
    r"\b(is|are|be|not) seen to\b": "significant",
    r"\b(rule|lists|versions) part on\b": "differ on",
    r"\btaken? (it )?off the list\b": "remove from",
}


def files(*folders: str, suffix: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob(f"*{suffix}"))


@cache
def texts() -> dict[str, str]:
    found = [*files(*CODE, suffix=".py"), *files("docs", suffix=".md"), ROOT / "README.md"]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in found}


@pytest.mark.parametrize("word", TEXTS)
def test_texts_have_the_words_of_the_glossary(word: str) -> None:
    found = [
        f"{path}:{number}: {line.strip()}"
        for path, text in texts().items()
        if re.search(word, text)
        for number, line in enumerate(text.splitlines(), 1)
        if re.search(word, line)
    ]
    assert not found, f"say {TEXTS[word]}"
