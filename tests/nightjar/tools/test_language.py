"""Languages by fastText's model, and paragraphs that quote another one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightjar.tools import language
from nightjar.tools.language import Guess, identify, quotes_another_language

ENGLISH = "The baker on the corner sells bread and rolls every morning to the whole street"
SPANISH = "el panadero de la esquina vende pan y bollos cada mañana"  # ten words


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ENGLISH, "en"),
        (SPANISH, "es"),
        ("Der Bäcker an der Ecke verkauft jeden Morgen Brot", "de"),
        ("O homem suprimido", "pt"),
        ("南京高淳县住房和城乡建设局 城市新区设计", "zh"),
        ("القط نائم على السرير في غرفة النوم", "ar"),
        ("क्या आप मुझे बता सकते हैं कि पुस्तकालय कहाँ है", "hi"),
    ],
)
def test_languages(text: str, code: str) -> None:
    guess = identify(text)
    assert guess.language == code and 0.8 < guess.confidence <= 1
    assert guess.english == (code == "en") and guess.foreign == (code != "en")


def test_the_whole_text_is_read() -> None:
    """The package would read 80 characters by default."""
    assert identify(ENGLISH[:79] + f" {SPANISH}" * 12).language == "es"


def test_the_confidence_must_be_above_the_threshold() -> None:
    assert not Guess("es", 0.8).foreign and Guess("es", 0.80001).foreign
    assert not Guess("en", 0.8).english and not Guess("en", 0.9).foreign


@pytest.mark.parametrize(
    "text", ["", " ", "\n", "12 + 3 = 15", "\x00", "\ud800", "[]->", "é" * 10_000, "a\nb"]
)
def test_any_text_has_a_guess(text: str) -> None:
    assert 0 <= identify(text).confidence <= 1


@pytest.mark.parametrize(
    ("paragraph", "kept"),
    [
        (f"{ENGLISH}: {SPANISH}. {ENGLISH}", True),
        (f"{ENGLISH}: {SPANISH}", False),
        (f"{SPANISH}. {ENGLISH}", False),
        ("", False),
        # Short English on either side.
        (f"They wrote on the wall: {SPANISH}. That is not what we wanted.", True),
        # A chunk of ten tokens is needed.
        (f"{ENGLISH}: el panadero vende pan. {ENGLISH}", False),
        # Digits and symbols are no language.
        (f"{ENGLISH} 1 2 3 4 5 6 7 8 9 10 11 12 {ENGLISH}", False),
        (f"{ENGLISH} → + * / [ ] ( ) § % & = {ENGLISH}", False),
        # A language that is written without blanks.
        (f"The sign said 南京高淳县住房和城乡建设局城市新区设计 in large letters. {ENGLISH}", True),
    ],
)
def test_paragraphs(paragraph: str, kept: bool) -> None:
    assert quotes_another_language(paragraph) is kept


WORDS = st.sampled_from(["one", "uno", "7", "→"])


@given(st.lists(WORDS, max_size=45))
@settings(max_examples=150)
def test_the_rule_by_all_triples_of_chunks(tokens: list[str]) -> None:
    """Against the plain statement of it, with a model that knows two words."""

    def known(text: str) -> Guess:
        words = text.split()
        foreign = words.count("uno") / len(words)
        return Guess("es", foreign) if foreign > 0.5 else Guess("en", words.count("one") / len(words))

    def letters(part: list[str]) -> bool:
        return bool({"one", "uno"} & set(part))

    def english(part: list[str]) -> bool:
        return bool(part) and letters(part) and known(" ".join(part)).english

    def some(part: list[str]) -> bool:
        if len(part) < 10:
            return english(part)
        return any(english(part[start : start + 10]) for start in range(len(part) - 9))

    wanted = any(
        known(" ".join(chunk)).foreign and some(tokens[:start]) and some(tokens[start + 10 :])
        for start in range(len(tokens) - 9)
        if letters(chunk := tokens[start : start + 10])
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language, "identify", known)
        assert quotes_another_language(" ".join(tokens)) is wanted


def test_the_sample_corpus(sample: Path) -> None:
    """The documents that quote a sentence are those that the generator wrote so; the others have English words only."""
    lines = (sample / "corpus" / "documents.jsonl").read_text("utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    found = [text for text in texts if quotes_another_language(text)]
    assert len(found) == 28
    assert all(
        "German" in text or "Spanish" in text or "French" in text or "Portuguese" in text for text in found
    )


def test_real_english_is_rarely_taken_for_another_language(real_data: Path) -> None:
    lines = (real_data / "corpora/wikitext-2/test.txt").read_text("utf-8").splitlines()
    paragraphs = [line for line in lines if len(line) > 300][:200]
    assert sum(map(quotes_another_language, paragraphs)) <= 4
