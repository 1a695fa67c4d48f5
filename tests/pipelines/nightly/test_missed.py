"""One night replaces those that were missed, at every order of due times and starts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core import paths
from pipelines.nightly.night import superseded

NOW = datetime.now(UTC).replace(microsecond=0)


def put(root: Path, began: datetime) -> None:
    (root / paths.NIGHTLY_LOCK).parent.mkdir(exist_ok=True)
    (root / paths.NIGHTLY_LOCK).write_text(json.dumps({"pid": 1, "since": began.isoformat()}))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"since": 1}', '{"since": "x"}'])
def test_a_night_is_only_replaced_by_one_that_began_since_it_was_due(tmp_path: Path, text: str) -> None:
    put(tmp_path, NOW.astimezone(timezone(timedelta(hours=-9))))
    assert superseded(tmp_path, NOW).endswith(f"by the nightly of {NOW:%Y-%m-%d %H:%M} UTC")
    assert superseded(tmp_path, NOW + timedelta(seconds=1)) == ""
    past = NOW - timedelta(days=2)  # the clock was put back
    assert superseded(tmp_path, past - timedelta(days=1), now=past) == ""
    (tmp_path / paths.NIGHTLY_LOCK).write_text(text)  # damaged
    assert superseded(tmp_path, NOW - timedelta(days=9)) == ""


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=12))
def test_no_two_runs_stand_for_the_same_span(
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
