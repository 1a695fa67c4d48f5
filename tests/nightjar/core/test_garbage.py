"""Garbage is looked for seldom while modules are loaded, and as usual once tensors are made."""

from __future__ import annotations

import atexit
import gc

import pytest

from nightjar.core import garbage
from nightjar.models.load import prepare
from stages._runtime.stage import Stage, main
from tests.conftest import ROOT
from tests.in_process import captured


def test_a_stage_looks_for_it_as_usual_from_its_first_tensor_on(monkeypatch: pytest.MonkeyPatch) -> None:
    garbage.as_usual()  # an earlier test may have run a stage in this process
    usual = gc.get_threshold()
    seen: list[object] = []

    def run(stage: Stage) -> None:
        seen.append(gc.get_threshold()[0] > 100 * usual[0])
        prepare(1, 1)
        seen.append(gc.get_threshold())
        raise SystemExit(0)

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.argv", ["made"])
    try:
        done = captured(lambda words: main("made", run), ["made"])
    finally:
        garbage.as_usual()
        atexit.unregister(gc.freeze)
    assert (done.returncode, done.stderr) == (0, "")
    assert seen == [True, usual]
