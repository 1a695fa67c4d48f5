"""The rule that makes up for missed nights once, at every order of due times and starts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core import paths
from pipelines.nightly.run import superseded
from pipelines.process import lock

NOW = datetime.now(UTC).replace(microsecond=0)


def put(root: Path, began: datetime) -> None:
    (root / paths.NIGHTLY_LOCK).parent.mkdir(exist_ok=True)
    (root / paths.NIGHTLY_LOCK).write_text(json.dumps({"pid": 1, "since": began.isoformat()}))


def test_of_several_late_nights_the_first_to_run_makes_up_for_all(tmp_path: Path) -> None:
    late = [NOW - timedelta(days=days) for days in (3, 2, 1)]
    ran = 0
    for due in late:
        if not superseded(tmp_path, due):
            with lock.locked(tmp_path, paths.NIGHTLY_LOCK, "a nightly"):
                ran += 1
    assert ran == 1
    assert "replaced by the nightly of " in superseded(tmp_path, late[-1])
    assert not superseded(tmp_path, datetime.now(UTC) + timedelta(days=1))


def test_a_start_is_compared_whatever_its_time_zone(tmp_path: Path) -> None:
    put(tmp_path, NOW.astimezone(timezone(timedelta(hours=-9))))
    assert superseded(tmp_path, NOW).endswith(f"by the nightly of {NOW:%Y-%m-%d %H:%M} UTC")
    assert superseded(tmp_path, NOW + timedelta(seconds=1)) == ""


def test_a_start_in_the_future_keeps_no_night_from_running(tmp_path: Path) -> None:
    put(tmp_path, datetime.now(UTC))  # before the clock was put back
    past = datetime.now(UTC) - timedelta(days=2)
    assert superseded(tmp_path, past - timedelta(days=1), now=past) == ""


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"since": 1}', '{"since": "x"}'])
def test_a_broken_lock_file_keeps_no_night_from_running(tmp_path: Path, text: str) -> None:
    (tmp_path / paths.NIGHTLY_LOCK).parent.mkdir()
    (tmp_path / paths.NIGHTLY_LOCK).write_text(text)
    assert superseded(tmp_path, NOW - timedelta(days=9)) == ""


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=12))
def test_no_two_runs_make_up_for_the_same_span(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[int, int]]
) -> None:
    """Whatever late runs come in whatever order, each that runs was due after the one before it began."""
    root = tmp_path_factory.mktemp("missed")
    began: list[datetime] = []
    for due_day, now_day in runs:
        due, now = NOW + timedelta(days=due_day), NOW + timedelta(days=max(due_day, now_day))
        if began:
            now = max(now, began[-1])
        if not superseded(root, due, now):
            put(root, now)
            assert not began or due > began[-1]
            began.append(now)
