"""Where a call may begin: before a character as a person sees it, and where a name does."""

from __future__ import annotations

from nightjar.tools.windows import before_name, inside_character


def test_a_call_begins_in_no_character() -> None:
    # Vowel signs of Devanagari and Thai have no combining class, and are marks all the same.
    text = " e\u0301 किताब กั"
    inside = inside_character(text, list(range(len(text))))
    assert [sign for sign, part in zip(text, inside, strict=True) if part] == ["\u0301", "ि", "ा", "ั"]
    # Tokens of parts of a character have the same offset.
    assert inside_character("a😀b", [0, 1, 1, 2]) == [False, False, True, False]


def test_a_name_begins_where_its_first_word_does() -> None:
    text = (
        ' Ann Lee was born (in "Bonn") on 1 May 1961. He met Jo P. Ray, Al, iPod and the U.S. Then Éva $ 5.'
    )
    words = [0, *(place for place, sign in enumerate(text) if sign == " " and place)]
    # Tokens that begin with their blank, as byte-level BPE has them; and the words alone, as others have them.
    for offsets in (words, [place + 1 for place in words]):
        begins = before_name(text, offsets)
        starts = [text[place:].split()[0] for place, begin in zip(offsets, begins, strict=True) if begin]
        assert starts == ['"Bonn")', "1", "Jo", "Al,", "U.S.", "5."]
    # A blank that is a token of its own is the only place before its number.
    assert before_name(" of 12", [0, 3, 4, 5]) == [False, True, False, False]
