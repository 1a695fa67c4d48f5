"""How far a stage is, by its lines, else by how long it took before."""

from __future__ import annotations

import threading
import time
from uuid import UUID

import pytest

from pipelines.prefect_view import progress


@pytest.mark.parametrize(
    ("line", "share"),
    [
        ("step 5 of 20, loss 1.277", 25.0),
        ("1,200 of 4,800 documents", 25.0),
        ("round 1 of 2: 30 of 40 texts", 75.0),
        ("0 of 10", 0.0),
        ("10 of 10 done", 100.0),
        ("1 of 1 files", None),
        ("12 of 10", None),
        ("version 3.1 of 4", None),
        ("one of many", None),
        ("", None),
    ],
)
def test_what_a_line_says(line: str, share: float | None) -> None:
    assert progress.share(line) == share


def test_a_stage_that_says_nothing_is_as_far_as_the_clock_but_never_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    stage = progress.Progress(expected=50.0)
    assert stage.now() == 0.0
    now = 110.0
    assert stage.now() == pytest.approx(20.0)
    now = 1000.0
    assert stage.now() == progress.MOST
    stage.hear(["nothing", "3 of 4 done", "nothing"])
    assert stage.now() == 75.0
    assert progress.Progress(None).now() == 0.0


@pytest.mark.parametrize(
    ("whole", "ended", "last"),
    [
        (True, "ran", (100.0, None)),
        (False, "failed", (0.0, "a: failed")),
        (False, "stopped", (0.0, "a: stopped")),
    ],
)
def test_the_last_that_is_shown_says_how_the_stage_ended(
    monkeypatch: pytest.MonkeyPatch, whole: bool, ended: str, last: tuple[float, str | None]
) -> None:
    made = threading.Event()
    told: list[tuple[float, str | None]] = []

    def create(**_: object) -> UUID:
        made.set()
        return UUID(int=1)

    def update(artifact_id: UUID, progress: float, description: str | None = None) -> None:
        told.append((progress, description))

    monkeypatch.setattr(progress.watch, "away", lambda: False)
    monkeypatch.setattr(progress, "create_progress_artifact", create)
    monkeypatch.setattr(progress, "update_progress_artifact", update)
    with progress.shown("progress-a", "a", None, interval=0.01) as stage:
        assert made.wait(10)
        stage.whole, stage.ended = whole, ended
    assert told[-1] == last
