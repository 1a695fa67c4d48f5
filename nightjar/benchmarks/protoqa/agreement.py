"""Agreement with people: of the similarities with assessed answers (table 4), and of two clusterings (BLANC)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nightjar.benchmarks.analysis import Progress
from nightjar.benchmarks.protoqa.encoder import encoder_similarity
from nightjar.benchmarks.protoqa.formats import NO_CLUSTER, cleaned, clusters_of
from nightjar.benchmarks.protoqa.readers import REFERENCE, assessments, references
from nightjar.benchmarks.protoqa.scoring import ENCODER, similarities
from nightjar.benchmarks.protoqa.similarity import SIMILARITIES
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.readers import unknown_id
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import shown
from nightjar.statistics.agreement import blanc

# Precision, recall and F1 of table 4, and the mean BLANC of two annotators (Boratko et al. 2020).
# The paper's encoder is RoBERTa.
TABLE_4 = {
    "exact_match": (1.0, 0.466, 0.636),
    "wordnet": (0.996, 0.581, 0.734),
    ENCODER: (0.762, 0.661, 0.708),
}
PUBLISHED_BLANC = 0.8317
_FIGURES = ("precision", "recall", "f1")

# The cluster of each answer; None: it is in none.
Assignment = Sequence[str | None]


class Agreement(NamedTuple):
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


def agreement(pairs: Iterable[tuple[str | None, str | None]]) -> Agreement:
    """The counts over answers, each with the cluster that a similarity and that people assign it to."""
    counted = list(pairs)
    assigned = sum(ours is not None for ours, _ in counted)
    by_people = sum(theirs is not None for _, theirs in counted)
    return Agreement(assigned, by_people, sum(ours == theirs is not None for ours, theirs in counted))


def assignments(question: Question, answers: Sequence[str], encoder: Path | None) -> dict[str, Assignment]:
    """The cluster of each answer alone by each similarity: the most similar, the first of equals, if above 0.5.

    By the encoder similarity, the most probable. Answers are cleaned as for scores.
    """
    clusters, texts = clusters_of(question.parts), list(map(cleaned, answers))
    matrices = {name: similarities(texts, clusters, kind.raw()) for name, kind in SIMILARITIES.items()}
    least = dict.fromkeys(matrices, 0.5)
    if encoder is not None:
        similarity = encoder_similarity(encoder)
        matrices[ENCODER] = similarity.probabilities(question, texts)
        least[ENCODER] = similarity.least
    return {
        name: [
            clusters[column].id if row[column] > least[name] else None
            for row, column in zip(matrix, np.argmax(matrix, axis=1), strict=True)
        ]
        for name, matrix in matrices.items()
    }


def assess(
    questions: Sequence[Question], file: Path, encoder: Path | None, progress: Progress
) -> dict[str, Any]:
    """Table 4: each similarity's assignment of answers to clusters against that of people.

    Over all answers of all questions in the file. Raises NightjarError for a question or a cluster that the references
    do not have.
    """
    known = {question.id: question for question in questions}
    pairs: dict[str, list[tuple[str | None, str | None]]] = {}
    count = answers = 0
    for where, id, given in assessments(file):
        if id not in known:
            raise unknown_id(id, where)
        theirs = _by_people(known[id], given, where)
        for name, ours in assignments(known[id], list(given), encoder).items():
            pairs.setdefault(name, []).extend(zip(ours, theirs, strict=True))
        count, answers = count + 1, answers + len(given)
    rows = [_row(name, agreement(found)) for name, found in pairs.items()]
    return {"rows": rows, "questions": count, "answers": answers}


def _by_people(question: Question, given: Mapping[str, str], where: str) -> Assignment:
    ids = {cluster.id for cluster in clusters_of(question.parts)}
    for answer, cluster in given.items():
        if cluster not in ids and cluster not in NO_CLUSTER:
            what = (
                f"{shown(question.id)} has no cluster {shown(cluster)}, which {shown(answer)} is assigned to"
            )
            fix = f"name a cluster of the references, or {' or '.join(NO_CLUSTER)}"
            raise NightjarError(what, where, fix)
    return [cluster if cluster in ids else None for cluster in given.values()]


def _row(name: str, found: Agreement) -> dict[str, Any]:
    published = TABLE_4.get(name, (None, None, None))
    beside = {f"published {figure}": value for figure, value in zip(_FIGURES, published, strict=True)}
    return {"similarity": name, **found._asdict(), **found.figures(), **beside}


def compare_clusterings(
    questions: Sequence[Question], file: Path, encoder: Path | None, progress: Progress
) -> dict[str, Any]:
    """BLANC of the references' clusters and those of another file of the same questions, one row a question.

    Compared are the strings that both clusterings have in one cluster each; the others are counted. `mean` is over the
    questions with two such strings or more, None if there is none. Raises NightjarError for an unknown question.
    """
    known = {question.id: question for question in questions}
    rows: dict[str, dict[str, Any]] = {}
    for where, other in references(file):
        if other.id not in known:
            raise unknown_id(other.id, where)
        if other.id in rows:
            raise NightjarError(f"the id {shown(other.id)} occurs twice", where, "give every id once")
        one, two = _clusters_of_strings(known[other.id]), _clusters_of_strings(other)
        both = [string for string in one if string in two and one[string] and two[string]]
        found = blanc([one[string] for string in both], [two[string] for string in both])
        rows[other.id] = {
            "question": other.id,
            "strings": len(both),
            "left out": len({*one, *two}) - len(both),
        }
        rows[other.id] |= {"blanc": None if found is None else found.value}
    if not rows:
        raise NightjarError("no clusterings", file, REFERENCE)
    values = [row["blanc"] for row in rows.values() if row["blanc"] is not None]
    mean = sum(values) / len(values) if values else None
    facts = {"mean": mean, "questions": len(values), "published mean": PUBLISHED_BLANC}
    return {"rows": list(rows.values()), **facts, "not compared": len(known) - len(values)}


def _clusters_of_strings(question: Question) -> dict[str, str]:
    """The cluster of each string; the empty text for a string that is in several."""
    found: dict[str, str] = {}
    for cluster in clusters_of(question.parts):
        for string in cluster.answers:
            found[string] = "" if string in found else f"in {cluster.id}"
    return found
