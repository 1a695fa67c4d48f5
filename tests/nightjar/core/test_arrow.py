"""Arrow leaves pandas alone, and still finds it where somebody asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

CODE = """
import sys
from pathlib import Path
from nightjar.core import contracts, tables
path = Path("made")
with tables.ArtifactWriter(path) as writer:
    writer.write(contracts.SPLIT_TASKS, [{"track": "default", "task_id": "t", "role": "test", "reason": ""}])
rows = tables.read(path, contracts.SPLIT_TASKS)
assert sum(batch.num_rows for batch in tables.batches(path, contracts.SPLIT_TASKS)) == len(rows) == 1
print("pandas" in sys.modules)
print(rows.to_pandas().shape, "pandas" in sys.modules)
"""


def test_tables_are_written_and_read_without_pandas_which_can_still_be_had(tmp_path: Path) -> None:
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=tmp_path, env=surroundings, capture_output=True, text=True
    )
    assert done.stdout == "False\n(1, 4) True\n", done.stderr
