"""The progress of a stage by its lines, else by how long it took before; messages that are shown late."""

from __future__ import annotations

import time
from uuid import UUID

import pytest

from pipelines.prefect_view import show
from pipelines.prefect_view.show import Progress

FACTS = {"key": "a", "expected": 50.0}


@pytest.fixture()
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(show.time, "monotonic", lambda: now[0])
    return now


def test_a_stage_that_says_nothing_is_as_far_as_the_clock_but_never_done(clock: list[float]) -> None:
    stage = Progress("a", FACTS)
    assert stage.now() == 0.0
    clock[0] = 110.0
    assert stage.now() == pytest.approx(20.0)
    clock[0] = 1000.0
    assert stage.now() == show.MOST
    stage.hear(("nothing", "3 of 4 done", "nothing"))
    assert stage.now() == 75.0
    assert Progress("a", {}).now() == 0.0


@pytest.mark.parametrize(
    ("state", "last"),
    [
        ("ran", (100.0, None)),
        ("restored", (100.0, None)),
        ("failed", (0.0, "a: failed")),
        ("stopped", (0.0, "a: stopped")),
    ],
)
def test_the_last_that_is_shown_says_how_the_stage_ended(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, state: str, last: tuple[float, str | None]
) -> None:
    shown: list[tuple[float, str | None]] = []

    def create(progress: float, key: str, description: str) -> UUID:
        shown.append((progress, f"{key} {description}"))
        return UUID(int=1)

    def update(artifact: UUID, progress: float, description: str | None = None) -> None:
        shown.append((progress, description))

    monkeypatch.setattr(show, "create_progress_artifact", create)
    monkeypatch.setattr(show, "update_progress_artifact", update)
    stage = Progress("a", FACTS)
    stage.show()
    assert shown == [], "a short stage has none"
    clock[0] += 5.0
    stage.show()
    stage.show()
    stage.end(state)
    assert shown == [(10.0, "progress-a a: expected to take 50 s"), last]


def test_a_message_that_is_shown_late_has_its_own_time() -> None:
    assert show._told("1 ran", {"at": time.time()}) == "1 ran"
    assert show._told("1 ran", {"at": 0.0}) == "1 ran (on 1970-01-01 00:00:00 UTC)"
