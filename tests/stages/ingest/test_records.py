"""The dataset of a card that reads its own files: every row is kept or refused with a reason."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.registry import load_benchmark
from nightjar.core.contracts import RECORDS
from nightjar.core.errors import NightjarError
from nightjar.core.tables import read_rejected, read_rows
from stages.ingest.datasets import ingest_records
from tests.made_benchmark import BENCHMARK, changed

RECORD = Record("sums", "1", "sums.json", {"question": "1 + 1?"}, ("2",), category="math")


def reading(*found: Record | Refused) -> Benchmark:
    def load(path: Path) -> Iterator[Record | Refused]:
        yield from found

    return changed(load_benchmark("supernatinst"), name="made", load=load)


def test_rows_in_are_rows_out_and_refused(tmp_path: Path) -> None:
    again, other = replace(RECORD, parts={"question": "again"}), replace(RECORD, task_id="words")
    bad = Refused("words.json", "no answer", '{"q": 1}', "9")
    numbers = ingest_records(reading(RECORD, again, bad, other), tmp_path, tmp_path / "out")
    assert (numbers.rows_in, numbers.rows_out, numbers.rows_rejected, numbers.tasks) == (4, 2, 2, 2)
    rows = read_rows(tmp_path / "out", RECORDS)
    assert [(row["task_id"], row["id"], json.loads(row["parts"])) for row in rows] == [
        ("sums", "1", {"question": "1 + 1?"}),
        ("words", "1", {"question": "1 + 1?"}),
    ]
    assert {row["dataset"] for row in rows} == {"made"} and rows[0]["references"] == ["2"]
    refused = read_rejected(tmp_path / "out").to_pylist()
    assert [(row["reason"], row["id"]) for row in refused] == [("the same id twice", "1"), ("no answer", "9")]


def test_what_cannot_be_ingested(tmp_path: Path) -> None:
    for made, folder, what in (
        (reading(RECORD), tmp_path / "none", "no such folder"),
        (reading(), tmp_path, "nothing in it can be used"),
        (reading(Refused("f", "bad", "raw")), tmp_path, "nothing in it can be used .*first f: bad"),
        (changed(BENCHMARK, name="made"), tmp_path, "made has no files of its own"),
    ):
        with pytest.raises(NightjarError, match=what):
            ingest_records(made, folder, tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_encodings_are_for_cards_that_take_them(tmp_path: Path) -> None:
    encodings = {"*.pos": "latin-1"}
    with pytest.raises(
        NightjarError, match=r"ingest.made.encodings: made reads its files in one encoding; remove"
    ):
        ingest_records(reading(RECORD), tmp_path, tmp_path / "out", None, encodings)
    asked = []

    def load(path: Path, encodings: Mapping[str, str]) -> Iterator[Record | Refused]:
        asked.append(encodings)
        yield RECORD

    made = changed(reading(), load_encoded=load)
    assert ingest_records(made, tmp_path, tmp_path / "out", None, encodings).rows_out == 1
    assert asked == [encodings]
