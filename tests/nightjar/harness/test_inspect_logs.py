"""Logs of inspect_ai 0.3.285, of a mock model that answers sums in two epochs: archives, and JSON without events.

The results that the logs have of themselves are the truth.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from nightjar.harness import compare_runs, inspect_logs, read_run
from nightjar.harness.samples import Subject
from tests.conftest import ROOT

LOGS = ROOT / "tests/data/harness/inspect_ai"
SUMS = Subject("sums", "none")


def log(number: int) -> Any:
    return json.loads((LOGS / f"sums-{number}.json").read_text(encoding="utf-8"))


def test_both_forms_have_the_same_samples() -> None:
    archived, plain = (read_run(LOGS / f"sums-1{ending}") for ending in (".eval", ".json"))
    assert archived.samples == plain.samples and archived.model == "mockllm/model"
    assert len(archived.samples[SUMS]) == 48 and {it.repeat for it in archived.samples[SUMS]} == {1, 2}


def test_scores_are_those_of_the_harness_over_epochs() -> None:
    result = compare_runs([read_run(LOGS / "sums-1.eval"), read_run(LOGS / "sums-2.json")])
    numbers = {row["metric"]: row for row in result["scores"]}
    for place, name in enumerate((str(LOGS / "sums-1.eval"), str(LOGS / "sums-2.json")), start=1):
        for score in log(place)["results"]["scores"]:
            metric = score["name"] if score["scorer"] == score["name"] else f"facets/{score['name']}"
            value = next(it["value"] for it in score["metrics"].values())
            scale = 100 if numbers[metric]["unit"] else 1
            assert numbers[metric]["values"][name] == pytest.approx(scale * value, abs=1e-4)
    assert {row["n"] for row in result["scores"]} == {24}


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *[
            ("C", 1.0),
            ("I", 0.0),
            ("P", 0.5),
            ("N", 0.0),
            ("yes", 1.0),
            ("False", 0.0),
            (True, 1.0),
            ("2.5", 2.5),
        ],
        *[(float("nan"), None), ("nan", None), ("maybe", None), ([1], None), (None, None)],
    ],
)
def test_values_are_numbers_as_inspect_makes_them(value: object, number: float | None) -> None:
    assert inspect_logs.number_of(value) == number


def test_a_sample_without_a_score_is_not_compared(tmp_path: Path) -> None:
    record = log(2)
    record["samples"][0]["scores"]["match"]["value"] = float("nan")
    file = tmp_path / "log.json"
    file.write_text(json.dumps(record), encoding="utf-8")
    runs = [read_run(LOGS / "sums-1.eval"), read_run(file)]
    with pytest.raises(NightjarError, match="sums: 1 document without match in some run"):
        compare_runs(runs)
    result = compare_runs(runs, common=True)
    assert {row["metric"]: row["n"] for row in result["scores"]}["match"] == 24  # its other epoch is scored


WHOLE = (LOGS / "sums-1.eval").read_bytes()
# The bytes of a file, or the members of an archive: what the message says.
BROKEN_LOGS: list[tuple[bytes | dict[str, bytes], str]] = [
    (b"PK\x03\x04 and nothing", "not an archive that can be read"),
    (WHOLE[:1500] + b"\x00" * 300 + WHOLE[1800:], "not an archive that can be read"),
    ({"_journal/start.json": b"{}"}, "no header.json: the run has not ended"),
    ({"header.json": b"{}", "summaries.json": bytes(3 << 20)}, "more than 1 MiB"),
    ({"header.json": b'{"eval": {}}', "summaries.json": b"[{]"}, "not JSON"),
    ({"header.json": b'{"eval": {}}', "summaries.json": b"{}"}, "the log has no samples"),
]


@pytest.mark.parametrize(("content", "message"), BROKEN_LOGS, ids=range(len(BROKEN_LOGS)))
def test_what_is_no_log_is_refused(
    content: bytes | dict[str, bytes], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect_logs, "LARGEST_SUMMARIES", 1 << 20)
    file = tmp_path / "log.eval"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, member in content.items():
                archive.writestr(name, member)
    with pytest.raises(NightjarError, match=message):
        read_run(file)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": None}, "no id"),
        ({"id": 2}, "the sample 2 occurs twice in epoch 1"),
        ({"scores": []}, None),
        ({"scores": [1]}, "scores is no object"),
        ({"scores": {"match": 1}}, "the score of match has no value"),
        ({"epoch": "x"}, "the epoch is no number"),
    ],
)
def test_broken_samples_are_refused(changes: dict[str, Any], message: str | None, tmp_path: Path) -> None:
    record = log(1)
    record["samples"][0] |= changes
    file = tmp_path / "log.json"
    file.write_text(json.dumps(record), encoding="utf-8")
    if message is None:
        assert not read_run(file).samples[SUMS][0].values
        return
    with pytest.raises(NightjarError, match=message):
        read_run(file)
