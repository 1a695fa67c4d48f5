"""Documents: lines, paragraphs, dates, refusals."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core import tables
from nightjar.core.contracts import DOCUMENTS
from nightjar.core.errors import NightjarError
from stages.ingest import corpus
from stages.ingest.corpus import Unit, ingest_corpus, url_date
from stages.ingest.datasets import ingest


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/2023/01/30/story", date(2023, 1, 30)),
        ("https://example.org/2023/1/3", date(2023, 1, 3)),
        ("https://example.org/news-2023-01-30.html", date(2023, 1, 30)),
        ("https://example.org/2023/13/30/", None),
        ("https://example.org/2023/02/29/", None),
        ("https://example.org/2024/02/29/", date(2024, 2, 29)),
        ("https://example.org/2023/02/30/x-2021-05-06", date(2021, 5, 6)),
        ("https://example.org/12023-01-30", None),
        ("https://example.org/2023-01-301", None),
        ("https://example.org/2023/01/301", None),
        ("https://example.org/3023/01/30", None),
        ("https://example.org/2023/01", None),
        ("", None),
    ],
)
def test_url_date(url: str, expected: date | None) -> None:
    assert url_date(url) == expected


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)), st.sampled_from(["/%Y/%m/%d", "-%Y-%m-%d"]))
def test_every_date_is_found(day: date, form: str) -> None:
    assert url_date(f"https://example.org{day.strftime(form)}/page7") == day


def write(path: Path, name: str, lines: list[Any]) -> None:
    path.mkdir(exist_ok=True)
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    (path / name).write_bytes(b"\n".join(texts) + b"\n")


def test_lines(tmp_path: Path) -> None:
    good = {"id": "a", "title": "T", "text": "Some text.", "url": "https://example.org/2020/05/06/"}
    refused = [
        (b'{"id": "x", "text": "cut', "not JSON"),
        ({**good, "id": "b", "text": " \n"}, "text is blank"),
        ({**good, "id": "c", "title": 5}, "title is not a string"),
        (good, "the same id twice"),
        ({"id": "d"}, "no text"),
        (b'{"id": "e", "text": "\xff"}', "not UTF-8"),
        (b'{"id": "f", "text": "1", "text": "2"}', "a duplicate key"),
        (["list"], "not an object"),
        (b'{"id": "g", "text": NaN}', "text is NaN"),
        (b"[" * 5000, "not JSON"),
        ({**good, "id": "last", "text": "\ud800"}, "text is not valid Unicode"),
    ]
    lines = [good, {**good, "id": 7}, {"text": "bare"}, b"", *(line for line, _ in refused)]
    write(tmp_path / "in", "docs.jsonl", lines)
    statistics = ingest("corpus", tmp_path / "in", tmp_path / "out")
    rows = tables.read_rows(tmp_path / "out", DOCUMENTS)
    assert [row["id"] for row in rows] == ["a", "7", "docs.jsonl#3"]
    assert rows[0] == {**good, "dataset": "corpus", "file": "docs.jsonl", "date": date(2020, 5, 6)}
    assert (rows[2]["title"], rows[2]["url"], rows[2]["date"]) == ("", "", None)
    rejected = tables.read_rejected(tmp_path / "out").to_pylist()
    assert [row["reason"].partition(":")[0] for row in rejected] == [reason for _, reason in refused]
    assert json.loads(rejected[3]["raw"]) == good
    assert rejected[5]["raw"] == '{"id": "e", "text": "\\xff"}'
    assert (statistics.rows_in, statistics.rows_out, statistics.rows_rejected) == (14, 3, 11)
    assert statistics.bytes == (tmp_path / "in" / "docs.jsonl").stat().st_size


def test_rows_of_kilt(tmp_path: Path) -> None:
    """A row as https://github.com/facebookresearch/KILT describes it, and one whose paragraphs are none."""
    row = {
        "_id": 290,
        "wikipedia_id": "290",
        "wikipedia_title": "A",
        "text": ["A\n", "A is a letter.\n", "Section::::History.\n"],
        "anchors": [{"text": "letter", "href": "Letter"}],
        "categories": "Vowels",
        "history": {
            "revid": 1,
            "timestamp": "2019-08-01T00:00:00Z",
            "url": "https://en.wikipedia.org/A?oldid=1",
        },
        "wikidata_info": {"description": "letter"},
    }
    write(tmp_path / "in", "kilt.jsonl", [row, {**row, "wikipedia_id": "291", "text": ["A", 1]}])
    assert ingest_corpus(tmp_path / "in", tmp_path / "out").rows_rejected == 1
    (one,) = tables.read_rows(tmp_path / "out", DOCUMENTS)
    assert (one["id"], one["title"], one["url"]) == ("290", "A", "https://en.wikipedia.org/A?oldid=1")
    assert one["text"] == "A\nA is a letter.\nSection::::History." and one["date"] is None
    (lost,) = tables.read_rejected(tmp_path / "out").to_pylist()
    assert (lost["id"], lost["reason"]) == ("291", "text is not a string")


