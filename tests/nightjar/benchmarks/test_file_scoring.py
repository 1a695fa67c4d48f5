"""Scoring files: the published values, and every way a file can be wrong."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nightjar.benchmarks.file_scoring import compare_files, score_files
from nightjar.core.errors import NightjarError
from tests.nightjar.benchmarks.zeroscrolls.files import put as write


def reference(id: str, texts: list[str], category: str = "Word Analogy", **more: Any) -> dict[str, Any]:
    return {"id": id, "references": texts, "task_id": f"task_{id[0]}", "task_category": category} | more


@pytest.fixture()
def files(tmp_path: Path) -> tuple[Path, Path]:
    references = [
        reference("a1", ["yes"], "Textual Entailment"),
        reference("a2", ["no", "nope"], "Textual Entailment"),
        reference("b1", ["the quick fox"]),
    ]
    predictions = [{"id": "b1", "prediction": "quick foxes"}, {"id": "a1", "prediction": "Yes."}]
    return write(tmp_path / "p.jsonl", predictions), write(tmp_path / "r.jsonl", references)


def test_means_by_hand(files: tuple[Path, Path], tmp_path: Path) -> None:
    details = tmp_path / "details.jsonl"
    result = score_files("supernatinst", *files, details)
    keys = ["benchmark", "tracks", "n", "missing", "metrics", "by_category", "by_task", "intervals"]
    assert list(result) == keys and result["tracks"] == ["default"]
    assert (result["n"], result["missing"]) == (3, 1)
    # b1: fox and foxes share their stem; 2 of 2 and 2 of 3 words match: F = 0.8.
    assert result["metrics"] == {"exact_match": 33.3333, "rouge1": 60.0, "rougeL": 60.0}
    half = {"n": 2, "exact_match": 50.0, "rouge1": 50.0, "rougeL": 50.0}
    assert result["by_task"]["task_a"] == half
    assert result["by_category"]["textual_entailment"] == {"n": 2, "metric": "exact_match", **half}
    assert result["by_category"]["word_analogy"]["metric"] == "exact_match"
    lines = [json.loads(line) for line in details.read_text().splitlines()]
    assert [line["id"] for line in lines] == ["a1", "a2", "b1"]
    assert [line["missing"] for line in lines] == [False, True, False]
    assert lines[2]["rougeL"] == pytest.approx(0.8) and lines[2]["task_id"] == "task_b"


def test_intervals_stand_beside_every_mean(tmp_path: Path) -> None:
    """Of ten right and ten wrong answers: the exact quantiles of the binomial are 0.3 and 0.7."""
    rows = [reference(f"a{number}", ["yes"]) for number in range(20)]
    answers = [{"id": f"a{number}", "prediction": "yes" if number < 10 else "no"} for number in range(20)]
    files = write(tmp_path / "p.jsonl", answers), write(tmp_path / "r.jsonl", rows)
    result = score_files("supernatinst", *files, samples=4000)
    told = result["intervals"]
    assert (told["confidence"], told["samples"]) == (0.95, 4000)
    for ends in (told["metrics"], told["by_category"]["word_analogy"], told["by_task"]["task_a"]):
        assert ends["exact_match"] == pytest.approx([30, 70], abs=5.01)
    assert score_files("supernatinst", *files, samples=4000) == result
    assert "intervals" not in score_files("supernatinst", *files, samples=0)
    write(files[0], answers[1:])
    write(files[1], rows[1:])
    few = score_files("supernatinst", *files)["intervals"]
    for ends in (few["metrics"], few["by_category"]["word_analogy"], few["by_task"]["task_a"]):
        assert ends == {"exact_match": None, "rouge1": None, "rougeL": None}, "19 are too few"


def test_the_published_values_of_the_sample(published: list[dict[str, Any]], tmp_path: Path) -> None:
    """Both tracks in one file, instance by instance and as means, each track's own ones too."""
    cases = {f"{number:03}": case for number, case in enumerate(published)}
    predictions = [{"id": id, "prediction": case["prediction"]} for id, case in cases.items()]
    rows = [
        reference(id, case["references"], task_id=f"t{int(id) % 7}", track=case["track"])
        for id, case in cases.items()
    ]
    files = write(tmp_path / "p.jsonl", predictions), write(tmp_path / "r.jsonl", rows)
    details = tmp_path / "details.jsonl"
    result = score_files("supernatinst", *files, details, samples=0)
    scored = [json.loads(line) for line in details.read_text().splitlines()]
    assert [line["id"] for line in scored] == list(cases)
    by_track = {
        name: [case for case in published if case["track"] == name] for name in ("default", "xlingual")
    }
    for metric in ("exact_match", "rouge1", "rougeL"):
        assert [line[metric] for line in scored] == [case[metric] for case in published]
        assert result["metrics"][metric] == mean(published, metric)
        for track, members in by_track.items():
            assert result["by_track"][track]["metrics"][metric] == mean(members, metric)
        for number in range(7):
            assert result["by_task"][f"t{number}"][metric] == mean(published[number::7], metric)


def mean(cases: list[dict[str, Any]], metric: str) -> float:
    """As the published evaluator rounds it."""
    return round(100 * sum(case[metric] for case in cases) / len(cases), 4)


def test_bad_files(files: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="benchmarks are supernatinst"):
        score_files("sonnets", *files)
    with pytest.raises(NightjarError, match="no such file"):
        score_files("supernatinst", tmp_path / "none", files[1])
    with pytest.raises(NightjarError, match="no such table"):
        score_files("supernatinst", tmp_path, files[1])
    files[1].write_text("\n")
    with pytest.raises(NightjarError, match="no references"):
        score_files("supernatinst", *files)


