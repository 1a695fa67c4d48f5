"""The analyses of ProtoQA (Boratko et al. 2020): agreement with people (table 4, BLANC), and ConceptNet (section 5.1).

An answer is connected with its question in ConceptNet if an edge has a keyword of the question in its head and one of
the answer in its tail, or the other way round.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nightjar.benchmarks.benchmark import Progress
from nightjar.benchmarks.file_readers import unknown_id
from nightjar.benchmarks.papers import read
from nightjar.benchmarks.protoqa.answer_clusters import NO_CLUSTER, clusters_of
from nightjar.benchmarks.protoqa.encoder_similarity import encoder_similarity
from nightjar.benchmarks.protoqa.formats import REFERENCE, assessments, references
from nightjar.benchmarks.protoqa.metrics import ENCODER, compared
from nightjar.benchmarks.protoqa.similarity import tokens
from nightjar.benchmarks.protoqa.stop_words import STOP_WORDS
from nightjar.benchmarks.protoqa.wordnet import wordnet
from nightjar.benchmarks.question import Question
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import check_input
from nightjar.core.json_text import quote_short
from nightjar.statistics.agreement import blanc

PUBLISHED = read(Path(__file__).with_name("published.toml"))
_FIGURES = ("precision", "recall", "f1")

# The cluster of each answer, None for an answer in none.
Assignment = Sequence[str | None]
# Bytes of a line that is read; a longer one is malformed.
_LONGEST = 2**20
# A string: the numbers of its question and of its cluster, and itself.
Place = tuple[int, int, str]
# Words of questions that only ask.
_ASKING = frozenset({"name", "tell", "give", "something", "someone", "someplace", "another"})
FORM = "give ConceptNet's assertions (.csv or .csv.gz), or lines of start TAB relation TAB end"


class SimilarityAgreement(NamedTuple):
    """Answers that a similarity assigns to a cluster, that people do, and that both assign to the same one."""

    assigned: int
    by_people: int
    same: int

    def figures(self) -> dict[str, float | None]:
        """Precision, recall and F1; None where there is nothing to divide by."""
        precision = self.same / self.assigned if self.assigned else None
        recall = self.same / self.by_people if self.by_people else None
        both = self.assigned + self.by_people
        return dict(zip(_FIGURES, (precision, recall, 2 * self.same / both if both else None), strict=True))


def agreement(pairs: Iterable[tuple[str | None, str | None]]) -> SimilarityAgreement:
    """The counts over answers, each with the cluster that a similarity and that people assign it to."""
    counted = list(pairs)
    assigned = sum(predicted is not None for predicted, _ in counted)
    by_people = sum(annotated is not None for _, annotated in counted)
    return SimilarityAgreement(
        assigned, by_people, sum(predicted == annotated is not None for predicted, annotated in counted)
    )


def assignments(question: Question, answers: Sequence[str], encoder: Path | None) -> dict[str, Assignment]:
    """The cluster of each answer alone by each similarity: the most similar, the first of equals, if above 0.5.

    The encoder similarity assigns as for scores. Answers are cleaned as for scores.
    """
    clusters = clusters_of(question.parts)
    similarity = encoder_similarity(encoder) if encoder else None
    assigned_clusters: dict[str, Assignment] = {}
    for name, (values, rounded) in compared(question, answers, encoder=similarity).items():
        matrix = rounded if name == ENCODER else values
        columns = np.argmax(matrix, axis=1)
        assigned_clusters[name] = [
            clusters[column].id if row[column] > 0.5 else None
            for row, column in zip(matrix, columns, strict=True)
        ]
    return assigned_clusters


def assess(
    questions: Sequence[Question], file: Path, encoder: Path | None, progress: Progress
) -> dict[str, Any]:
    """Table 4: each similarity's assignment of answers to clusters against that of people.

    Over all answers of all questions in the file.
    """
    by_id = {question.id: question for question in questions}
    pairs: dict[str, list[tuple[str | None, str | None]]] = {}
    count = answers = 0
    for where, id, assessed in assessments(file):
        if id not in by_id:
            raise unknown_id(id, where)
        annotated = _by_people(by_id[id], assessed, where)
        for name, predicted in assignments(by_id[id], list(assessed), encoder).items():
            pairs.setdefault(name, []).extend(zip(predicted, annotated, strict=True))
        count, answers = count + 1, answers + len(assessed)
    rows = [_row(name, agreement(cluster_pairs)) for name, cluster_pairs in pairs.items()]
    return {"rows": rows, "questions": count, "answers": answers}


def _by_people(question: Question, assessed: Mapping[str, str], where: str) -> Assignment:
    ids = {cluster.id for cluster in clusters_of(question.parts)}
    for answer, cluster in assessed.items():
        if cluster not in ids and cluster not in NO_CLUSTER:
            names = [quote_short(text) for text in (question.id, cluster, answer)]
            what = "{} has no cluster {}, which {} is assigned to".format(*names)
            fix = f"name a cluster of the references, or {' or '.join(NO_CLUSTER)}"
            raise NightjarError(what, where, fix)
    return [cluster if cluster in ids else None for cluster in assessed.values()]


def _row(name: str, counts: SimilarityAgreement) -> dict[str, Any]:
    published = PUBLISHED.numbers["assessments"].get(name, {})
    beside = {f"published {figure}": published.get(figure) for figure in _FIGURES}
    return {"similarity": name, **counts._asdict(), **counts.figures(), **beside}


def compare_clusterings(
    questions: Sequence[Question], file: Path, encoder: Path | None, progress: Progress
) -> dict[str, Any]:
    """BLANC of the references' clusters and those of another file of the same questions, one row a question.

    Compared are the strings that both clusterings have in one cluster each; the others are counted. `mean` is over the
    questions with two such strings or more, None if there is none.
    """
    by_id = {question.id: question for question in questions}
    rows: dict[str, dict[str, Any]] = {}
    for where, question in references(file):
        if question.id not in by_id:
            raise unknown_id(question.id, where)
        if question.id in rows:
            raise NightjarError(
                f"the id {quote_short(question.id)} occurs twice", where, "give every id once"
            )
        first_clusters, second_clusters = (
            _clusters_of_strings(by_id[question.id]),
            _clusters_of_strings(question),
        )
        both = [
            string
            for string in first_clusters
            if string in second_clusters and first_clusters[string] and second_clusters[string]
        ]
        rows[question.id] = {
            "question": question.id,
            "strings": len(both),
            "left out": len({*first_clusters, *second_clusters}) - len(both),
            "blanc": blanc(
                [first_clusters[string] for string in both], [second_clusters[string] for string in both]
            ),
        }
    if not rows:
        raise NightjarError("no clusterings", file, REFERENCE)
    values = [row["blanc"] for row in rows.values() if row["blanc"] is not None]
    mean = sum(values) / len(values) if values else None
    published = PUBLISHED.numbers["clusterings"]["annotators"]["blanc"]
    facts = {"mean": mean, "questions": len(values), "published mean": published}
    return {"rows": list(rows.values()), **facts, "not compared": len(by_id) - len(values)}


def _clusters_of_strings(question: Question) -> dict[str, str]:
    """The cluster of each string; the empty text for a string that is in several."""
    cluster_names: dict[str, str] = {}
    for cluster in clusters_of(question.parts):
        for string in cluster.answers:
            cluster_names[string] = "" if string in cluster_names else f"in {cluster.id}"
    return cluster_names


def coverage(
    questions: Sequence[Question], file: Path, encoder: Path | None, progress: Progress
) -> dict[str, Any]:
    """The share of strings, of clusters with a connected string, and of people who gave an answer of such a cluster.

    Keywords are the words that are not stop words, in lower case, and their base forms in WordNet; words that ask, such
    as "name", are none of a question. The memory needed does not depend on the file. Malformed lines are counted by
    their reason.
    """
    words: dict[str, set[int]] = defaultdict(set)
    nodes: dict[str, set[Place]] = defaultdict(set)
    clusters = {
        (n, c): cluster for n, q in enumerate(questions) for c, cluster in enumerate(clusters_of(q.parts))
    }
    for number, question in enumerate(questions):
        for form in _keywords(tokens(str(question.parts["question"]).lower())) - _ASKING:
            words[form].add(number)
    for place, cluster in clusters.items():
        for string in cluster.answers:
            for form in _keywords(tokens(string.lower())):
                nodes[form].add((*place, string))
    connected: set[Place] = set()
    seen_pairs: set[tuple[str, str]] = set()
    counts: Counter[str] = Counter()
    for ends in _edges(file, counts, progress):
        head, tail = (_keywords(term.split()) for term in ends)
        for pair in {
            *product(head & words.keys(), tail & nodes.keys()),
            *product(tail & words.keys(), head & nodes.keys()),
        }:
            if pair not in seen_pairs:
                seen_pairs.add(pair)
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
        {"of": name, "n": total, "connected": part, "share": part / total if total else None}
        for name, (total, part) in sums.items()
    ]
    facts = {name: counts.pop(name, 0) for name in ("lines", "edges", "other languages")}
    return {"rows": rows, **facts, "malformed": dict(counts)}


def _keywords(words: Iterable[str]) -> set[str]:
    return {form for word in words for form in _forms(word)}


@lru_cache(maxsize=2**16)
def _forms(word: str) -> frozenset[str]:
    """A word and its base forms; none of a stop word and of a sign."""
    skipped = word in STOP_WORDS or not any(map(str.isalnum, word))
    return frozenset() if skipped else frozenset({word, *wordnet().base_forms(word)})


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
