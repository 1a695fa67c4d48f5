"""ConceptNet coverage of made clusters, in both forms of files, against a count by hand."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from nightjar.benchmarks.file_scoring import analyse
from nightjar.core.errors import NightjarError
from tests.nightjar.benchmarks.protoqa.files import put, row

# The question is "name something that falls from the sky."
CLUSTERS = {
    "rain": {"count": 60, "answers": ["rain", "a rain shower"]},
    "snow": {"count": 30, "answers": ["snowflakes", "Snow"]},
    "star": {"count": 10, "answers": ["stars"]},
}
EDGES = [
    ("rain", "RelatedTo", "fall"),
    ("sky", "RelatedTo", "snowflake"),
    ("rain_shower", "IsA", "weather"),
    ("star", "AtLocation", "night"),
    ("the", "RelatedTo", "rain"),
    ("something", "RelatedTo", "stars"),
]


def uri(term: str) -> str:
    return f"/c/en/{term}"


def assertion(start: str, relation: str, end: str) -> str:
    return "\t".join((f"/a/[/r/{relation}/,{start}/,{end}/]", f"/r/{relation}", start, end, "{}"))


@pytest.fixture()
def references(tmp_path: Path) -> Path:
    return put(tmp_path / "dev.jsonl", [row("q1", **CLUSTERS)])


def write(path: Path, form: str) -> Path:
    lines = ["\t".join(edge) for edge in EDGES]
    if form != "tsv":
        lines = [assertion(uri(start), relation, uri(end) + "/n/wn/event") for start, relation, end in EDGES]
        lines.append(assertion("/c/de/schnee", "Synonym", uri("snow")))
        lines.append(assertion(uri("rain"), "ExternalURL", "http://example.org/rain"))
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["edges.tsv", "assertions.csv", "assertions.csv.gz"])
def test_coverage(references: Path, tmp_path: Path, name: str) -> None:
    file = write(tmp_path / name, "tsv" if name.endswith("tsv") else "csv")
    found = analyse("protoqa", "concept_net", references, file)
    rows = {one["of"]: (one["n"], one["connected"]) for one in found["rows"]}
    # Both strings with rain by falls (fall), snowflakes by sky (snowflake); no edge leads from the question to others.
    assert rows == {"strings": (5, 3), "clusters": (3, 2), "people": (100, 90)}
    assert [one["share"] for one in found["rows"]] == pytest.approx([0.6, 2 / 3, 0.9])
    assert found["edges"] == 6
    assert found["other languages"] == (0 if name.endswith("tsv") else 2)
    assert found["malformed"] == {}


@pytest.mark.parametrize(
    ("start", "end", "connected"),
    [
        ("leaving for work", "take a shower", 1),
        ("showering", "get ready to go to work", 1),
        ("go to work", "wear clothes", 0),
        ("work", "leave", 0),
        ("bathroom", "shower", 0),
        ("take", "people", 1),
        ("name something", "take a shower", 0),
    ],
)
def test_keywords_of_the_question_in_one_end_and_of_the_answer_in_the_other(
    tmp_path: Path, start: str, end: str, connected: int
) -> None:
    """The paper's rule (section 5.1): in the head and the tail, or the other way round."""
    asked = row("q1", **{"a": {"count": 1, "answers": ["take a shower"]}})
    asked["question"]["normalized"] = "name something people do before they leave for work."
    references = put(tmp_path / "dev.jsonl", [asked])
    file = tmp_path / "edges.tsv"
    file.write_text(f"{start}\tHasPrerequisite\t{end}\n")
    found = analyse("protoqa", "concept_net", references, file)
    assert found["rows"][0]["connected"] == connected


def test_an_edge_counts_for_its_own_question_only(tmp_path: Path) -> None:
    other = row("q2", **{"a": {"count": 1, "answers": ["rain"]}, "b": {"count": 1, "answers": ["x"]}})
    other["question"]["normalized"] = "name something that is wet"
    references = put(tmp_path / "dev.jsonl", [row("q1", **CLUSTERS), other])
    file = tmp_path / "edges.tsv"
    file.write_text("wet\tRelatedTo\train\n")
    found = analyse("protoqa", "concept_net", references, file)
    assert [one["connected"] for one in found["rows"]] == [1, 1, 1]


def test_malformed_lines_are_counted_by_their_reason(references: Path, tmp_path: Path) -> None:
    file = tmp_path / "edges.tsv"
    good = b"rain\tRelatedTo\tfall"
    bad = [
        b"",
        b"a\tb",
        b"\xff\tx\ty",
        b"x\ty\t ",
        b"/c/en\tx\ty",
        b"x" * 5 * 2**19 + b"\tx\ty",
        b"x\t" * 2**19,
    ]
    file.write_bytes(b"\r\n".join([*bad, good]))
    found = analyse("protoqa", "concept_net", references, file)
    assert (found["lines"], found["edges"]) == (8, 1)
    assert found["malformed"] == {
        "neither 3 nor 5 fields": 2,
        "not UTF-8": 1,
        "a term without a text": 2,
        "longer than 1,048,576 bytes": 2,
    }
    assert found["rows"][1]["connected"] == 1


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("edges.tsv", b"", "no edge between English terms in 0 lines"),
        ("edges.tsv", b"a b c\n", "no edge between English terms in 1 lines"),
        ("edges.csv.gz", b"a\tb\tc\n", "the compressed file is damaged"),
        ("edges.csv.gz", gzip.compress(b"a\tb\tc\n" * 99, mtime=0)[:-9], "the compressed file is damaged"),
    ],
)
def test_bad_files(references: Path, tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(NightjarError, match=reason):
        analyse("protoqa", "concept_net", references, tmp_path / name)
