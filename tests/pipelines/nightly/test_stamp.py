"""The rule that makes up for missed nights once, at every order of due times and stamp."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.nightly import stamp
from pipelines.project import places

NOW = datetime.now(UTC)


def put(root: Path, began: datetime, run: str = "run") -> None:
    stamp.write(root, stamp.Attempt(run=run, began=began))


def test_of_several_late_nights_the_first_to_run_makes_up_for_all(tmp_path: Path) -> None:
    late = [NOW - timedelta(days=days) for days in (3, 2, 1)]
    assert stamp.last(tmp_path) is None
    ran = 0
    for due in late:
        if not stamp.made_up_for(tmp_path, due):
            put(tmp_path, datetime.now(UTC), "first")
            ran += 1
    assert ran == 1
    assert "made up for by first" in stamp.made_up_for(tmp_path, late[-1])
    assert not stamp.made_up_for(tmp_path, datetime.now(UTC) + timedelta(days=1))


def test_an_attempt_is_read_as_it_was_written(tmp_path: Path) -> None:
    put(tmp_path, NOW, "one")
    assert stamp.last(tmp_path) == stamp.Attempt(run="one", began=NOW)
    # As earlier versions wrote it.
    began = "2026-07-01T02:00:03.123456+00:00"
    text = json.dumps({"run": "one", "began": began, "ended": None})
    (tmp_path / places.LAST_NIGHTLY).write_text(text)
    found = stamp.last(tmp_path)
    assert found is not None and found.began == datetime.fromisoformat(began)


def test_a_stamp_of_the_future_keeps_no_night_from_running(tmp_path: Path) -> None:
    put(tmp_path, datetime.now(UTC), "before the clock was put back")
    past = datetime.now(UTC) - timedelta(days=2)
    assert stamp.made_up_for(tmp_path, past - timedelta(days=1), now=past) == ""


@pytest.mark.parametrize("text", ["", "{", "[]", '{"run": 1}', '{"run": "a", "began": "x", "ended": null}'])
def test_a_broken_stamp_keeps_no_night_from_running(tmp_path: Path, text: str) -> None:
    (tmp_path / places.LAST_NIGHTLY).parent.mkdir()
    (tmp_path / places.LAST_NIGHTLY).write_text(text)
    assert stamp.made_up_for(tmp_path, NOW) == ""


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=12))
def test_no_two_runs_make_up_for_the_same_span(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[int, int]]
) -> None:
    """Whatever late runs come in whatever order, each that runs was due after the one before it began."""
    root = tmp_path_factory.mktemp("stamps")
    began: list[datetime] = []
    for due_day, now_day in runs:
        due, now = NOW + timedelta(days=due_day), NOW + timedelta(days=max(due_day, now_day))
        if began:
            now = max(now, began[-1])
        if not stamp.made_up_for(root, due, now):
            put(root, now)
            assert not began or due > began[-1]
            began.append(now)
