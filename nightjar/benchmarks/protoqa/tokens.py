"""The tokens that the WordNet similarity compares: Treebank tokens without stop words (the published scoring.py)."""

from __future__ import annotations

from functools import cache
from typing import Any

# The English stop list of NLTK in 2020 to 2023 (179 words).
_STOP_WORDS = """
    a about above after again against ain all am an and any are aren aren't as at be because been before being
    below between both but by can couldn couldn't d did didn didn't do does doesn doesn't doing don don't down
    during each few for from further had hadn hadn't has hasn hasn't have haven haven't having he her here
    hers herself him himself his how i if in into is isn isn't it it's its itself just ll m ma me mightn
    mightn't more most mustn mustn't my myself needn needn't no nor not now o of off on once only or other our
    ours ourselves out over own re s same shan shan't she she's should should've shouldn shouldn't so some
    such t than that that'll the their theirs them themselves then there these they this those through to too
    under until up ve very was wasn wasn't we were weren weren't what when where which while who whom why will
    with won won't wouldn wouldn't y you you'd you'll you're you've your yours yourself yourselves
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
# Words whose full stop ends no sentence. The published code uses a list that was learnt from a newspaper: it has these
# common abbreviations, and initials of names in the newspaper. "mt." and "univ." are not on it.
_ABBREVIATIONS = """
    a.d a.m ala ariz aug ave bros c calif co col colo conn corp cos ct d d.c dec dr fla fri ft ga gen ill inc j.c
    jan jr kan ky l.a lt ltd m.b.a maj messrs mg mich minn mr mrs ms n.c n.j n.y n.d nev nov oct okla ore p.m pa ph.d
    prof rep reps s.c sen sep sept sr st tenn tues u.k u.n u.s u.s.a u.s.s.r va vs vt w.va wash wed wis
"""
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())


def tokens(text: str) -> tuple[str, ...]:
    """The tokens of a text that are not stop words. Stop words are lower-case, so that "The" remains."""
    splitter = _splitter()
    sentences = _sentences().tokenize(text) if _may_break(text) else [text]
    return tuple(word for one in sentences for word in splitter.tokenize(one) if word not in STOP_WORDS)


def _may_break(text: str) -> bool:
    """Whether a sentence may end before the text does."""
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
    found = PunktSentenceTokenizer()
    found._params = parameters
    return found
