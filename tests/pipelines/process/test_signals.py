"""Signals that arrive at a bad moment: nothing outlives them, and the block ends as by Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.process.signals import stopped_by_signals
from tests.pipelines.conftest import environment, lives, wait_for

STRUCK = """
import os, signal, subprocess
from pathlib import Path
from pipelines.process.child import Child
from pipelines.process.signals import stopped_by_signals
start = subprocess.Popen.__init__
def struck(self, *words, **more):
    start(self, *words, **more)
    print(self.pid, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)  # the child runs, and its caller does not know it yet
    signal.sigtimedwait([], 5)
subprocess.Popen.__init__ = struck
with stopped_by_signals():
    Child(["sleep", "300"], Path.cwd(), dict(os.environ))
"""


def test_a_signal_while_a_process_is_started_leaves_no_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STRUCK],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")
    wait_for(lambda: not lives(int(done.stdout)))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_what_a_signal_strikes_may_make_another_error_of_it(number: signal.Signals) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("the tests were started by nohup")
    with pytest.raises(KeyboardInterrupt), stopped_by_signals():
        try:
            os.kill(os.getpid(), number)
        except KeyboardInterrupt:
            raise ValueError("not serialized: KeyboardInterrupt") from None
    with pytest.raises(ValueError, match="its own"), stopped_by_signals():
        raise ValueError("its own")
