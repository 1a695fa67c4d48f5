"""The score of an answer of tool_use (Schick et al. 2023, section 4.2): 1 if it is right, 0 if not.

Math: the first number of the answer; if the answer holds an equation, the first number after its "=" (footnote 7). An
equation is an "=" with a number somewhere behind it; of several the first "=" counts. LAMA, TempLAMA and Dateset: a
reference within the first 5 words. Open questions: within the first 20 words. MLQA: within the first 10 words.

The answer to a running text is its log-likelihood, "NLL TOKENS": the sum of -ln p of its tokens, and their number.

What the paper does not say:
- Numbers are compared by value: 51 = 51.0 = 051, and 1,234 = 1234. Nothing is rounded. A minus is a sign if it touches
  the number. Currencies, units and percent signs are not read, nor are numbers in words.
- Of a reference with several numbers, such as "17 (years old); 12 (years old)", the first counts.
- A reference that is a ratio, a time or a fraction (3:4, 11:30, 5/2) is compared with the first number of the answer
  and what ":" or "/" joins to it. A fraction equals its value.
- A math reference without a digit ("Yes" or a name; 56 in ASDiv) is searched within the first 5 words.
- Words are separated by blanks and compared as whole words, without case, punctuation and the commas of thousands:
  "Paris" is in "paris, France", but "us" is not in "Russia". Accents count, as do all marks of a word (`search.words`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from nightjar.benchmarks.question import Question
from nightjar.benchmarks.tool_use.tasks import FACTS, GROUPS, MATH, MULTILINGUAL, OPEN, TEMPORAL, TEXT
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import quote_short
from nightjar.search.words import words
from nightjar.statistics.statistic import Floats

# Words of an answer that are read.
WORDS = {FACTS: 5, OPEN: 20, MULTILINGUAL: 10, TEMPORAL: 5}
# Words of an answer that are searched for a reference without a number, in math.
SHORT_WORDS = 5

_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|(?<!\.)\.[0-9]+"
# It does not begin within a word, such as B12, or within another number.
_FIRST = re.compile(
    rf"(?:(?<![\w).])(?P<sign>[-−])\(?[$€£]?)?(?<![A-Za-z0-9_])(?P<number>{_NUMBER})"
    rf"(?P<joined>(?::(?:{_NUMBER}))+|/(?:{_NUMBER}))?"
)
_LIKELIHOOD = re.compile(r"(?P<nll>[0-9]{1,15}(?:\.[0-9]{1,15})?) (?P<tokens>[0-9]{1,15})")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3})")


def score(questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
    """The parts of the metrics from the first answer of each question, arrays of shape (questions,).

    `accuracy`: 1.0 or 0.0; 0.0 where there is no answer; NaN for a running text. `nll` (nats) and `tokens`: of a
    running text, NaN for other tasks, and where there is no answer. Raises NightjarError for an answer to a
    running text that is no log-likelihood.
    """
    table = np.full((len(questions), 3), np.nan)
    for place, (question, question_answers) in enumerate(zip(questions, answers, strict=True)):
        group = GROUPS[question.task_id]
        if group != TEXT:
            table[place, 0] = bool(question_answers) and _right(question, group, question_answers[0])
        elif question_answers:
            table[place, 1:] = _likelihood(question, question_answers[0])
    return dict(zip(("accuracy", "nll", "tokens"), table.T, strict=True))


def _likelihood(question: Question, answer: str) -> tuple[float, int]:
    match = _LIKELIHOOD.fullmatch(answer.strip())
    if match is None or not int(match["tokens"]):
        what = f"{quote_short(answer)} is no log-likelihood"
        fix = 'answer "NLL TOKENS", such as "5321.08 1510", and leave out what has none'
        raise NightjarError(what, f"{question.task_id} {question.id}", fix)
    return float(match["nll"]), int(match["tokens"])


def _right(question: Question, group: str, answer: str) -> bool:
    if group == MATH:
        return any(_same_number(answer, reference) for reference in question.references)
    return any(has_words(answer, reference, WORDS[group]) for reference in question.references)


def _same_number(answer: str, reference: str) -> bool:
    gold = _FIRST.search(reference)
    if gold is None:
        return has_words(answer, reference, SHORT_WORDS)
    equals = answer.find("=") + 1
    predicted = (_FIRST.search(answer, equals) if equals else None) or _FIRST.search(answer)
    joined = bool(gold["joined"])
    return predicted is not None and _value(predicted, joined) == _value(gold, joined)


def _value(match: re.Match[str], joined: bool) -> tuple[Fraction, ...]:
    """The number, alone or with those joined to it; a fraction is one number."""
    text = match["number"] + ((match["joined"] or "") if joined else "")
    # Through Decimal, which reads numbers of any length.
    first, *others = (Fraction(Decimal(part.replace(",", ""))) for part in re.split("[:/]", text))
    first = -first if match["sign"] else first
    return (first / others[0],) if "/" in text and others[0] else (first, *others)


def has_words(text: str, reference: str, count: int | None = None) -> bool:
    """Return whether the reference is a run of complete words among the first `count` words of a text, or all."""
    words_of_reference = _plain(reference)
    return bool(words_of_reference.strip()) and words_of_reference in _plain(" ".join(text.split()[:count]))


def _plain(text: str) -> str:
    """The runs of letters, digits and marks, one blank around each."""
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text).casefold().replace("_", " "))
    return f" {' '.join(words(plain))} "
