"""How many answers ConceptNet connects with their question (Boratko et al. 2020, section 5.1).

A string of a cluster is connected if an edge has a keyword of the question in its head and one of the string in its
tail, or the other way round.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from nightjar.benchmarks.analysis import Progress
from nightjar.benchmarks.protoqa.formats import clusters_of
from nightjar.benchmarks.protoqa.tokens import STOP_WORDS, tokens
from nightjar.benchmarks.protoqa.wordnet import wordnet
from nightjar.benchmarks.question import Question
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import check_input

# Bytes of a line that is read; a longer one is malformed.
_LONGEST = 2**20
# A string: the numbers of its question and of its cluster, and itself.
Place = tuple[int, int, str]
# Words of questions that only ask.
_ASKING = frozenset({"name", "tell", "give", "something", "someone", "someplace", "another"})
FORM = "give ConceptNet's assertions (.csv or .csv.gz), or lines of start TAB relation TAB end"


def coverage(
    questions: Sequence[Question], file: Path, encoder: Path | None, progress: Progress
) -> dict[str, Any]:
    """The share of strings, of clusters with a connected string, and of people who gave an answer of such a cluster.

    Keywords are the words that are not stop words, in lower case, and their base forms in WordNet; words that ask, such
    as "name", are none of a question. The memory needed does not depend on the file. Malformed lines are counted by
    their reason. Raises NightjarError for a file that cannot be read or has no edge of English terms.
    """
    words: dict[str, set[int]] = defaultdict(set)
    nodes: dict[str, set[Place]] = defaultdict(set)
    clusters = {(n, c): one for n, q in enumerate(questions) for c, one in enumerate(clusters_of(q.parts))}
    for number, question in enumerate(questions):
        for form in _keywords(tokens(str(question.parts["question"]).lower())) - _ASKING:
            words[form].add(number)
    for place, cluster in clusters.items():
        for string in cluster.answers:
            for form in _keywords(tokens(string.lower())):
                nodes[form].add((*place, string))
    connected: set[Place] = set()
    known: set[tuple[str, str]] = set()
    counts: Counter[str] = Counter()
    for ends in _edges(file, counts, progress):
        one, other = (_keywords(term.split()) for term in ends)
        for pair in {
            *product(one & words.keys(), other & nodes.keys()),
            *product(other & words.keys(), one & nodes.keys()),
        }:
            if pair not in known:
                known.add(pair)
                connected |= {place for place in nodes[pair[1]] if place[0] in words[pair[0]]}
    if not counts["edges"]:
        raise NightjarError(f"no edge between English terms in {counts['lines']} lines", file, FORM)
    hit = {place[:2] for place in connected}
    sums = {
        "strings": (sum(len(it.answers) for it in clusters.values()), len(connected)),
        "clusters": (len(clusters), len(hit)),
        "people": (sum(it.count for it in clusters.values()), sum(clusters[place].count for place in hit)),
    }
    rows = [
        {"of": name, "n": whole, "connected": part, "share": part / whole if whole else None}
        for name, (whole, part) in sums.items()
    ]
    facts = {name: counts.pop(name, 0) for name in ("lines", "edges", "other languages")}
    return {"rows": rows, **facts, "malformed": dict(counts)}


def _keywords(words: Iterable[str]) -> set[str]:
    return {form for word in words for form in _forms(word)}


@lru_cache(maxsize=2**16)
def _forms(word: str) -> frozenset[str]:
    """A word and its base forms; none of a stop word and of a sign."""
    known = word in STOP_WORDS or not any(map(str.isalnum, word))
    return frozenset() if known else frozenset({word, *wordnet().base_forms(word)})


def _edges(path: Path, counts: Counter[str], progress: Progress) -> Iterator[tuple[str, str]]:
    """The two ends of every edge between English terms; `counts` gets the lines, the edges and what was left out."""
    check_input(path)
    try:
        size = path.stat().st_size
        with path.open("rb") as raw, gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw as file:
            while line := file.readline(_LONGEST):
                counts["lines"] += 1
                if progress and not counts["lines"] % 100_000:
                    progress(raw.tell(), size)
                try:
                    ends = _ends(line)
                    counts["edges" if ends else "other languages"] += 1
                    yield from [ends] if ends else []
                except ValueError as error:
                    counts[str(error)] += 1
                while len(line) == _LONGEST and not line.endswith(b"\n"):
                    line = file.readline(_LONGEST)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise NightjarError("the compressed file is damaged", path, "fetch it again") from None
    except OSError as error:
        raise from_os_error(error, path) or error from None


def _ends(line: bytes) -> tuple[str, str] | None:
    """The ends of a line's edge; None if one is no English term. Raises ValueError with what is malformed."""
    if len(line) == _LONGEST and not line.endswith(b"\n"):
        raise ValueError(f"longer than {_LONGEST:,} bytes")
    fields = line.strip(b"\r\n").split(b"\t")
    if len(fields) not in (3, 5):
        raise ValueError("neither 3 nor 5 fields")
    try:
        texts = [field.decode() for field in (fields[0::2] if len(fields) == 3 else fields[2:4])]
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    start, end = map(_term, texts)
    return (start, end) if start and end else None


def _term(text: str) -> str:
    """The words of a term such as /c/en/ice_cream/n or "ice cream"; empty in another language and for an address."""
    parts = text.split("/") if text.startswith("/c/") else ["", "c", "en", text]
    if len(parts) < 4 or not parts[3].strip("_ "):
        raise ValueError("a term without a text")
    return parts[3].replace("_", " ").strip().lower() if parts[2] == "en" and "://" not in text else ""
