"""What commands share: a model is loaded without a line of the libraries that load it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LOAD = """
import sys
from pathlib import Path
from pipelines.commands.options import prepare_model
prepare_model()
from nightjar.models.engine.loading import load
load(Path(sys.argv[1]))
"""


def test_a_command_that_loads_a_model_writes_nothing_itself(tiny_model: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOAD, tiny_model], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
