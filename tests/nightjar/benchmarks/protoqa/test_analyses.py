"""Table 4 and BLANC against counts of single answers and pairs; what is refused, and the command."""

from __future__ import annotations

import json
import random
import subprocess
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.file_scoring import analyse
from nightjar.benchmarks.protoqa.analyses import PUBLISHED, SimilarityAgreement, agreement
from nightjar.core.errors import NightjarError
from pipelines.cli import main
from tests.in_process import captured
from tests.nightjar.benchmarks.protoqa.files import put, row
from tests.tiny_models import sentence_encoder

CLUSTERS = {
    "rain": {"count": 60, "answers": ["rain", "a shower"]},
    "snow": {"count": 40, "answers": ["snow", "snowflake"]},
    "odor": {"count": 10, "answers": ["odor"]},
}


@pytest.fixture()
def references(tmp_path: Path) -> Path:
    return put(tmp_path / "dev.jsonl", [row("q1", **CLUSTERS), row("q2", **CLUSTERS)])


def run(analysis: str, references: Path, rows: list[Any], *more: object) -> subprocess.CompletedProcess[str]:
    file = put(references.parent / "input.jsonl", rows)
    words = ["score", "--benchmark", "protoqa", "--analysis", analysis, "--references", references]
    return captured(lambda given: main(given), [str(word) for word in (*words, "--input", file, *more)])


def analysed(analysis: str, references: Path, rows: list[Any], encoder: Path | None = None) -> dict[str, Any]:
    """The analysis of a file with these rows."""
    return analyse("protoqa", analysis, references, put(references.parent / "input.jsonl", rows), encoder)


def test_published_figures_are_consistent() -> None:
    """F1 of table 4 is that of its precision and recall."""
    for figures in PUBLISHED.numbers["assessments"].values():
        precision, recall, f1 = (figures[name] for name in ("precision", "recall", "f1"))
        assert 2 * precision * recall / (precision + recall) == pytest.approx(f1, abs=6e-4)


@pytest.mark.parametrize("seed", range(5))
def test_figures_are_those_of_single_answers(seed: int) -> None:
    source = random.Random(seed)
    pairs = [(source.choice(["a", "b", None]), source.choice(["a", "b", "c", None])) for _ in range(40)]
    ours = {(number, cluster) for number, (cluster, _) in enumerate(pairs) if cluster}
    theirs = {(number, cluster) for number, (_, cluster) in enumerate(pairs) if cluster}
    precision, recall = len(ours & theirs) / len(ours), len(ours & theirs) / len(theirs)
    expected = {"precision": precision, "recall": recall, "f1": 2 / (1 / precision + 1 / recall)}
    assert agreement(pairs).figures() == pytest.approx(expected)


def test_table_4_of_the_published_assessments(real_data: Path) -> None:
    folder = real_data / "protoqa"
    references, file = folder / "dev.crowdsourced.jsonl", folder / "crowdsource_dev.assessments.jsonl"
    found = analyse("protoqa", "assessments", references, file)
    assert (found["questions"], found["answers"]) == (52, 973)
    rows = {row["similarity"]: (row["assigned"], row["by_people"], row["same"]) for row in found["rows"]}
    assert (rows["exact_match"], rows["wordnet"]) == ((346, 769, 346), (460, 769, 439))


def test_figures_that_are_not_defined() -> None:
    assert agreement([]).figures() == {"precision": None, "recall": None, "f1": None}
    assert agreement([("a", None)]).figures() == {"precision": 0, "recall": None, "f1": 0}
    assert agreement([(None, None), ("a", "b")]) == SimilarityAgreement(1, 1, 0)


def test_table_4_of_made_assessments(references: Path) -> None:
    given = {
        "Rain": "q1.rain",
        "shower": "q1.rain",
        "smell": "q1.odor",
        "snow": "q1.rain",
        "hail": "invalid",
        "": "invalid",
        "x" * 2**20: "valid_new_cluster",
    }
    rows = [
        {"question_id": "q1", "assessments": given},
        {"question_id": "q2", "assessments": {"snow": "q2.snow"}},
    ]
    found = analysed("assessments", references, rows)
    assert (found["questions"], found["answers"]) == (2, 8)
    by_name = {one["similarity"]: one for one in found["rows"]}
    assert list(by_name) == [
        "exact_match",
        "wordnet",
        "longest_common_substring",
        "longest_common_subsequence",
    ]
    # rain and both snows are assigned, of which the first is wrong: people put it to rain.
    exact, wordnet = by_name["exact_match"], by_name["wordnet"]
    assert (exact["assigned"], exact["by_people"], exact["same"]) == (3, 5, 2)
    assert (exact["precision"], exact["recall"], exact["f1"]) == pytest.approx((2 / 3, 2 / 5, 1 / 2))
    # WordNet: shower (without its stop word) and smell too.
    assert (wordnet["assigned"], wordnet["same"]) == (5, 4)
    assert (exact["published precision"], wordnet["published f1"]) == (1.0, 0.734)
    assert by_name["longest_common_substring"]["published f1"] is None


