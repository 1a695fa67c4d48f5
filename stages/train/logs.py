"""dvclive's files of a run while it runs: a loss curve that DVC, its editor extension and Studio's viewer can show.

They lie in .nightjar/dvclive/<recipe> and are copied into the model's folder when it is published; steps and values
alone are written, no times, so equal runs give equal bytes. A resumed run writes its earlier steps again first.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError
from stages.train.loop import History


class Log:
    """Follows the history of one run into a folder, which is begun anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._live: Any = None
        self._steps = self._dev = 0

    def follow(self, history: History) -> None:
        """Write what the history has gained."""
        live = self._open()
        for step in history.steps[self._steps :]:
            live.step = step.step
            live.log_metric("train/loss", step.loss)
            live.log_metric("train/learning_rate", step.learning_rate)
        for dev in history.dev[self._dev :]:
            live.step = dev.step
            live.log_metric("dev/loss", dev.loss)
        self._steps, self._dev = len(history.steps), len(history.dev)

    def publish(self, output: Path) -> None:
        """Close the log and put a copy into the folder `output`."""
        self._open().end()
        shutil.copytree(self.folder, output)

    def _open(self) -> Any:
        if self._live is None:
            os.environ.setdefault("DVC_STUDIO_OFFLINE", "true")  # nothing leaves this machine
            from dvclive import Live
            from scmrepo.exceptions import SCMError

            shutil.rmtree(self.folder, ignore_errors=True)
            try:
                self._live = Live(str(self.folder), report=None, save_dvc_exp=False, dvcyaml=None)
            except SCMError as error:
                what = f"dvclive cannot log in this Git repository ({error})"
                raise NightjarError(what, ".", "make a first commit: git add . && git commit") from None
        return self._live
