"""F1 of words, as the public metric code of SQuAD and of ZeroSCROLLS computes it. Values are from 0 to 1.

F1 compares texts in ASCII, as the package Unidecode 1.4.0 writes them, whose licence (GPL) does not allow us to depend
on it. text-unidecode (Artistic License) has the older tables of the same origin. What they lack is added here: unknown
characters become nothing, letter-like signs and mathematical letters are those of Unicode's compatibility forms, and
SIGNS has single ones. Other differences remain for rare characters (docs/zeroscrolls.md).
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from text_unidecode import unidecode

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
# Blocks whose signs are replaced by their compatibility form: superscripts, letter-like signs and fractions, circled
# numbers and letters, bold and other letters of mathematics.
_COMPATIBLE = (range(0x2070, 0x20A0), range(0x2100, 0x2190), range(0x2460, 0x2500), range(0x1D400, 0x1D800))
_UNKNOWN = "[?]"
# What Unidecode writes for signs that the older tables lack or write differently.
SIGNS = {
    **{"¼": " 1/4", "½": " 1/2", "¾": " 3/4", "⅐": " 1/7 ", "⅑": " 1/9 ", "⅒": " 1/10 ", "↉": " 0/3 "},
    **{"Ŋ": "NG", "ŋ": "ng", "Є": "Ie", "Ъ": "'", "ъ": "'", "ẞ": "SS", "ẛ": "S", **dict.fromkeys("ẜẝẟ", "")},
    **{"ͺ": "", "΄": "", "΅": "", "ϴ": "", "ϵ": "", "Ϲ": ""},
    **{"⁇": "??", "⁗": "''''", "\u205f": " ", "⁊": "&", "⁎": "*", "⁒": "%", "⁓": "~", "ₔ": ""},
    **{"₰": "Pf", "₱": "P", "₲": "G", "₳": "A", "₴": "UAH", "₵": "C|", "₶": "L", "₷": "Sm", "₸": "T"},
    **{"₹": "Rs", "₺": "L", "₻": "M", "₼": "m", "₽": "R", "₾": "l", "₿": "BTC"},
    **{
        "℀": " a/c ",
        "℁": " a/s ",
        "℅": " c/o ",
        "℆": " c/u ",
        "№": "No. ",
        "℗": "(p)",
        "℟": "R/",
        "℠": "(sm)",
    },
    **{"™": "(tm)", "℣": "V/", "\u2126": "ohm", "℮": "e", "Ⅎ": "F", "⅍": "A/S", "ⅎ": "F"},
    **dict.fromkeys("ℇℏℵℶℷℸℼℽℾℿ", ""),
    **{"−": "-", "∕": "/", "∖": "\\", "∗": "*", "∣": "|", "∶": ":", "∼": "~"},
    **{"≤": "<=", "≥": ">=", "≦": "<=", "≧": ">=", "⌃": "^"},
    **{
        "\u0589": ":",
        "\u05b0": "",
        "\u05ba": "o",
        "\u05bc": "",
        "\u05be": "-",
        "\u05c3": ".",
        "\u05c6": "n",
        "\u05c7": "o",
    },
    **{"א": "A", "ח": "H", "ט": "T", "ך": "KH", "כ": "KH", "ץ": "TS", "צ": "TS", "ק": "k", "ש": "SH"},
    **{"\u05ef": "YYY", "ױ": "OY", "ײ": "EY"},
    **{"し": "shi", "ち": "chi", "っ": "tsu", "つ": "tsu"},
    **{"シ": "shi", "チ": "chi", "ッ": "tsu", "ツ": "tsu", "・": "*"},
    **{"✱": "*", "❘": "|", "❜": "'", "❝": '"', "❞": '"', "❟": ",", "❠": ",,", "❢": "!"},
}


def normalised(text: str) -> str:
    """The form that F1 compares: lower case, no ASCII punctuation, no articles, single blanks, then in ASCII.

    ASCII comes last: a typographic quotation mark becomes one that stays.
    """
    words = _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION))
    return ascii_text(" ".join(words.split()))


def ascii_text(text: str) -> str:
    """The text in ASCII. A character may become several, or none; ASCII stays as it is."""
    return text if text.isascii() else "".join(map(_ascii, text))


@lru_cache(maxsize=4096)
def _ascii(character: str) -> str:
    if character in SIGNS:
        return SIGNS[character]
    letters = str(unidecode(character))
    letters = "" if letters.strip() == _UNKNOWN else letters
    if not letters and any(ord(character) in block for block in _COMPATIBLE):
        compatible = unicodedata.normalize("NFKC", character)
        return "".join(map(_ascii, compatible)) if compatible != character else ""
    return letters


def published_words(text: str) -> list[str]:
    """The words of the normalised text."""
    return normalised(text).split()


def words(text: str) -> list[str]:
    """The words of the normalised text. Articles and punctuation stay where nothing else is in the text."""
    plain = text.lower()
    return published_words(text) or ascii_text(plain.translate(_PUNCTUATION)).split() or plain.split()


def f1(answer: str, reference: str, words: Callable[[str], list[str]] = published_words) -> float:
    """F1 of the words of both texts as multisets; 0 without a common word, also if both are empty."""
    predicted, gold = words(answer), words(reference)
    common = (Counter(predicted) & Counter(gold)).total()
    return f_measure(common, len(predicted), len(gold))


def f_measure(common: int, predicted: int, gold: int) -> float:
    """The harmonic mean of precision and recall of two sizes that have so much in common; 0 if that is nothing."""
    if not common:
        return 0.0
    precision, recall = common / predicted, common / gold
    return 2 * precision * recall / (precision + recall)
