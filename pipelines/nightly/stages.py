"""The stages of a night: check out model and data, then run again what predicts and evaluates."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nightjar.core.errors import NightjarError
from pipelines.clone.workspace import Workspace
from pipelines.execution.conduct import Conduct
from pipelines.execution.journal import Journal
from pipelines.execution.results import Listener, Result, listeners
from pipelines.execution.run_stage import dvc
from pipelines.graph import graph as graphs
from pipelines.project import places
from pipelines.project.stage_name import StageName
from pipelines.versions import files as versions

TAKE = "take model and data"


class Scratch(Workspace):
    """A clone of the project to evaluate in. It shares no unfinished answers, because everything is computed again.
    Models come out of the cache as links where the file system allows it.
    """

    folder = places.NIGHTLY_CLONE
    shared = ()
    link_type = "reflink,hardlink,copy"


@dataclass(frozen=True)
class Night:
    """A night in progress: `graph` has the stages that run, a part of `whole`, in the clone `work`."""

    graph: graphs.Graph
    whole: graphs.Graph
    work: Path
    logs: Path
    stop: threading.Event
    journal: Journal
    shown: tuple[Listener, ...] = ()


class Stopped(Exception):
    """Somebody stopped the night."""


class Broken(Exception):
    """A stage, or the taking of model and data, failed."""


def selected(graph: graphs.Graph, wanted: Sequence[str]) -> graphs.Graph:
    """The stages that are run again. Raises NightjarError if there are none."""
    found = {name: stage for name, stage in graph.stages.items() if StageName.of(name).group in wanted}
    if not found:
        known = ", ".join(graph.stages) or "none"
        what = f"no stage is named {' or '.join(wanted)}"
        raise NightjarError(what, "nightly.stages", f"name some of: {known}")
    return graphs.Graph(graph.root, found)


def needed(graph: graphs.Graph, whole: graphs.Graph) -> list[str]:
    """What the stages of `graph`, a part of `whole`, read on this machine and none of them makes.

    A folder around outputs is not an output itself: the outputs in it are needed.
    """
    made = [Path(path) for stage in graph.stages.values() for path in stage.outs]
    outs = [Path(path) for stage in whole.stages.values() for path in stage.outs]
    found: set[Path] = set()
    for dep in {dep for stage in graph.stages.values() for dep in stage.deps if "://" not in dep}:
        inside = [out for out in outs if dep in map(Path.as_posix, out.parents)]
        found.update(inside or [Path(dep)])
    return sorted(path.as_posix() for path in found if not any(path.is_relative_to(it) for it in made))


def take(night: Night, pull: bool) -> None:
    """Check what the stages need out of the DVC cache, or pull it. Raises Broken or Stopped."""
    wanted = [path for path in needed(night.graph, night.whole) if not (night.work / path).exists()]
    if not wanted:
        return
    command = ["pull" if pull else "checkout", "--", *wanted]
    night.journal.tell(Result(TAKE, "running", why=f"dvc {command[0]}"))
    done = dvc(command, night.work, night.logs / f"{command[0]}.log", night.stop)
    missing = [path for path in wanted if not (night.work / path).exists()]
    fault = ""
    # What DVC says of it is long, and what it names first is often a file of the cache.
    if missing:
        fault = _lacking(night.graph.root, night.work, missing, pull)
    elif done.state == "failed":
        fault = f"dvc {command[0]}: {done.error}; run `nightjar rebuild`, or give --pull"
    state = "stopped" if night.stop.is_set() else "failed" if fault else "ran"
    night.journal.tell(Result(TAKE, state, done.seconds, f"{len(wanted)} paths", fault or "stopped"))
    if night.stop.is_set():
        raise Stopped
    if fault:
        raise Broken(fault)


def _lacking(root: Path, work: Path, missing: Sequence[str], pull: bool) -> str:
    """Why the paths that are `missing` in the clone `work` could not be taken, and which command gets them."""
    outputs = versions.outputs(work, missing)
    if not outputs:
        return f"{missing[0]} is missing{_more(missing)}; commit it, or make a stage of dvc.yaml write it"
    told = f"{outputs[0]} is not in the local cache{' or the remote' if pull else ''}{_more(missing)}"
    if (root / outputs[0]).exists():
        return f"{told}; add it with: dvc commit {outputs[0]}"
    return (
        f"{told}; make it with: nightjar rebuild" if pull else f"{told}; get it with: dvc pull {outputs[0]}"
    )


def _more(names: Sequence[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def conduct(night: Night, jobs: int) -> None:
    """Run every stage afresh once those before it are done, at most `jobs` at once. Raises Broken or Stopped."""
    listener = listeners(night.journal.tell, *night.shown)
    run = Conduct(night.graph, night.logs, listener, night.stop, jobs, False, night.work, afresh=True)
    results = run.run().values()
    if run.cancelled:
        raise Stopped
    if bad := [result for result in results if result.state == "failed"]:
        raise Broken(f"{bad[0].stage} failed: {bad[0].error}")
