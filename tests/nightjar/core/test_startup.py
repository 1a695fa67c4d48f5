"""Garbage is looked for seldom while modules load, and as usual once there are tensors.
Threads that wait for each other sleep soon.
"""

from __future__ import annotations

import atexit
import gc
import os
import subprocess
import sys

import pytest

from nightjar.core import startup
from nightjar.models.engine.loading import prepare
from stages._runtime.stage import StageRun, main
from tests.conftest import ROOT
from tests.in_process import captured


def test_a_stage_looks_for_it_as_usual_from_its_first_tensor_on(monkeypatch: pytest.MonkeyPatch) -> None:
    startup.collect_as_usual()  # an earlier test may have run a stage in this process
    usual = gc.get_threshold()
    seen: list[object] = []

    def run(stage: StageRun) -> None:
        seen.append(gc.get_threshold()[0] > 10 * usual[0])
        prepare(1, 1)
        seen.append(gc.get_threshold())
        raise SystemExit(0)

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.argv", ["made"])
    try:
        done = captured(lambda words: main("made", run), ["made"])
    finally:
        startup.collect_as_usual()
        atexit.unregister(gc.freeze)
    assert (done.returncode, done.stderr) == (0, "")
    assert seen == [True, usual]


LOADS_TORCH = """
import os, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            print(os.environ.get("GOMP_SPINCOUNT"))
            sys.exit()
sys.meta_path.insert(0, Finder())
import nightjar.models.engine.loading
"""


@pytest.mark.parametrize(
    ("own", "expected"),
    [({}, "10000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "None")],
)
def test_threads_that_wait_sleep_soon_from_the_moment_torch_is_loaded(
    own: dict[str, str], expected: str
) -> None:
    others = {
        name: it for name, it in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    }
    done = subprocess.run(
        [sys.executable, "-c", LOADS_TORCH],
        env={**others, "PYTHONPATH": str(ROOT), **own},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, expected, "")
