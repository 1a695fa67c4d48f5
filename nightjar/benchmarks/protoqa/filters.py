"""Labels for questions that the paper's filters are about: taxonomic ones, stereotypes (appendices C and D), scattered.

The paper's own lists are not published, so the rules for the first two are ours. They label questions; none is left out
by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nightjar.benchmarks.protoqa.answer_clusters import DatasetQuestion, by_count
from nightjar.benchmarks.protoqa.wordnet import WordNet, wordnet

TAXONOMIC, STEREOTYPE, SCATTERED = "taxonomic", "stereotype", "scattered"
# Published: questions are dropped when the 8 largest clusters hold fewer than 85 of 100 answers.
_LARGEST, _PERCENT = 8, 85
MEANINGS = {
    TAXONOMIC: "the question asks for a kind of something, and at least half of its answers, by count, are kinds of it "
    "in WordNet (appendix C of the paper filters such questions)",
    STEREOTYPE: "the question names people by gender (appendix D of the paper filters stereotypes)",
    SCATTERED: f"the {_LARGEST} largest clusters hold fewer than {_PERCENT}% of the raw answers (the paper drops such "
    "questions)",
}
# Words for people by gender. Of the 29 questions that the data set omits as stereotypes, all but one have one.
_GROUPS = """
    bachelor bachelors blonde blondes boy boys boyfriend boyfriends brother brothers bride brides dude dudes female
    females gal gals gentleman gentlemen girl girls girlfriend girlfriends groom grooms guy guys housewife housewives
    husband husbands lad lads ladies lady male males man men mistress sissies sissy sister sisters wife wives woman
    women
"""
GROUPS = frozenset(_GROUPS.split())
# The class that a question asks for follows these words, up to the end of its noun phrase.
_ASKED_FOR = re.compile(
    r"\b(?:name|give me|tell me|what is|what's)\s+(?:a|an|another|a kind of|a type of)\s+([a-z][a-z' -]*)"
)
_END = re.compile(
    r"\b(?:that|which|who|whose|where|when|you|people|with|for|in|on|at|from|of|to|about|used|besides|other|made)\b"
)
# A question is taxonomic if answers of at least so much of its count are kinds of the class.
_SHARE = 0.5
_LONGEST = 3


def labels(question: DatasetQuestion) -> Iterator[str]:
    """The labels of a question.

    `taxonomic`: it asks for a kind of something, such as "name a fruit", and answers with at least half of the count
    are kinds of it in WordNet. `stereotype`: it names people by gender. `scattered`: its 8 largest clusters hold fewer
    than 85% of the raw answers, or of those in clusters where there are no raw answers.
    """
    if _is_taxonomic(question, wordnet()):
        yield TAXONOMIC
    if not GROUPS.isdisjoint(re.findall(r"[a-z]+", question.text.lower())):
        yield STEREOTYPE
    counts = [cluster.count for cluster in by_count(question.clusters)]
    answers = sum(counts if question.raw is None else question.raw.values())
    if counts and 100 * sum(counts[:_LARGEST]) < _PERCENT * answers:
        yield SCATTERED


def _is_taxonomic(question: DatasetQuestion, database: WordNet) -> bool:
    classes = _classes(question.text.lower(), database)
    people = sum(cluster.count for cluster in question.clusters)
    if not classes or not people:
        return False
    kinds = (
        cluster.count
        for cluster in question.clusters
        if any(_is_kind(answer, classes, database) for answer in cluster.answers)
    )
    return sum(kinds) >= _SHARE * people


def _classes(text: str, database: WordNet) -> frozenset[str]:
    """The noun synsets of what a question asks for: of the first words of the noun phrase, together and alone."""
    match = _ASKED_FOR.search(text)
    words = _END.split(match[1])[0].split()[:_LONGEST] if match else []
    ends = ((start, end) for start in range(len(words)) for end in range(start + 1, len(words) + 1))
    return frozenset(synset for start, end in ends for synset in _nouns(words[start:end], database))


def _nouns(words: Sequence[str], database: WordNet) -> list[str]:
    return [synset for synset in database.synsets(" ".join(words)) if synset[0] == "n"]


def _is_kind(answer: str, classes: frozenset[str], database: WordNet) -> bool:
    """Return whether a sense of the answer is below one of the classes."""
    level = set(_nouns(answer.split(), database)) - classes
    while level:
        level = {above for synset in level for above in database.hypernyms(synset)}
        if not level.isdisjoint(classes):
            return True
    return False
