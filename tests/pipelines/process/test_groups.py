"""Signals that strike at a bad moment: nothing outlives them, and they are what ended the block."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.process import groups
from pipelines.process.signals import stopped_by_signals
from tests.pipelines.conftest import environment, lives, wait_for

STRUCK = """
import os, signal, subprocess
from pathlib import Path
from pipelines.process import groups
class Popen(subprocess.Popen):
    def __init__(self, *words, **more):
        super().__init__(*words, **more)
        if words[0][0] == "sleep":  # the signal comes when the child is there and its caller does not know it yet
            print(self.pid, flush=True)
            os.kill(os.getpid(), signal.SIGTERM)
            signal.sigtimedwait([], 5)
subprocess.Popen = Popen
with stopped_by_signals():
    groups.start(["sleep", "300"], Path.cwd(), dict(os.environ), "child")
"""


def test_a_signal_between_the_start_of_a_process_and_its_record_leaves_no_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STRUCK],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")
    wait_for(lambda: not lives(int(done.stdout)))
    wait_for(lambda: not list((tmp_path / groups.RUNNING).iterdir()))


def test_a_command_that_cannot_be_started_leaves_no_record(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        groups.start(["no-such-command"], tmp_path, dict(os.environ), "child")
    assert not list((tmp_path / groups.RUNNING).iterdir())


def test_what_a_signal_strikes_may_make_another_error_of_it() -> None:
    with pytest.raises(KeyboardInterrupt), stopped_by_signals():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt:
            raise ValueError("not serialized: KeyboardInterrupt") from None
    with pytest.raises(ValueError, match="its own"), stopped_by_signals():
        raise ValueError("its own")
