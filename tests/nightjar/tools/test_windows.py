"""Where a call may begin: before a character as a person sees it."""

from __future__ import annotations

from nightjar.tools.windows import inside_character


def test_a_call_begins_in_no_character() -> None:
    # Vowel signs of Devanagari and Thai have no combining class, and are marks all the same.
    text = " e\u0301 किताब กั"
    inside = inside_character(text, list(range(len(text))))
    assert [sign for sign, part in zip(text, inside, strict=True) if part] == ["\u0301", "ि", "ा", "ั"]
    # Tokens of parts of a character have the same offset.
    assert inside_character("a😀b", [0, 1, 1, 2]) == [False, False, True, False]
