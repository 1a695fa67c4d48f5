"""Training in several processes: `accelerate launch` with one of the project's configurations starts the worker.

python -m stages.train.launch RECIPE FACTS    (what every process runs; FACTS is a file to write)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from nightjar import params as params_module
from nightjar.core.errors import NightjarError
from nightjar.params import Params
from stages._runtime.standard_streams import log_to_stderr, protect

CONFIGURATIONS = Path("profiles/accelerate")


def launch(name: str, params: Params) -> dict[str, Any]:
    """Train the recipe `name` with `params.train.launcher`; returns the facts of the run.

    Raises NightjarError if there is no such configuration, or if the processes fail; they print why.
    """
    configuration = CONFIGURATIONS / f"{params.train.launcher}.yaml"
    if not configuration.is_file():
        raise NightjarError("no such configuration", configuration, "run from the project's root")
    with tempfile.TemporaryDirectory() as folder:
        facts = Path(folder) / "facts.json"
        worker = ["--module", "stages.train.launch", name, str(facts)]
        command = [
            *(sys.executable, "-m", "accelerate.commands.launch"),
            *("--config_file", str(configuration), *worker),
        ]
        # The launcher's processes find the stages where this one does.
        path = os.pathsep.join([str(Path.cwd()), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, check=False)
        if done.returncode or not facts.exists():
            what = f"the processes of the training ended with status {done.returncode}"
            raise NightjarError(what, configuration, "see what they printed above")
        result: dict[str, Any] = json.loads(facts.read_text(encoding="utf-8"))
    return result


def worker(name: str, facts: Path) -> int:
    """One process of a launch; the first one writes the facts. Returns the exit status."""
    from stages.train.recipe_training import fit

    protect()
    log_to_stderr()
    try:
        result = fit(name, params_module.load())
    except NightjarError as error:
        print(f"nightjar: {error}", file=sys.stderr)
        return 2
    if result:
        facts.write_text(json.dumps(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(worker(sys.argv[1], Path(sys.argv[2])))