def test_predictions_in_parquet_need_their_columns(files: tuple[Path, Path], tmp_path: Path) -> None:
    columns = {"task_id": pa.array(["task_a"]), "id": pa.array(["a1"]), "answers": pa.array([["Yes"]])}
    folder = tmp_path / "set/predictions"
    folder.mkdir(parents=True)
    pq.write_table(pa.table(columns), folder / "part.parquet")
    assert score_files("supernatinst", folder.parent, files[1])["missing"] == 2
    pq.write_table(pa.table(columns | {"answers": pa.array(["Yes"])}), folder / "part.parquet")
    with pytest.raises(NightjarError, match=r"set/predictions.*: column answers is string, not list"):
        score_files("supernatinst", folder.parent, files[1])


def test_details_never_replace_a_folder_or_an_input(files: tuple[Path, Path], tmp_path: Path) -> None:
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "file").write_text("kept")
    with pytest.raises(NightjarError, match="a folder"):
        score_files("supernatinst", *files, folder)
    before = files[0].read_text()
    (tmp_path / "link").symlink_to(files[0])
    for name in (files[0], files[1], tmp_path / "precious/../p.jsonl", tmp_path / "link"):
        with pytest.raises(NightjarError, match=r"read by the same command|symbolic link"):
            score_files("supernatinst", *files, name)
    (tmp_path / "null").symlink_to("/dev/null")
    score_files("supernatinst", *files, tmp_path / "null", 0)
    assert (tmp_path / "null").is_char_device() and (tmp_path / "null").is_symlink()
    assert (folder / "file").read_text() == "kept" and files[0].read_text() == before


def test_a_pipe_is_read_once_and_a_device_not_at_all(files: tuple[Path, Path], tmp_path: Path) -> None:
    wanted = score_files("supernatinst", *files, samples=0)
    pipes = [tmp_path / "one", tmp_path / "two"]
    for pipe in pipes:
        os.mkfifo(pipe)
    with ThreadPoolExecutor(2) as pool:
        for pipe, file in zip(pipes, files, strict=True):
            pool.submit(pipe.write_bytes, file.read_bytes())
        assert score_files("supernatinst", *pipes, samples=0) == wanted
    (tmp_path / "zero").symlink_to("/dev/zero")
    for pair in ((tmp_path / "zero", files[1]), (files[0], tmp_path / "zero")):
        with pytest.raises(NightjarError, match="zero: a character device"):
            score_files("supernatinst", *pair)
    with pytest.raises(NightjarError, match="two: this pipe is named twice"):
        score_files("supernatinst", pipes[1], pipes[1])
    with pytest.raises(NightjarError, match="two: this pipe is named twice"):
        compare_files("supernatinst", pipes[1], pipes[1], files[1])


def test_tasks_with_different_metrics(tmp_path: Path) -> None:
    """Each task has its own metric; a text without a likelihood is missing, not infinitely unlikely."""
    texts = [{"task": "wikitext", "id": str(n), "references": ["a text"]} for n in range(3)]
    references = [{"task": "svamp", "id": "0", "references": ["5"]}, *texts]
    predictions = [
        {"task": "svamp", "id": "0", "prediction": "It is 5."},
        {"task": "wikitext", "id": "0", "prediction": "3.0 2"},
        {"task": "wikitext", "id": "2", "prediction": "1.0 2"},
    ]
    paths = write(tmp_path / "p.jsonl", predictions), write(tmp_path / "r.jsonl", references)
    result = score_files("tool_use", *paths, details=tmp_path / "d.jsonl", samples=50)
    assert result["metrics"] == {"svamp": 100.0, "wikitext": 2.7183}
    assert result["missing"] == 1 and result["by_track"]["wikitext"]["metrics"] == {"perplexity": 2.7183}
    details = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    assert details[0]["accuracy"] == 1 and "nll" not in details[0]
    assert (details[1]["nll"], details[1]["tokens"]) == (3, 2) and details[2]["missing"]
    none = write(tmp_path / "none.jsonl", predictions[:1])
    assert score_files("tool_use", none, paths[1], samples=0)["metrics"] == {"svamp": 100.0}
    wrong = write(tmp_path / "wrong.jsonl", [predictions[1] | {"prediction": "likely"}])
    with pytest.raises(NightjarError, match="no log-likelihood"):
        score_files("tool_use", wrong, paths[1])
    compared = compare_files("tool_use", none, paths[0], paths[1], samples=50)
    assert "metrics" in compared


def test_lines_are_numbered_past_blank_ones_and_a_byte_order_mark(files: tuple[Path, Path]) -> None:
    expected = score_files("supernatinst", *files, samples=0)
    files[1].write_bytes(b"\xef\xbb\xbf" + files[1].read_bytes())
    lines = files[0].read_bytes().splitlines()
    escaped = b'{"id": "a\\u0031", "prediction": "Yes.", "note": "\\u0022"}'
    blank = b"\xef\xbb\xbf\n\n" + lines[0] + b"\r\n \n" + escaped
    files[0].write_bytes(blank)
    assert score_files("supernatinst", *files, samples=0) == expected
    for bad in (b'{"id": "a2", "id": "a2"}', b'{"id": "zz", "prediction": ""}', b'{"id": 1e400}', b"\xff"):
        files[0].write_bytes(blank + b"\n\n" + bad)
        with pytest.raises(NightjarError, match=r"p\.jsonl:7: "):
            score_files("supernatinst", *files)
