"""The hook that is called when a run that nobody need have watched went wrong: a line in a file."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stages.config import PARAMS_FILE
from stages.driver_params import Nightly, load_nightly
from stages.errors import NightjarError


def notify(root: Path, event: Mapping[str, Any]) -> None:
    """Append `event` as one line of JSON to the project's notifications, in a single write, so that two writers do not
    mix. A file that cannot be written changes nothing of what it would have told: a line in the log says so.
    """
    try:
        settings = load_nightly(root / PARAMS_FILE)
    except NightjarError:  # that may be what is to be told
        settings = Nightly()
    path = root / settings.notifications
    line = json.dumps(event, ensure_ascii=False, default=str) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        logging.getLogger("nightjar").warning("%s: not notified of: %s (%s)", path, line.strip(), error)
