"""Questions with their clusters, from a line of the dataset in its current or an older form (DATAFORMAT.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightjar.benchmarks.source_rows import InvalidRow
from nightjar.core.json_text import is_text, not_text, quote_short

Row = Mapping[str, Any]
# Where older forms have their clusters.
OLDER = ("answers-cleaned", "answer-clusters")

# What people assign an answer to that is in no cluster.
NO_CLUSTER = ("invalid", "valid_new_cluster")
# Characters of an answer that are compared.
MOST_CHARACTERS = 50


@dataclass(frozen=True)
class Cluster:
    """Answers that mean the same, and how many people gave one of them."""

    id: str
    count: int | float
    answers: tuple[str, ...]

    def parts(self) -> dict[str, Any]:
        """The cluster as JSON."""
        return {"id": self.id, "count": self.count, "answers": list(self.answers)}


@dataclass(frozen=True)
class DatasetQuestion:
    """A question as the dataset has it; `clusters` is empty for one whose answers are not published.

    `raw` are the answers before cleaning and their counts, None in forms that have none. `remarks` say what is odd.
    """

    id: str
    text: str
    original: str
    source: str
    clusters: tuple[Cluster, ...]
    raw: Mapping[str, int | float] | None
    remarks: tuple[str, ...]

    def parts(self) -> dict[str, Any]:
        """The parts of a record and of a question."""
        parts: dict[str, Any] = {"question": self.text, "original": self.original, "source": self.source}
        parts["clusters"] = [cluster.parts() for cluster in self.clusters]
        if self.raw is not None:
            parts["raw"] = dict(self.raw)
        return parts


def cleaned(answer: str) -> str:
    """An answer as it is compared: lower-case, then cut to 50 characters, then without blanks around it."""
    return answer.lower()[:MOST_CHARACTERS].strip()


def by_count(clusters: Sequence[Cluster]) -> list[Cluster]:
    """The clusters, the largest first; equal ones in their order."""
    return sorted(clusters, key=lambda cluster: -cluster.count)


def best_list(clusters: Sequence[Cluster]) -> tuple[str, ...]:
    """The list that the score is relative to: the first string of each cluster, the largest first (evaluation.py)."""
    return tuple(cluster.answers[0] for cluster in by_count(clusters))


def clusters_of(parts: Mapping[str, Any]) -> tuple[Cluster, ...]:
    """The clusters from the parts of a question."""
    return tuple(Cluster(it["id"], it["count"], tuple(it["answers"])) for it in parts["clusters"])


def parse_question(row: Any) -> DatasetQuestion:
    """The question of a line. Raises InvalidRow if it has no id or no text, or its clusters cannot be used.

    The current form has metadata.id, question.normalized and answers.clusters; older ones have questionid,
    normalized-question, and answers-cleaned or answer-clusters as a list of {count, answers} or as {string: count}.
    """
    _check_object(row)
    id = question_id(row)
    text, original = _texts(row)
    metadata = row.get("metadata")
    source = metadata.get("source", "") if isinstance(metadata, dict) else row.get("source", "")
    clusters = tuple(_clusters(row, id))
    raw = _raw(row)
    remarks = tuple(_remarks(row, clusters, raw))
    return DatasetQuestion(id, text, original, source if is_text(source) else "", clusters, raw, remarks)


def parse_assessments(row: Any) -> tuple[str, dict[str, str]]:
    """The question's id, and the cluster that people assigned each answer to: its id, or one of NO_CLUSTER.

    Raises InvalidRow for another line than {"question_id", "assessments": {answer: cluster id}}.
    """
    _check_object(row)
    id, assessments = row.get("question_id", row.get("question")), row.get("assessments")
    if not is_text(id):
        raise InvalidRow(f"question_id is {not_text(id)}" if id is not None else "no question_id")
    if not isinstance(assessments, dict) or not all(map(is_text, assessments.values())):
        raise InvalidRow("assessments is not an object {answer: cluster id}")
    return id, assessments


def _check_object(row: Any) -> None:
    if not isinstance(row, dict):
        raise InvalidRow("not an object")


def question_id(row: Row) -> str:
    """The id of a question. Raises InvalidRow if it has none."""
    metadata = row.get("metadata")
    value = metadata.get("id") if isinstance(metadata, dict) else None
    if value is None and (value := row.get("questionid")) is None:
        raise InvalidRow("no metadata.id and no questionid")
    return _text(value, "the id")


def _texts(row: Row) -> tuple[str, str]:
    """The normalised question and the original one."""
    question = row.get("question")
    texts = question if isinstance(question, dict) else row
    original = texts.get("original", question if isinstance(question, str) else None)
    for key in ("normalized", "normalized-question"):
        if texts.get(key) is not None:
            text = _text(texts[key], "the question")
            return text, text if original is None else _text(original, "the question", blank=True)
    if original is None:
        raise InvalidRow("no question.normalized and no normalized-question")
    original = _text(original, "the question")
    return original.lower().strip(), original


def _text(value: object, name: str, blank: bool = False) -> str:
    if not is_text(value):
        raise InvalidRow(f"{name} is {not_text(value)}")
    if not value.strip() and not blank:
        raise InvalidRow(f"{name} is blank")
    return value


def _clusters(row: Row, id: str) -> Iterator[Cluster]:
    """The clusters; none of a question whose answers are not published."""
    answers = row.get("answers")
    older = next((key for key in OLDER if key in row), None)
    if isinstance(answers, dict) and isinstance(answers.get("clusters"), dict):
        named = list(answers["clusters"].items())
    elif older:
        named = list(_older(row[older], older, id))
    elif "answers" in row:
        raise InvalidRow("answers has no object clusters")
    else:
        return
    if not named:
        raise InvalidRow("the question has no clusters")
    for name, cluster in named:
        yield _cluster(name, cluster)


def _older(clusters: Any, key: str, id: str) -> Iterator[tuple[str, Any]]:
    """The ids and the clusters of an older form; those without an id are numbered."""
    if isinstance(clusters, list):
        for place, cluster in enumerate(clusters):
            name = cluster.get("clusterid") if isinstance(cluster, dict) else None
            yield name if is_text(name) else f"{id}.{place}", cluster
    elif isinstance(clusters, dict):
        for place, (string, count) in enumerate(clusters.items()):
            yield f"{id}.{place}", {"count": count, "answers": [string]}
    else:
        raise InvalidRow(f"{key} is not a list and not an object")


def _cluster(name: str, cluster: Any) -> Cluster:
    if not isinstance(cluster, dict):
        raise InvalidRow(f"the cluster {quote_short(name)} is not an object")
    count = _count(cluster.get("count"), f"the count of the cluster {quote_short(name)}")
    strings = cluster.get("answers")
    if not isinstance(strings, list) or not strings:
        raise InvalidRow(f"the cluster {quote_short(name)} has no strings")
    for string in strings:
        if not is_text(string):
            raise InvalidRow(f"an answer of the cluster {quote_short(name)} is {not_text(string)}")
    return Cluster(name, count, tuple(dict.fromkeys(strings)))


def _count(count: object, name: str) -> int | float:
    if isinstance(count, bool) or not isinstance(count, int | float) or count != count:
        raise InvalidRow(f"{name} is not a number")
    if not 0 <= count < 2**53:
        raise InvalidRow(f"{name} is {'negative' if count < 0 else 'too large'}")
    return count


def _raw(row: Row) -> dict[str, int | float] | None:
    """The raw answers with their counts."""
    answers = row.get("answers")
    older = row.get("raw-answers-cleaned", row.get("answerstrings"))
    raw = answers.get("raw") if isinstance(answers, dict) else older
    if raw is None:
        return None
    if not isinstance(raw, dict):
        raise InvalidRow("the raw answers are not an object")
    return {
        string: _count(count, f"the count of the raw answer {quote_short(string)}")
        for string, count in raw.items()
    }


def _remarks(row: Row, clusters: Sequence[Cluster], raw: Mapping[str, int | float] | None) -> Iterator[str]:
    """The remarks on a question: peculiarities for which it is not refused."""
    strings = Counter(string for cluster in clusters for string in cluster.answers)
    if any(count > 1 for count in strings.values()):
        yield "a string is in two clusters"
    if any(cluster.count == 0 for cluster in clusters):
        yield "a cluster has the count 0"
    num = row.get("num")
    if clusters and isinstance(num, dict):
        counted = {"answers": sum(cluster.count for cluster in clusters), "clusters": len(clusters)}
        if {key: num.get(key) for key in counted} != counted:
            yield "num differs from the clusters"
    if not clusters or raw is None:
        return
    if raw.keys() - strings.keys():
        yield "raw answers are in no cluster"
    if strings.keys() - raw.keys():
        yield "a string of a cluster is no raw answer"
    if any(
        all(one in raw for one in it.answers) and sum(raw[one] for one in it.answers) != it.count
        for it in clusters
    ):
        yield "the count of a cluster differs from its raw answers"
