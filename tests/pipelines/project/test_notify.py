"""The lines of the notifications: they reach the file and the webhook whole."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pipelines.project.notify import notify, warning
from tests.completions_server import serving

FILE = ".nightjar/notifications.jsonl"


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("params", "file"),
    [
        (None, FILE),
        ("seed: 1\n", FILE),
        ("nightly: {notifications: logs/told.jsonl}\n", "logs/told.jsonl"),
        ("nightly: {notifications: 7}\n", FILE),
        ("nightly: [\n", FILE),
    ],
)
def test_a_line_is_left_whatever_params_yaml_is(tmp_path: Path, params: str | None, file: str) -> None:
    if params is not None:
        (tmp_path / "params.yaml").write_text(params)
    notify(tmp_path, {"kind": "x", "message": "é\n\u2028"})
    notify(tmp_path, {"kind": "y"})
    text = (tmp_path / file).read_text(encoding="utf-8")
    assert [json.loads(line) for line in text.split("\n")[:-1]] == [
        {"kind": "x", "message": "é\n\u2028"},
        {"kind": "y"},
    ]


def test_writers_do_not_mix(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: notify(tmp_path, {"kind": n, "message": "x" * 5000}), range(40)))
    assert sorted(event["kind"] for event in lines(tmp_path / FILE)) == list(range(40))


def test_a_file_that_cannot_be_written_is_one_line_of_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".nightjar").write_text("a file is in the way")
    notify(tmp_path, {"kind": "x"})
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and '{"kind": "x"}' in told and (tmp_path / ".nightjar").is_file()


def test_the_webhook_gets_the_line_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda body: (200, {})) as webhook:
        monkeypatch.setenv("NIGHTJAR_WEBHOOK", f"{webhook.url}/v1/completions")
        notify(tmp_path, {"kind": "x", "message": "é"})
    assert webhook.asked == lines(tmp_path / FILE)


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("/v1/completions", "status 500"),
        ("http://127.0.0.1:1/secret", "ConnectError"),
        ("http://a:b/secret", "InvalidURL"),
        ("ftp://a/secret", "UnsupportedProtocol"),
    ],
)
def test_a_webhook_that_fails_is_one_line_without_its_address(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    address: str,
    fault: str,
) -> None:
    with serving(lambda body: (500, {})) as webhook:
        monkeypatch.setenv("NIGHTJAR_WEBHOOK", webhook.url + address if address[0] == "/" else address)
        notify(tmp_path, {"kind": "x"})
    told = capsys.readouterr().err
    assert told == f'nightjar: the webhook did not take {{"kind": "x"}} ({fault})\n'
    assert lines(tmp_path / FILE) == [{"kind": "x"}]


def test_whether_the_file_can_be_written_is_known_beforehand(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("nightly: {notifications: logs/told.jsonl}\n")
    assert warning(tmp_path) == ""
    notify(tmp_path, {"kind": "x"})
    assert warning(tmp_path) == "" and lines(tmp_path / "logs/told.jsonl") == [{"kind": "x"}]
    for place in ("logs", "logs/told.jsonl/deeper"):
        (tmp_path / "params.yaml").write_text(f"nightly: {{notifications: {place}}}\n")
        told = warning(tmp_path)
        assert place in told and "nightly.notifications" in told and "\n" not in told
    assert lines(tmp_path / "logs/told.jsonl") == [{"kind": "x"}]