def test_table_4_with_an_encoder(references: Path, tmp_path: Path) -> None:
    rows = [{"question_id": "q1", "assessments": {"rain": "q1.rain", "snow": "invalid", " ": "invalid"}}]
    found = analysed("assessments", references, rows, sentence_encoder(tmp_path))
    (encoder,) = (one for one in found["rows"] if one["similarity"] == "encoder")
    assert [encoder[f"published {name}"] for name in ("precision", "recall", "f1")] == [0.762, 0.661, 0.708]
    assert (encoder["assigned"], encoder["by_people"], encoder["same"]) == (3, 1, 1)


def test_the_table_is_printed_or_json(references: Path) -> None:
    rows = [{"question_id": "q1", "assessments": {"rain": "q1.rain"}}]
    lines = run("assessments", references, rows).stdout.splitlines()
    assert lines[0] == "protoqa, assessments: Similarities against people (table 4)"
    assert any(line.split()[:3] == ["exact_match", "1", "1"] for line in lines)
    assert lines[-2:] == ["questions: 1", "answers: 1"]
    done = run("assessments", references, rows, "--json")
    assert json.loads(done.stdout) == analysed("assessments", references, rows)


def brute_force(one: dict[str, str], other: dict[str, str]) -> float:
    """BLANC from lists of pairs, both of whose kinds occur in both clusterings."""
    values = []
    for kind in (True, False):
        ours, theirs = (
            {pair for pair in combinations(sorted(one), 2) if (it[pair[0]] == it[pair[1]]) == kind}
            for it in (one, other)
        )
        precision, recall = len(ours & theirs) / len(theirs), len(ours & theirs) / len(ours)
        values.append(2 * precision * recall / (precision + recall))
    return sum(values) / 2


def clustered(id: str, **clusters: list[str]) -> dict[str, Any]:
    return row(id, **{name: {"count": 1, "answers": answers} for name, answers in clusters.items()})


def test_blanc_is_that_of_the_pairs(tmp_path: Path) -> None:
    one = {"a": ["1", "2", "3"], "b": ["4", "5"], "c": ["6"], "d": ["only here", "twice"], "e": ["twice"]}
    other = {"x": ["1", "2"], "y": ["3", "4", "5", "6"], "z": ["twice", "only there"]}
    references = put(
        tmp_path / "one.jsonl", [clustered("q1", **one), clustered("q2", **one), clustered("q3", a=["1"])]
    )
    rows = [clustered("q1", **other), clustered("q2", **one), clustered("q3", a=["1"])]
    found = analysed("clusterings", references, rows)
    sides = [
        {string: name for name, strings in it.items() for string in strings if string in "123456"}
        for it in (one, other)
    ]
    expected = brute_force(*sides)
    assert [(it["strings"], it["left out"]) for it in found["rows"]] == [(6, 3), (7, 1), (1, 0)]
    assert found["rows"][0]["blanc"] == pytest.approx(expected)
    assert (found["rows"][1]["blanc"], found["rows"][2]["blanc"]) == (1.0, None)
    assert found["mean"] == pytest.approx((expected + 1) / 2)
    assert (found["questions"], found["not compared"], found["published mean"]) == (2, 1, 0.8317)


@pytest.mark.parametrize(
    ("analysis", "rows", "reason"),
    [
        ("assessments", [{"question_id": "q9", "assessments": {}}], ":1: no reference has the id 'q9'"),
        (
            "assessments",
            [{"question_id": "q1", "assessments": {"x": "q2.rain"}}],
            ":1: 'q1' has no cluster 'q2.rain', which 'x' is assigned to; name a cluster",
        ),
        ("assessments", [{"question_id": "q1", "assessments": {}}] * 2, ":2: the id 'q1' occurs twice"),
        ("assessments", [{"question_id": "q1", "assessments": {"x": 3}}], ":1: assessments is not an object"),
        (
            "assessments",
            ['{"question_id": "q1", "assessments": {"x": "invalid", "x": "invalid"}}'],
            ":1: the key 'x' occurs twice",
        ),
        ("assessments", [], "no assessments"),
        ("clusterings", [row("q9")], ":1: no reference has the id 'q9'"),
        ("clusterings", [row("q1"), row("q1")], ":2: the id 'q1' occurs twice"),
        ("clusterings", [{"metadata": {"id": "q1"}}], ":1: no question.normalized"),
        ("clusterings", [], "no clusterings"),
    ],
)
def test_files_of_an_analysis_that_are_refused(
    references: Path, analysis: str, rows: list[Any], reason: str
) -> None:
    with pytest.raises(NightjarError, match=reason):
        analysed(analysis, references, rows)


def test_unknown_analyses_and_encoders_that_are_not_used(references: Path) -> None:
    unknown = run("clusters", references, [])
    assert unknown.returncode == 2
    assert "protoqa has no analysis of that name; its analyses: assessments, clusterings" in unknown.stderr
    unused = run("clusterings", references, [row("q1")], "--encoder", references.parent)
    assert unused.returncode == 2
    assert "the analysis clusterings uses no encoder" in unused.stderr


def test_the_development_clusters_agree_with_themselves(real_data: Path) -> None:
    file = real_data / "protoqa" / "dev.crowdsourced.jsonl"
    found = analyse("protoqa", "clusterings", file, file)
    assert (found["mean"], found["questions"]) == (1.0, 52)
