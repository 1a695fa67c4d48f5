"""Similarities of an answer and a string of a cluster (protoqa-evaluator); every similarity is from 0 to 1.

The WordNet similarity compares Treebank tokens without stop words (the published scoring.py).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from nightjar.benchmarks.protoqa.partitions import MOST_TOKENS, Edge, TooManyStates, best_score
from nightjar.benchmarks.protoqa.stop_words import STOP_WORDS
from nightjar.benchmarks.protoqa.wordnet import WordNet, wordnet
from nightjar.core.json_text import quote_short

log = logging.getLogger("nightjar")

Similarity = Callable[[str, str], float]
# Tokens of the longest entry of WordNet 3.0, which are joined by underscores.
_LONGEST_ENTRY = 9
# Words whose full stop ends no sentence. The published code uses a list that was learnt from a newspaper: it has these
# common abbreviations, and initials of names in the newspaper. "mt." and "univ." are not on it.
_ABBREVIATIONS = """
    a.d a.m ala ariz aug ave bros c calif co col colo conn corp cos ct d d.c dec dr fla fri ft ga gen ill inc j.c
    jan jr kan ky l.a lt ltd m.b.a maj messrs mg mich minn mr mrs ms n.c n.j n.y n.d nev nov oct okla ore p.m pa ph.d
    prof rep reps s.c sen sep sept sr st tenn tues u.k u.n u.s u.s.a u.s.s.r va vs vt w.va wash wed wis
"""
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())


def exact_match(answer: str, string: str) -> float:
    """1.0 for equal strings."""
    return float(answer == string)


def longest_common_substring(answer: str, string: str) -> float:
    """The length of the longest common substring by that of the longer string; of two empty strings 1.0.

    The published code divides by zero there.
    """
    longer = max(len(answer), len(string))
    if not longer:
        return 1.0
    match = SequenceMatcher(None, answer, string).find_longest_match(0, len(answer), 0, len(string))
    return match.size / longer


def longest_common_subsequence(answer: str, string: str) -> float:
    """The total length of difflib's matching blocks by that of the longer string, as published; else as above."""
    longer = max(len(answer), len(string))
    if not longer:
        return 1.0
    blocks = SequenceMatcher(None, answer, string).get_matching_blocks()
    return sum(block.size for block in blocks) / longer


def tokens(text: str) -> tuple[str, ...]:
    """The tokens of a text that are not stop words. Stop words are lower-case, so that "The" remains."""
    splitter = _splitter()
    sentences = _sentences().tokenize(text) if _may_break(text) else [text]
    return tuple(word for one in sentences for word in splitter.tokenize(one) if word not in STOP_WORDS)


def _may_break(text: str) -> bool:
    """Return whether a sentence may end before the text does."""
    return any(sign in text for sign in ".?!") and any(sign.isspace() for sign in text)


@cache
def _splitter() -> Any:
    # Here, not above: NLTK takes long to load, and other benchmarks do without it.
    from nltk.tokenize import NLTKWordTokenizer

    return NLTKWordTokenizer()


@cache
def _sentences() -> Any:
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    parameters = PunktParameters()
    parameters.abbrev_types = set(ABBREVIATIONS)
    tokenizer = PunktSentenceTokenizer()
    tokenizer._params = parameters
    return tokenizer


class TokenSpan(NamedTuple):
    """The tokens of a string from `start` to before `end`, joined by blanks, and their synsets."""

    start: int
    end: int
    text: str
    synsets: frozenset[str]


class Parsed(NamedTuple):
    """A string for the WordNet similarity: its tokens, and its spans of one token or with synsets.

    Equal spans of several tokens without synsets are not needed: they match token by token, which gives the same score
    or a larger one. `keys` are the texts of single tokens and all synsets: strings without a
    common key have similarity 0. `limited`: there are too many tokens to compare parts.
    """

    tokens: tuple[str, ...]
    spans: tuple[TokenSpan, ...]
    keys: frozenset[str]
    limited: bool


class WordNetSimilarity:
    """The published WordNet similarity: the best matching over all partitions of both strings into groups of tokens.

    Two groups match if they are equal or have a common synset. A string of more than MOST_TOKENS tokens, which has
    2**20 partitions or more, is compared as a whole: 1.0 for equal tokens, else 0.0. `limited` has the strings for
    which that was done, and each is reported in the log. Results are kept for later calls.
    """

    def __init__(self, database: WordNet) -> None:
        self.database = database
        self.limited: set[str] = set()

    def __call__(self, answer: str, string: str) -> float:
        x, y = self.parsed(answer), self.parsed(string)
        if x.limited or y.limited or x.keys.isdisjoint(y.keys):
            return float(x.tokens == y.tokens)
        return self._score(answer, string)

    @cache  # noqa: B019 - one similarity a process
    def parsed(self, text: str) -> Parsed:
        """The string with its spans."""
        words = tokens(text) or ("",)
        limited = len(words) > MOST_TOKENS
        if limited:
            self._report(text, f"{len(words)} tokens, more than {MOST_TOKENS}: it is compared as a whole")
            return Parsed(words, (), frozenset(), True)
        spans = []
        for start in range(len(words)):
            for end in range(start + 1, min(start + _LONGEST_ENTRY, len(words)) + 1):
                group = " ".join(words[start:end])
                synsets = frozenset(self.database.synsets(group))
                if synsets or end == start + 1:
                    spans.append(TokenSpan(start, end, group, synsets))
        keys = frozenset().union(words, *(span.synsets for span in spans))
        return Parsed(words, tuple(spans), keys, False)

    @cache  # noqa: B019
    def _score(self, answer: str, string: str) -> float:
        x, y = self.parsed(answer), self.parsed(string)
        # The search wants the shorter string second.
        long, short = (y, x) if len(x.tokens) < len(y.tokens) else (x, y)
        edges = [
            Edge(one.start, one.end, (1 << other.end) - (1 << other.start))
            for one, other in product(long.spans, short.spans)
            if one.text == other.text or not one.synsets.isdisjoint(other.synsets)
        ]
        try:
            return best_score(len(long.tokens), len(short.tokens), edges)
        except TooManyStates as error:
            what = (
                f"too many ways to match {quote_short(string)}: the similarity is at least {error.best:.3f}"
            )
            self._report(answer, what)
            return error.best

    def _report(self, text: str, what: str) -> None:
        if text not in self.limited:
            self.limited.add(text)
            log.warning("warning: %s: %s", quote_short(text), what)


@cache
def wordnet_similarity() -> WordNetSimilarity:
    """The WordNet similarity with this machine's WordNet."""
    return WordNetSimilarity(wordnet())


# What makes each similarity. Scores round them half to even: above 0.5 they are 1.0, else 0.0 (evaluation.py).
SIMILARITIES: Mapping[str, Callable[[], Similarity]] = {
    "exact_match": lambda: exact_match,
    "wordnet": wordnet_similarity,
    "longest_common_substring": lambda: longest_common_substring,
    "longest_common_subsequence": lambda: longest_common_subsequence,
}
