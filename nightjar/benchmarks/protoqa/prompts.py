"""The published prompt of a question: it is turned into the beginning of a statement (run_generation.py)."""

from __future__ import annotations

# The first rule whose text the question has: where it must be, the text, and what every occurrence becomes.
_ANYWHERE = (
    ("name something", "one thing"),
    ("tell me something", "one thing"),
    ("name a ", "one "),
    ("name an ", "one "),
    ("name", ""),
)
_AT_THE_START = (
    ("tell me a ", "tell me a ", "one "),
    ("tell me an ", "tell me an ", "one "),
    ("what ", "what", "one"),
    ("give me a ", "give me a ", "one "),
    ("tell me ", "tell me ", ""),
)
_ELSE = (("which", "one"), ("what", "one"), ("how can you tell", "one way to tell"))


def statement(question: str) -> str:
    """The prompt of a question, as published: blanks are not trimmed, and replacements are of parts of words too."""
    text = question.lower()
    for sign in ".:?":
        text = text.replace(sign, "")
    text = text.replace("someone", "one person").replace("someplace", "one place")
    for old, new in _ANYWHERE:
        if old in text:
            return text.replace(old, new) + " is"
    for start, old, new in _AT_THE_START:
        if text.startswith(start):
            return text.replace(old, new) + " is"
    for old, new in _ELSE:
        if old in text:
            return text.replace(old, new) + " is"
    return f"Q: {text}? A: "
