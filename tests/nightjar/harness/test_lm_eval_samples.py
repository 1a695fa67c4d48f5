"""Samples of lm-evaluation-harness 0.4.13, of two tiny random models on four tasks of all its output types.

What its own results say is the truth: the files in tests/data/harness/lm_eval are as it wrote them, but for facts of
the machine.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from nightjar.harness import compare_runs, read_run, samples
from nightjar.harness.samples import Subject
from tests.conftest import ROOT

RUNS = ROOT / "tests/data/harness/lm_eval"


def published(run: Path) -> dict[tuple[str, str, str], float]:
    """The numbers in the results of a run, by task, filter and metric."""
    (file,) = run.glob("results_*.json")
    results = json.loads(file.read_text(encoding="utf-8"))["results"]
    return {
        (task, name.partition(",")[2], name.partition(",")[0]): value
        for task, values in results.items()
        for name, value in values.items()
        if "," in name and "stderr" not in name
    }


def sample_file(folder: Path, task: str) -> Path:
    (file,) = folder.glob(f"samples_{task}_*.jsonl")
    return file


def edited(file: Path, output: Path, number: int, **changes: Any) -> Path:
    """A copy of a file of samples with changed keys in one line; None removes a key."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    rows[number] = {key: value for key, value in (rows[number] | changes).items() if value is not None}
    output.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return output


def test_scores_are_those_of_the_harness() -> None:
    result = compare_runs([read_run(RUNS / "tiny"), read_run(RUNS / "other")])
    truth = [published(RUNS / name) for name in ("tiny", "other")]
    numbers = {(row["task"], row["filter"], row["metric"]): row for row in result["scores"]}
    assert numbers.keys() == {key for key in truth[0] if key[2] != "bits_per_byte"}
    assert result["notes"] == ["left out: tiny_loss, bits_per_byte: it is no number of one document"]
    for key, row in numbers.items():
        scale = 100 if row["unit"] else 1
        for name, values in zip(("tiny", "other"), truth, strict=True):
            assert row["values"][name] == pytest.approx(scale * values[key], rel=1e-6), key
    lower = [row for row in result["differences"] if row["metric"] == "perplexity"]
    assert [row["value"] < 0 and row["b_value"] > row["a_value"] for row in lower] == [True]


def test_a_document_that_occurs_twice_is_two_documents() -> None:
    run = read_run(sample_file(RUNS / "tiny", "tiny_choice"))
    rows = run.samples[Subject("tiny_choice", "none")]
    assert len(rows) == 25 == len({row.id for row in rows})
    assert rows[24].id == f"{rows[3].id}#1" and rows[24].content == rows[3].content
    assert rows[0].answer in (" of the", " is in a")


def test_of_several_dates_the_latest_counts(tmp_path: Path) -> None:
    file = sample_file(RUNS / "tiny", "tiny_choice")
    folder = tmp_path / "model"
    folder.mkdir()
    edited(file, folder / "samples_tiny_choice_2020-01-01T00-00-00.000001.jsonl", 0, acc=1.0)
    edited(file, folder / "samples_tiny_choice_2021-01-01T00-00-00.000001.jsonl", 0, acc=0.25)
    run = read_run(tmp_path)
    assert run.samples[Subject("tiny_choice", "none")][0].values["acc"] == 0.25
    assert run.model == tmp_path.name
    (tmp_path / "model2").mkdir()
    edited(file, tmp_path / "model2" / "samples_tiny_choice.jsonl", 0)
    with pytest.raises(NightjarError, match=r"samples of 2 models \(model, model2\); name one of them"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"acc": float("nan")}, "the metric acc is nan, not a finite number"),
        ({"acc": None}, "the metric acc has no value"),
        ({"doc_id": 1}, "the document 1 occurs twice with the filter none"),
        ({"arguments": {}}, "arguments has no request"),
        ({"arguments": {"gen_args_0": {"arg_0": 3}}}, "a request without a prompt"),
        ({"arguments": None}, "no doc_id and arguments"),
    ],
)
def test_broken_lines_are_refused_with_their_place(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    file = edited(sample_file(RUNS / "tiny", "tiny_choice"), tmp_path / "samples_x.jsonl", 2, **changes)
    with pytest.raises(NightjarError) as refused:
        read_run(file)
    assert message in str(refused.value) and f"{file}:3" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "no sample"),
        (b"[1]\n", "not a JSON object"),
        (b'{"doc_id": 1, "doc_id": 2}\n', "the key 'doc_id' occurs twice"),
        (b'{"doc_id": \n', "not JSON"),
        (b"\xff\n", "not UTF-8"),
    ],
)
def test_what_is_no_sample_is_refused(text: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "samples_x.jsonl"
    file.write_bytes(text)
    with pytest.raises(NightjarError, match=message):
        read_run(file)


def test_reading_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "samples_x.jsonl"
    file.write_bytes(b"x" * 2000 + b"\n")
    monkeypatch.setattr(samples, "LONGEST_LINE", 1000)
    with pytest.raises(NightjarError, match="a line of more than"):
        read_run(file)
    monkeypatch.setattr(samples, "MOST_SAMPLES", 10)
    monkeypatch.setattr(samples, "LONGEST_LINE", 100_000)
    with pytest.raises(NightjarError, match="more than 10 samples"):
        read_run(sample_file(RUNS / "tiny", "tiny_choice"))
