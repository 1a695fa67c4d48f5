"""The stages of a night: check out model and data, then run again what predicts and evaluates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from pipelines.graph.graph import Graph
from pipelines.project.names import StageName
from pipelines.run.clone import Clone
from pipelines.run.context import RunContext
from pipelines.run.results import Result
from pipelines.run.run import Run
from pipelines.run.run_stage import Stages, dvc

TAKE = "take model and data"


class Scratch(Clone):
    """A clone of the project to evaluate in. It shares no unfinished answers, because everything is computed again.
    Models come out of the cache as links where the file system allows it.
    """

    folder = paths.NIGHTLY_CLONE
    shared = ()
    link_type = "reflink,hardlink,copy"


@dataclass(frozen=True)
class Night:
    """A night in progress: `graph` has the stages that run, a part of `project_graph`, in the clone `work`."""

    graph: Graph
    project_graph: Graph
    work: Path
    logs: Path
    context: RunContext


class Cancelled(Exception):
    """The night was stopped from outside."""


def selected(graph: Graph, names: Sequence[str]) -> Graph:
    """The stages that are run again. Raises NightjarError if there are none."""
    stages = {name: stage for name, stage in graph.stages.items() if StageName.of(name).group in names}
    if not stages:
        names_there = ", ".join(graph.stages) or "none"
        what = f"no stage is named {' or '.join(names)}"
        raise NightjarError(what, "nightly.stages", f"name some of: {names_there}")
    return Graph(graph.root, stages)


def needed(graph: Graph, project_graph: Graph) -> list[str]:
    """Return what the stages of `graph`, a part of `project_graph`, read on this machine and none of them makes.

    A folder around outputs is not an output itself: the outputs in it are needed.
    """
    made_paths = [Path(path) for stage in graph.stages.values() for path in stage.outs]
    outs = [Path(path) for stage in project_graph.stages.values() for path in stage.outs]
    deps = {Path(dep) for stage in graph.stages.values() for dep in stage.deps if "://" not in dep}
    read_paths = {path for dep in deps for path in [out for out in outs if dep in out.parents] or [dep]}
    return sorted(
        path.as_posix() for path in read_paths if not any(path.is_relative_to(it) for it in made_paths)
    )


def take(night: Night, pull: bool) -> None:
    """Check what the stages need out of the DVC cache, or pull it. Raises NightjarError or Cancelled."""
    absent = [path for path in needed(night.graph, night.project_graph) if not (night.work / path).exists()]
    if not absent:
        return
    command = "pull" if pull else "checkout"
    night.context.listen(Result(TAKE, "running", why=f"dvc {command}"))
    done = dvc([command, "--", *absent], night.work, night.logs / f"{command}.log", night.context.stop)
    missing = [path for path in absent if not (night.work / path).exists()]
    fault = None
    # The message of DVC is long, and often begins with a file of the cache.
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        what = f"not in the local cache{' or the remote' if pull else ''}{more}"
        fault = NightjarError(what, missing[0], "nightjar rebuild, dvc pull or dvc commit adds it")
    elif done.state == "failed":
        fault = NightjarError(done.error, f"dvc {command}", "run `nightjar rebuild`, or give --pull")
    state = "stopped" if night.context.stop.is_set() else "failed" if fault else "ran"
    night.context.listen(Result(TAKE, state, done.seconds, f"{len(absent)} paths", str(fault or "stopped")))
    if night.context.stop.is_set():
        raise Cancelled
    if fault:
        raise fault


def run_stages(night: Night, jobs: int) -> Mapping[str, Result]:
    """Run every stage once those before it are done, at most `jobs` at once; returns the results by stage.

    Raises Cancelled, and NightjarError if one fails.
    """
    context, graph = night.context, night.graph
    with Stages(night.work) as stages:
        run = Run(
            graph, stages, night.logs, context.listen, context.stop, jobs, False, night.work, force=True
        )
        results = context.stages(run)
    if run.cancelled:
        raise Cancelled
    if bad := [result for result in results.values() if result.state == "failed"]:
        raise NightjarError(bad[0].error, f"{bad[0].stage} failed", f"see {paths.LOGS / night.logs.name}")
    return results
