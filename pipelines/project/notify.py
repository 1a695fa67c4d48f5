"""The hook that is called when a run that nobody need have watched went wrong: a line in a file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nightjar.core.config import PARAMS_FILE
from nightjar.core.driver_params import Nightly, load_nightly
from nightjar.core.errors import NightjarError


def notify(root: Path, event: Mapping[str, Any]) -> None:
    """Append `event` as one line of JSON to the project's notifications, in a single write, so that two writers do not
    mix. If the file cannot be written, a line on standard error has the event instead, and nothing else changes.
    """
    path = _path(root)
    line = json.dumps(event, ensure_ascii=False, default=str) + "\n"
    try:
        descriptor = _open(path)
        try:
            os.write(descriptor, line.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        told = f"nightjar: {path}: no notification of {line.strip()} ({error.strerror})"
        print(told, file=sys.stderr, flush=True)


def warning(root: Path) -> str:
    """One line that says why the project's notifications cannot be written; empty if they can, and the file is there
    then.
    """
    path = _path(root)
    try:
        os.close(_open(path))
    except OSError as error:
        fix = f"see nightly.notifications in {PARAMS_FILE}"
        return f"{path}: runs that fail will leave no notification: {error.strerror}; {fix}"
    return ""


def _path(root: Path) -> Path:
    try:
        settings = load_nightly(root / PARAMS_FILE)
    except NightjarError:  # that may be what is to be reported
        settings = Nightly()
    return root / settings.notifications


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
