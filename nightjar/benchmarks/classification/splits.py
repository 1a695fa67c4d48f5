"""The splits of the data sets: train, dev and test; "rest" where a split has a published size and there are more.

Sets without published splits get some of our own, by the checksums of their texts: they depend on no seed and not on
the order of lines. Texts that are equal but for case and blanks are in one split.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, NamedTuple

Split = Literal["train", "dev", "test", "rest"]
# Of the training split, in percent, where no dev split is published.
DEV = 10
# Of all sentences, in percent, in a set with fewer than SMALL times the published test split.
TEST, SMALL = 30, 1.5


@dataclass(frozen=True)
class Sizes:
    """Published numbers of sentences; `train` None: all that do not test."""

    test: int
    train: int | None = None


class Sentence(NamedTuple):
    """A sentence of a published file, with the line that it is on and the name of its label."""

    file: str
    line: int
    text: str
    label: str
    id: str

    @property
    def where(self) -> str:
        """FILE:LINE."""
        return f"{self.file}:{self.line}"


def divide(
    sentences: Sequence[Sentence], sizes: Sizes, train: Sequence[Sentence] | None = None
) -> dict[Split, list[Sentence]]:
    """The splits of a set without published ones, each in the order of the checksums.

    With `train`, published training sentences, the set only tests; a training sentence with the text of a test sentence
    is "rest". The order mixes labels that are in separate files. A set that is too small for `sizes` has TEST percent
    test sentences.
    """
    small = train is None and len(sentences) < SMALL * sizes.test
    tests, others = _taken(_ordered(sentences), len(sentences) * TEST // 100 if small else sizes.test)
    surplus: list[Sentence] = []
    if train is not None:
        tested = {_checksum(it.text) for it in tests}
        surplus, others = others, _ordered(it for it in train if _checksum(it.text) not in tested)
        surplus += [it for it in train if _checksum(it.text) in tested]
    used, untaken = (others, []) if small or sizes.train is None else _taken(others, sizes.train)
    return {"test": tests, **with_dev(used), "rest": surplus + untaken}


def with_dev(train: Sequence[Sentence]) -> dict[Split, list[Sentence]]:
    """The published training split with DEV percent of it as the dev split; both keep the order."""
    chosen = {it.id for it in _taken(_ordered(train), len(train) * DEV // 100)[0]}
    return {
        "train": [it for it in train if it.id not in chosen],
        "dev": [it for it in train if it.id in chosen],
    }


def _ordered(sentences: Iterable[Sentence]) -> list[Sentence]:
    return sorted(sentences, key=lambda it: (_checksum(it.text), it.text, it.where))


def _checksum(text: str) -> bytes:
    return sha256(" ".join(text.casefold().split()).encode()).digest()


def _taken(ordered: Sequence[Sentence], count: int) -> tuple[list[Sentence], list[Sentence]]:
    """The first `count` sentences and the others; equal texts stay together, so that it may be fewer."""
    taken: list[Sentence] = []
    others: list[Sentence] = []
    start = 0
    while start < len(ordered):
        key, end = _checksum(ordered[start].text), start + 1
        while end < len(ordered) and _checksum(ordered[end].text) == key:
            end += 1
        (taken if len(taken) + end - start <= count else others).extend(ordered[start:end])
        start = end
    return taken, others
