"""The history takes lines from many processes at once and is read in spite of broken ones."""

from __future__ import annotations

import json
import multiprocessing
import statistics
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core import harness, history

ROOT = Path(__file__).parents[3]


def written(root: Path, text: str) -> Path:
    file = root / history.HISTORY
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_expected_seconds_are_the_median_of_the_latest_good_runs(tmp_path: Path) -> None:
    for seconds in (100.0, 1.0, 2.0, 9.0, 3.0, 4.0):
        history.append(tmp_path, "a", seconds, "done")
    history.append(tmp_path, "a", 500.0, "failed")
    history.append(tmp_path, "b", 7.0, "done")
    history.append(tmp_path, "b", 8.0, "done")
    history.append(tmp_path, "c", 1.0, "failed")
    assert history.expected(tmp_path) == {"a": statistics.median([1, 2, 9, 3, 4]), "b": 7.5}


def test_no_history_expects_nothing(tmp_path: Path) -> None:
    assert history.expected(tmp_path) == {}
    written(tmp_path, "")
    assert history.expected(tmp_path) == {}


@given(
    torn=st.one_of(
        st.text(max_size=30),
        st.sampled_from(
            ['{"stage": "b", "secon', "[]", "3", '{"stage": "a", "seconds": NaN, "status": "done"}']
        ),
    )
)
def test_a_broken_line_costs_no_other(tmp_path_factory: object, torn: str) -> None:
    root = tmp_path_factory.mktemp("history")  # type: ignore[attr-defined]
    good = json.dumps({"stage": "a", "seconds": 1.5, "status": "done"})
    written(root, f"{good}\n{torn}")
    history.append(root, "a", 2.5, "done")
    assert history.expected(root)["a"] == 2.0


def test_only_the_end_of_a_long_history_is_read(tmp_path: Path) -> None:
    old = json.dumps({"stage": "old", "seconds": 1.0, "status": "done"}) + "\n"
    written(tmp_path, old * (history.READ_BYTES // len(old) + 2))
    for _ in range(history.READ_BYTES // 60):
        history.append(tmp_path, "new", 3.0, "done")
    assert history.expected(tmp_path) == {"new": 3.0}


@pytest.mark.parametrize(("timed", "lines"), [("", 1), ("1", 0)])
def test_a_stage_whose_driver_writes_the_line_writes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timed: str, lines: int
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(history.TIMED, timed)
    monkeypatch.setattr(sys, "argv", ["stages.nothing"])
    (tmp_path / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    harness.main("nothing", lambda stage: None)
    assert list(history.expected(tmp_path)) == ["nothing"] * lines


def _append(root: Path, name: str) -> None:
    for number in range(200):
        history.append(root, name, number, "done")


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_append, args=(tmp_path, name * 50)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(timeout=30)
    lines = (tmp_path / history.HISTORY).read_text().splitlines()
    assert len(lines) == 600
    assert sorted(json.loads(line)["stage"][0] for line in lines) == sorted("abc" * 200)
