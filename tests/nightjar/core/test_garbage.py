"""Garbage is looked for seldom while modules are loaded, and as usual once tensors are made."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT

CODE = """
import gc, sys
usual = gc.get_threshold()
from nightjar.core.harness import main
def run(stage):
    assert gc.get_threshold()[0] > 100 * usual[0]
    from nightjar.lm.load import prepare
    prepare(1, 1)
    assert gc.get_threshold() == usual
    print("as usual")
    sys.exit(0)
main("made", run)
"""


def test_a_stage_looks_for_it_as_usual_from_its_first_tensor_on() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("as usual\n", "")
