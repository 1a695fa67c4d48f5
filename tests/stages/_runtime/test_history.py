"""The history takes lines from many processes at once, is read in spite of broken ones, and gives expected seconds."""

from __future__ import annotations

import json
import multiprocessing
import statistics
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from stages._runtime import history
from stages._runtime import stage as harness
from tests.conftest import ROOT
from tests.in_process import captured


def written(root: Path, text: str) -> Path:
    file = root / paths.HISTORY
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def facts(root: Path, stage: str, text: str) -> None:
    file = root / paths.metrics_file(stage)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def ran(root: Path, stage: str, rows: int, *seconds: float) -> None:
    """Runs of a stage that wrote facts with so many rows."""
    facts(root, stage, json.dumps({"rows_in": rows}))
    for each in seconds:
        history.append(root, stage, each)


def test_expected_seconds_are_the_median_of_the_latest_five_runs(tmp_path: Path) -> None:
    for seconds in (100.0, 1.0, 2.0, 9.0, 3.0, 4.0):
        history.append(tmp_path, "a", seconds)
    ran(tmp_path, "b@x", 7, 7.0, 8.0)
    assert history.expected(tmp_path) == {"a": statistics.median([1, 2, 9, 3, 4]), "b@x": 7.5}


@pytest.mark.parametrize(
    ("rows", "seconds"),
    [(100, 11.0), (50, 11.0), (49, None), (200, 11.0), (201, 70.0), (400, 70.0), (801, None), (0, None)],
)
def test_runs_count_with_at_most_twice_or_half_the_rows(
    tmp_path: Path, rows: int, seconds: float | None
) -> None:
    ran(tmp_path, "a", 100, 10.0, 11.0, 12.0)
    ran(tmp_path, "a", 400, 70.0)
    if rows == 200:  # as far from the one as from the others
        seconds = 11.5
    facts(tmp_path, "a", json.dumps({"rows_in": rows}))
    assert history.expected(tmp_path).get("a") == seconds


def test_the_latest_five_are_those_with_about_as_many_rows(tmp_path: Path) -> None:
    ran(tmp_path, "a", 10, 1.0, 2.0, 3.0)
    ran(tmp_path, "a", 1000, *[500.0] * 9)
    facts(tmp_path, "a", '{"rows_in": 11}')
    assert history.expected(tmp_path) == {"a": 2.0}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rows_in": "many"}', '{"rows_in": -1}', "{" * 10_000])
def test_without_readable_facts_the_rows_are_those_of_the_latest_run(tmp_path: Path, text: str) -> None:
    ran(tmp_path, "a", 1000, 500.0)
    ran(tmp_path, "a", 10, 1.0)
    facts(tmp_path, "a", text)
    assert history.expected(tmp_path) == {"a": 1.0}
    (tmp_path / paths.metrics_file("a")).unlink()
    assert history.expected(tmp_path) == {"a": 1.0}


@pytest.mark.parametrize(
    "text", [None, "", '{"stage": "a", "seconds": 60.0, "status": "failed", "ended": 1}']
)
def test_no_history_and_one_of_an_earlier_version_expect_nothing(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        written(tmp_path, text)
    assert history.expected(tmp_path) == {}


@given(
    torn=st.one_of(
        st.text(max_size=30),
        st.sampled_from(
            [
                '{"stage": "b", "secon',
                "[]",
                "3",
                '{"stage": "a", "seconds": NaN, "rows": null}',
                '{"stage": "a", "seconds": 3, "rows": -1}',
                '{"stage": "a\\u0000", "seconds": 3, "rows": 1}',
            ]
        ),
    )
)
def test_a_broken_line_costs_no_other(tmp_path_factory: object, torn: str) -> None:
    root = tmp_path_factory.mktemp("history")  # type: ignore[attr-defined]
    good = json.dumps({"stage": "a", "seconds": 1.5, "rows": None})
    written(root, f"{good}\n{torn}")
    history.append(root, "a", 2.5)
    assert history.expected(root)["a"] == 2.0


def test_only_the_end_of_a_long_history_is_read(tmp_path: Path) -> None:
    old = json.dumps({"stage": "old", "seconds": 1.0, "rows": None}) + "\n"
    written(tmp_path, old * (history.READ_BYTES // len(old) + 2))
    for _ in range(history.READ_BYTES // 60):
        history.append(tmp_path, "new", 3.0)
    assert history.expected(tmp_path) == {"new": 3.0}


@pytest.mark.parametrize(
    ("timed", "error", "lines"),
    [("", None, 1), ("1", None, 0), ("", NightjarError("it is broken", "nothing", "fix it"), 0)],
)
def test_a_stage_writes_a_line_unless_it_fails_or_its_driver_writes_it(
    workdir: Path, monkeypatch: pytest.MonkeyPatch, timed: str, error: Exception | None, lines: int
) -> None:
    def run(stage: harness.StageRun) -> None:
        stage.count(7, 7)
        if error:
            raise error

    monkeypatch.setenv(history.TIMED, timed)
    monkeypatch.setattr(sys, "argv", ["stages.nothing"])
    (workdir / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    done = captured(lambda _: harness.main("nothing", run), [])
    assert done.returncode == (2 if error else 0) and ("it is broken" in done.stderr) == bool(error)
    assert list(history.expected(workdir)) == ["nothing"] * lines
    if lines:
        assert json.loads((workdir / paths.HISTORY).read_text())["rows"] == 7


def _append(root: Path, name: str) -> None:
    for number in range(200):
        history.append(root, name, number)


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_append, args=(tmp_path, name * 50)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(timeout=200)
    lines = (tmp_path / paths.HISTORY).read_text().split("\n")[1:]
    assert len(lines) == 600
    assert sorted(json.loads(line)["stage"][0] for line in lines) == sorted("abc" * 200)
