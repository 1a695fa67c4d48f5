"""A run's record is kept until the server knows how the run ended, whatever goes wrong on the way."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.prefect_view import record


def lay(folder: Path, **changes: Any) -> Path:
    """The record of a run whose process is no more, with `changes`."""
    run = str(uuid.uuid4())
    facts = {"run": run, "name": "quick-owl", "told": False, "owner": 1, "owner_started": "gone"}
    path = folder / record.FOLDER / f"{run}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts | {"state": None, "tasks": []} | changes))
    return path


@pytest.fixture()
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """What the server's client raises."""
    raised: list[Exception] = []

    class Client:
        def read_flow_run(self, run: uuid.UUID) -> Any:
            raise raised[0]

    @contextlib.contextmanager
    def client(sync_client: bool) -> Iterator[Client]:
        yield Client()

    monkeypatch.setattr(record, "get_client", client)
    monkeypatch.setattr(record.watch, "away", lambda: False)
    return raised


@pytest.mark.parametrize("error", [OSError("reset"), ValueError("an answer of another version")])
def test_a_record_is_kept_if_the_server_cannot_be_told(
    tmp_path: Path, answers: list[Exception], error: Exception
) -> None:
    path = lay(tmp_path)
    answers.append(error)
    assert record.settle(tmp_path) == 1 and path.is_file()


def test_a_record_that_cannot_be_read_is_kept(tmp_path: Path, answers: list[Exception]) -> None:
    path = tmp_path / record.FOLDER / "locked.json"
    path.mkdir(parents=True)  # as root reads every file: something else that raises OSError
    assert record.settle(tmp_path) == 1 and path.is_dir()


@pytest.mark.parametrize(
    "changes",
    [
        {"run": "no id"},
        {"owner": None},
        {"state": {"type": "NO SUCH"}},
        {"tasks": [{"id": "x"}]},
        {"tasks": 3},
    ],
)
def test_a_damaged_record_is_put_aside_and_named(
    tmp_path: Path, answers: list[Exception], capsys: pytest.CaptureFixture[str], changes: dict[str, Any]
) -> None:
    path = lay(tmp_path, **changes)
    assert record.settle(tmp_path) == 0
    aside = path.with_suffix(".damaged")
    assert aside.is_file() and not path.exists()
    assert str(aside) in capsys.readouterr().err and record.settle(tmp_path) == 0
