"""Settings that would fail late: what params.yaml names that is not there, found before any stage starts.

Values alone are checked by the models of nightjar.params; here they meet the project's files and its graph.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from nightjar.core.config import PARAMS_FILE, read_optional
from nightjar.core.errors import NightjarError
from nightjar.params import Params, load
from nightjar.params.drivers import Checks, Rebuild
from pipelines.project.names import StageName
from pipelines.run import resources, shards

if TYPE_CHECKING:
    from pipelines.graph.graph import Graph

# Commands of Nightjar's own stages, which read all of params.yaml; other repositories have others.
STAGE_COMMAND = "python -m stages."
LAUNCHERS = Path("profiles/accelerate")


def check(graph: Graph) -> None:
    """Raise NightjarError for a setting with which a stage of `graph` that would run is certain to fail."""
    Checks.load(graph.root / PARAMS_FILE)
    shards.check(graph, resources.needs(graph, Rebuild.load(graph.root / PARAMS_FILE)))
    ahead = [stage for stage in graph.stages.values() if stage.state in ("would run", "follows")]
    names = [stage.name for stage in ahead if stage.command.startswith(STAGE_COMMAND)]
    if not names:
        return
    # Here, not above: cards and tools take long to load.
    from nightjar.benchmarks import registry
    from nightjar.tools import tool_registry as tools

    file = graph.root / PARAMS_FILE
    params = load(file)
    registry.check(params, file)
    tools.check(params, file)
    for name in names:
        stage_name = StageName.of(name)
        if stage_name.stage == "train":
            params.train.check(stage_name.item, file)
            _check_launcher(params.train.launcher, graph.root)
        none = params.split.supervised_instances_per_task == 0
        if (
            stage_name.stage == "encode"
            and none
            and params.train.recipe(stage_name.item).data == "supervised"
        ):
            what = f"split.supervised_instances_per_task = 0 leaves {name} nothing to train on"
            raise NightjarError(what, file, "set it higher, or name the stages to rebuild without this one")


def check_project(params: Params, root: Path, where: object) -> None:
    """Raise NightjarError for a setting that names what the project at `root` does not have."""
    _check_launcher(params.train.launcher, root, installed=False)
    graph = read_optional(root / "dvc.yaml").get("stages")
    stage_names = sorted(map(str, graph)) if isinstance(graph, dict) else []
    missing = [name for name in params.nightly.stages if name not in stage_names]
    if stage_names and missing:
        what = f"nightly.stages names {missing[0]!r}, which dvc.yaml does not have"
        raise NightjarError(what, where, f"name some of: {', '.join(stage_names)}")


def _check_launcher(name: str, root: Path, installed: bool = True) -> None:
    file = root / LAUNCHERS / f"{name}.yaml"
    if name == "none":
        return
    if not file.is_file():
        raise NightjarError(f"train.launcher = {name} has no configuration", file, "add it, or set none")
    if installed and name.startswith("deepspeed") and find_spec("deepspeed") is None:
        what = f"train.launcher = {name} needs the package deepspeed"
        raise NightjarError(what, root / PARAMS_FILE, 'install it: pip install -e ".[multi-gpu]"')
