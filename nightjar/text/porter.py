"""Porter's stemmer in the form that rouge_score uses: NLTK's, with NLTK's additions.

Stemming each distinct word once is most of the work of ROUGE over real texts, so this one is made to be quick:
the last letter decides at once that most words stay as they are, suffixes are looked up by their last two
letters, and the letters of a word become consonants and vowels by one translation. The rules of a step are
tried in their published order and only the first whose suffix fits counts, even if its condition fails.
"""

from __future__ import annotations

from collections.abc import Mapping

# Words with forms of their own; the last three and "news" keep an ending that is no suffix there.
_IRREGULAR = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}
# The last letters of all suffixes of all steps: a word that ends in another letter is its own stem.
_ENDINGS = frozenset("cdegilmnrstuy")
_VOWELS = "aeiou"
# Every byte but a vowel is a consonant; y is settled by its neighbour.
_KINDS = str.maketrans({chr(code): "v" if chr(code) in _VOWELS else "c" for code in range(128)} | {"y": "y"})

Rules = Mapping[str, tuple[tuple[str, str], ...]]


def _by_ending(*rules: tuple[str, str]) -> Rules:
    """The rules by the last two letters of their suffix, in their order."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for suffix, replacement in rules:
        groups.setdefault(suffix[-2:], []).append((suffix, replacement))
    return {ending: tuple(chosen) for ending, chosen in groups.items()}


_STEP2 = _by_ending(
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"),
    ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"),
    ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful"), ("logi", "log"),
)  # fmt: skip
_STEP3 = _by_ending(
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP4 = _by_ending(
    *((suffix, "") for suffix in (
        "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism",
        "ate", "iti", "ous", "ive", "ize",
    ))
)  # fmt: skip


def stem(word: str) -> str:
    """The stem of a word of lower-case ASCII letters and digits."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word[-1:] not in _ENDINGS or len(word) <= 2:
        return word
    word = _step1(word)
    word = _step2(word)
    if (rules := _STEP3.get(word[-2:])) is not None:
        word = _apply(word, rules, 0)
    if (rules := _STEP4.get(word[-2:])) is not None:
        word = _step4(word, rules)
    return _step5(word)


def _kinds(word: str) -> str:
    """A "c" or "v" a letter: y is a vowel behind a consonant, and a consonant elsewhere."""
    kinds = word.translate(_KINDS)
    if "y" in kinds:
        settled = ""
        for kind in kinds:
            settled += ("v" if settled[-1:] == "c" else "c") if kind == "y" else kind
        return settled
    return kinds


def _measure(word: str) -> int:
    """The number of vowels that are followed by a consonant."""
    return _kinds(word).count("vc")


def _ends_cvc(kinds: str, word: str) -> bool:
    """Return whether the word ends in a short syllable; a word of a vowel and a consonant counts as one (NLTK)."""
    return (kinds[-3:] == "cvc" and word[-1] not in "wxy") or kinds == "vc"


def _apply(word: str, rules: tuple[tuple[str, str], ...], more_than: int) -> str:
    for suffix, replacement in rules:
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            return base + replacement if _measure(base) > more_than else word
    return word


def _step1(word: str) -> str:
    """Plurals, -ed and -ing, and a final y."""
    last = word[-1]
    if last == "s":
        if word.endswith("ies"):
            word = word[:-1] if len(word) == 4 else word[:-2]
        elif word.endswith("sses"):
            word = word[:-2]
        elif word[-2] != "s":
            word = word[:-1]
        last = word[-1:]
    if last == "d":
        if word.endswith("ied"):
            word = word[:-1] if len(word) == 4 else word[:-2]
        elif word.endswith("eed"):
            word = word[:-1] if _measure(word[:-3]) > 0 else word
        elif word.endswith("ed"):
            word = _without_tense(word, word[:-2])
    elif last == "g" and word.endswith("ing"):
        word = _without_tense(word, word[:-3])
    # NLTK: a y behind a consonant turns into i, unless the consonant is all there is before it.
    if word[-1:] == "y" and len(word) > 2 and _kinds(word[:-1])[-1] == "c":
        word = word[:-1] + "i"
    return word


def _without_tense(word: str, base: str) -> str:
    """`base`, completed, if it has a vowel; else the word as it was."""
    kinds = _kinds(base)
    if "v" not in kinds:
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if kinds[-1] == "c" and base[-2:-1] == base[-1]:
        return base if base[-1] in "lsz" else base[:-1]
    if kinds.count("vc") == 1 and _ends_cvc(kinds, base):
        return base + "e"
    return base


def _step2(word: str) -> str:
    rules = _STEP2.get(word[-2:])
    if rules is None:
        return word
    if word.endswith("alli"):  # NLTK: -ally loses its ending, and what is left is looked at again
        base = word[:-4]
        return _step2(base + "al") if _measure(base) > 0 else word
    if word.endswith("logi"):  # NLTK: the l counts to the stem, so that geology is like archaeology
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _apply(word, rules, 0)


def _step4(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    if word.endswith("ion") and _measure(word[:-3]) > 1:
        return word[:-3] if word[-4] in "st" else word
    return _apply(word, rules, 1) if not word.endswith("ion") else word


def _step5(word: str) -> str:
    """A final e, and the second of two final l."""
    last = word[-1:]
    if last == "e":
        base = word[:-1]
        kinds = _kinds(base)
        measure = kinds.count("vc")
        if measure > 1 or (measure == 1 and not _ends_cvc(kinds, base)):
            word = base
            last = word[-1:]
    if last == "l" and word[-2:] == "ll" and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word
