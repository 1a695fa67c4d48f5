"""Notifications of runs that failed: lines of JSON in a file, each also posted to the webhook, if there is one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nightjar.core.config import PARAMS_FILE
from nightjar.core.errors import NightjarError
from nightjar.params.drivers import Nightly
from pipelines.project.names import WEBHOOK

# How long the webhook may take to connect, and to answer.
POST_SECONDS = 10.0


def notify(root: Path, event: Mapping[str, Any]) -> None:
    """Append `event` as one line of JSON to the project's notifications, and post it to the webhook that the
    environment names. What fails is one line on standard error, which has the event and not the webhook's address.
    """
    path = _path(root)
    line = json.dumps(event, ensure_ascii=False, default=str)
    try:
        append_line(path, line)
    except OSError as error:
        print(f"nightjar: {path}: no notification of {line} ({error.strerror})", file=sys.stderr, flush=True)
    if webhook := os.environ.get(WEBHOOK):
        _post(webhook, line)


def _post(webhook: str, line: str) -> None:
    import httpx  # here, not above: it takes long to load

    headers = {"Content-Type": "application/json"}
    try:
        # Only the head of the answer is read.
        with httpx.stream("POST", webhook, content=line, headers=headers, timeout=POST_SECONDS) as answer:
            why = "" if answer.is_success else f"status {answer.status_code}"
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        why = type(error).__name__
    if why:
        print(f"nightjar: the webhook did not take {line} ({why})", file=sys.stderr, flush=True)


def warning(root: Path) -> str:
    """Why the project's notifications cannot be written, in one line; empty if they can. Makes their file."""
    path = _path(root)
    try:
        append_line(path)
    except OSError as error:
        fix = f"see nightly.notifications in {PARAMS_FILE}"
        return f"{path}: runs that fail will leave no notification: {error.strerror}; {fix}"
    return ""


def append_line(path: Path, line: str | None = None) -> None:
    """Append a line to a file in a single write, so that two writers do not mix, and flush it to the disk. Without a
    line the file is only made. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        if line is not None:
            file.write(f"{line}\n".encode())
            os.fsync(file)


def _path(root: Path) -> Path:
    try:
        settings = Nightly.load(root / PARAMS_FILE)
    except NightjarError:  # that may be what is to be reported
        settings = Nightly()
    return root / settings.notifications
