"""What commands print of names and texts from data: as they are, on one line, and never as orders to the terminal."""

from __future__ import annotations

import io
import json
import re
import sys
from typing import Any

import pytest
from rich.progress import Progress

from pipelines.commands.console import (
    _Left,
    bar,
    bytes_bar,
    say,
    say_csv,
    say_exact,
    say_json,
    say_table,
    say_text,
)

STEERING = "[red]x[/]{0}%s日\x1b[2J\x1b]0;t\x07\x9b\u202e\r\nb\u2028\x7f"
SHOWN = "[red]x[/]{0}%s日\\x1b[2J\\x1b]0;t\\x07\\x9b\\u202e\\r\\nb\\u2028\\x7f"


def test_a_line_is_one_line_without_controls(capsys: pytest.CaptureFixture[str]) -> None:
    say(STEERING)
    say(STEERING, err=True)
    say_text(STEERING + "\tc")
    out, err = capsys.readouterr()
    assert err == f"{SHOWN}\n" and out == f"{SHOWN}\n" + SHOWN.replace("\\n", "\n") + "\tc\n"


def test_a_table_has_a_line_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{STEERING: STEERING, "share": 0.5, "plan": "would run"}]
    say_table(rows, STEERING, right=("plan",))
    title, head, row = capsys.readouterr().out.splitlines()
    assert title.split() == [SHOWN]
    assert head.split() == [SHOWN, "share", "plan"] and row.split() == [SHOWN, "0.50", "would", "run"]
    say_table([], "nothing")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_json_says_the_same_in_any_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value = {STEERING: [STEERING, "\ud800"]}
    written = io.BytesIO()
    monkeypatch.setattr(
        sys, "stdout", io.TextIOWrapper(written, encoding=encoding, errors="backslashreplace")
    )
    say_json(value)
    text = written.getvalue().decode(encoding)
    assert json.loads(text) == value
    assert not set("\x1b\x07\x9b\u202e\r\u2028\x7f") & set(text)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(patch: pytest.MonkeyPatch, columns: int, name: str = "stdout", stream: type = Terminal) -> Any:
    """What a standard stream shows on a terminal of so many columns without colours."""
    shown = stream()
    patch.setattr(sys, name, shown)
    for variable, value in {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": str(columns)}.items():
        patch.setenv(variable, value)
    return shown


def test_data_are_exact_but_for_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    say_exact(STEERING)
    assert capsys.readouterr().out == STEERING + "\n"
    shown = terminal(monkeypatch, 1000)
    say_exact(STEERING)
    assert shown.getvalue() == SHOWN.replace("\\n", "\n") + "\n"


def test_a_bar_names_what_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = terminal(monkeypatch, 100, "stderr")
    with bytes_bar("reading :train: [red]x\x1b[2J") as update:
        assert update is not None
        update(1, 2)
    assert "reading :train: [red]x\\x1b[2J" in shown.getvalue()


def test_a_bar_is_there_at_once_and_says_what_is_done_of_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = terminal(monkeypatch, 100, "stderr")
    with bar("starting [red]\x1b[2J") as update:
        assert update is not None and "starting [red]\\x1b[2J" in shown.getvalue()
        update("questions", 0, 200)
        update("questions", 50, 200)
        update("questions", 200, 200)
    assert "questions" in shown.getvalue() and "200 of 200" in shown.getvalue()
    assert "/?" not in shown.getvalue(), "nothing is said of what is not known"
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with bar("starting") as update:
        assert update is None


def test_the_time_that_is_left_is_as_long_as_the_speed_says() -> None:
    now, left = [0.0], _Left()
    shown = Progress(get_time=lambda: now[0], disable=True)
    shown.add_task("", total=None)
    (task,) = shown.tasks
    assert left.render(task).plain == ""
    shown.update(task.id, total=2000)
    for seconds, done in ((10.0, 500), (20.0, 1000)):
        now[0] = seconds
        shown.update(task.id, completed=done)
    assert left.render(task).plain == "1,000 of 2,000, 20 s left"


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_table_fits_the_terminal_and_no_number_breaks(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = terminal(monkeypatch, columns)
    row = {
        "category": "answerability_classification",
        "n": 12,
        "score": "58.90 [52.50, 65.00]",
        "difference": "+0.15 [-4.38, +4.71]",
        "why": "a reason of several words that needs more than one line of a narrow terminal",
    }
    say_table([row, row | {"n": 123456}], right=("score", "difference"))
    say_table([{"one column": "words and more words " * 5}])
    say(row["why"])
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.getvalue()).splitlines()
    text = " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= columns
    for part in ("123456", "58.90", "[52.50,", "65.00]", "+0.15", "[-4.38,", "+4.71]"):
        assert part in text
    assert text.count("terminal") == 3


def test_a_csv_without_rows_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    say_csv([])
    assert capsys.readouterr().out == ""