def test_paragraphs(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a book.txt").write_bytes(b"One\nline.\r\n\r\n \n\n  Two.  \n\nThree.")
    (tmp_path / "in" / "b.txt").write_bytes(b"caf\xe9")
    (tmp_path / "in" / "c.txt").write_bytes(b" \n \n")
    (tmp_path / "in" / "other.csv").write_bytes(b"1,2")
    statistics = ingest("corpus", tmp_path / "in", tmp_path / "out")
    rows = tables.read_rows(tmp_path / "out", DOCUMENTS, ["id", "text", "title"])
    assert rows == [
        {"id": f"a book.txt#{n}", "text": text, "title": "a book"}
        for n, text in enumerate(["One\nline.", "Two.", "Three."], 1)
    ]
    assert statistics.reasons == {"not UTF-8": 1, "text is blank": 1} and statistics.files_rejected == 2
    assert statistics.rows_in == 5


def test_an_id_counts_once_over_all_files_and_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "ROWS_PER_PART", 4)
    for name in ("a.jsonl", "b.jsonl"):
        write(tmp_path / "in", name, [{"id": str(n), "text": name} for n in range(9)])
    write(tmp_path / "in", "c.jsonl", [{"id": "c", "text": "x"}] * 3)
    seen: list[tuple[int, int]] = []
    statistics = ingest("corpus", tmp_path / "in", tmp_path / "out", lambda *state: seen.append(state))
    rows = tables.read_rows(tmp_path / "out", DOCUMENTS)
    assert [row["id"] for row in rows] == [*map(str, range(9)), "c"]
    assert {row["file"] for row in rows} == {"a.jsonl", "c.jsonl"}
    assert list(tables.part_rows(tmp_path / "out", DOCUMENTS).values()) == [4, 4, 2]
    assert statistics.reasons == {"the same id twice": 11}
    assert seen[-1][0] == seen[-1][1] == statistics.bytes


def test_real_text(real_data: Path, tmp_path: Path) -> None:
    source = real_data / "corpora" / "wikitext-2"
    statistics = ingest("corpus", source, tmp_path / "out")
    rows = tables.read_rows(tmp_path / "out", DOCUMENTS, ["text"])
    words = [
        word for file in sorted(source.glob("*.txt")) for word in file.read_text(encoding="utf-8").split()
    ]
    assert [word for row in rows for word in row["text"].split()] == words, "every word, in order"
    assert statistics.rows_out == len(rows) and statistics.rows_rejected == 0


def _documents(path: Path) -> list[tuple[str, str]]:
    return [(row["id"], row["text"]) for row in tables.read_rows(path, DOCUMENTS, ["id", "text"])]


def test_parquet(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    made = {"id": [7, None, 9], "text": ["One.", "Two.", " "], "url": ["", None, ""], "more": [1.0, 2.0, 3.0]}
    pq.write_table(pa.table(made), source / "a.parquet")
    pq.write_table(pa.table({"text": pa.array(["Three.", None], pa.large_string())}), source / "b.parquet")
    pq.write_table(pa.table({"body": ["x"]}), source / "c.parquet")
    pq.write_table(pa.table({"text": [b"x"]}), source / "d.parquet")
    (source / "e.parquet").write_bytes(b"PAR1")
    statistics = ingest("corpus", source, tmp_path / "out")
    assert _documents(tmp_path / "out") == [("7", "One."), ("a.parquet#2", "Two."), ("b.parquet#1", "Three.")]
    rejected = tables.read_rejected(tmp_path / "out").to_pylist()
    assert [(row["file"], row["reason"].partition(":")[0]) for row in rejected] == [
        ("a.parquet", "text is blank"),
        ("b.parquet", "text is not a string"),
        ("c.parquet", "no column text"),
        ("d.parquet", "column text is not a string"),
        ("e.parquet", "not readable as Parquet"),
    ]
    assert (statistics.rows_in, statistics.rows_out, statistics.rows_rejected) == (8, 3, 5)
    assert statistics.bytes == sum(file.stat().st_size for file in source.iterdir())


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_the_encoding_is_a_setting(encoding: str, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.txt").write_bytes("Ein Käfer.\n\nEin Löwe.".encode(encoding))
    (source / "b.jsonl").write_bytes('{"text": "Ein Vögelchen."}\n'.encode(encoding))
    (source / "c.txt").write_bytes("Ein Kätzchen.".encode())
    encodings = {"a.*": encoding, "*.jsonl": encoding}
    statistics = ingest("corpus", source, tmp_path / "out", encodings=encodings)
    texts = [text for _, text in _documents(tmp_path / "out")]
    assert texts == ["Ein Käfer.", "Ein Löwe.", "Ein Vögelchen.", "Ein Kätzchen."]
    assert statistics.rows_rejected == 0
    with pytest.raises(NightjarError, match=r"encodings has 'd\.txt', which matches no file"):
        ingest("corpus", source, tmp_path / "out", encodings={"d.txt": "latin-1"})


@pytest.mark.parametrize("unit", ["paragraphs", "lines"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_another_encoding_is_one_clear_line(
    name: str, unit: Unit, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = ["Plain.", "Ein Käfer.", "Ein Löwe."]
    lines = [json.dumps({"text": text}, ensure_ascii=False) if "json" in name else text for text in texts]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes("\n".join(lines).encode("latin-1"))
    (tmp_path / "in" / "b.txt").write_text("Good.")
    ingest_corpus(tmp_path / "in", tmp_path / "out", unit=unit)
    [record] = caplog.records
    fix = f'line 2; set ingest.corpus.encodings to {{"{name}": latin-1}}, or to its encoding'
    assert record.getMessage().endswith(f"not UTF-8: {fix}") and name in record.getMessage()
    reasons = [row["reason"] for row in tables.read_rejected(tmp_path / "out").to_pylist()]
    assert reasons[0] == f"not UTF-8: {fix}"


def test_lines_are_documents(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_bytes(b"\xef\xbb\xbfOne. \r\n\r\nTwo.\n  Three.")
    statistics = ingest_corpus(tmp_path / "in", tmp_path / "out", unit="lines")
    assert _documents(tmp_path / "out") == [("a.txt#1", "One."), ("a.txt#3", "Two."), ("a.txt#4", "Three.")]
    assert statistics.bytes == (tmp_path / "in" / "a.txt").stat().st_size
