"""Before a stage that can be shared runs: its work in several processes, on this machine or on a Ray cluster.

A stage says in dvc.yaml, by `meta: {shards: true}`, that its command understands `--shard I/N`; params.yaml says how
many shares there are, and where.

Such a command does its share of the work and keeps it, beside what the others keep, where the stage's ordinary command
finds it. That command comes afterwards, is DVC's as always, computes what is missing, and makes the outputs; so these
are the same whatever became of the shares. Where DVC would not run the command nothing is shared.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from nightjar.core.config import PARAMS_FILE
from nightjar.core.driver_params import Shards, load_shards
from nightjar.core.errors import NightjarError
from pipelines.execution.run_stage import environment, follow
from pipelines.graph import graph as graphs
from pipelines.graph.graph import Graph, Stage
from pipelines.process.child import Child

# What a shell would make something of. A command with any of it is not split into arguments here.
_SHELL = frozenset("|&;<>()$`*?[]{}~\n")
_NUMBER = re.compile(r"shard (\d+)/\d+: ")
_FLOW = "from pipelines.execution.shards_flow import main; main()"


@dataclass(frozen=True)
class Work:
    """What is shared: the stage, its command, the project's root, the folder in it where the command runs, and the
    stage's log (see share_log).
    """

    stage: str
    command: list[str]
    root: str
    folder: str
    log: str


def share_log(log: Path, number: int) -> Path:
    """The log of one share, beside that of its stage."""
    return log.with_name(f"{log.stem}.shard-{number}.log")


class Fault(NamedTuple):
    """Why shares failed, in one line, and the file that tells more, if one does."""

    error: str
    log: Path | None


def wanted(stage: Stage, settings: Shards) -> bool:
    """Whether the stage is to be shared. Raises NightjarError for a bad value in dvc.yaml."""
    value = stage.meta.get("shards", False)
    if not isinstance(value, bool):
        what = f"stage {stage.name}: meta.shards = {value!r} is not allowed"
        raise NightjarError(what, "dvc.yaml", "give true or false")
    return value and settings.count > 1


def simple(stage: Stage) -> list[str]:
    """The stage's command as a list of arguments. Raises NightjarError if it needs a shell."""
    try:
        words = shlex.split(stage.command)
    except ValueError:
        words = []
    if not words or "=" in words[0] or _SHELL & set(stage.command):
        what = f"stage {stage.name}: only one plain command can be shared, without anything for the shell"
        raise NightjarError(what, "dvc.yaml", "put the rest into a script, or set meta.shards to false")
    return words


def check(graph: Graph) -> Shards:
    """The group `shards`. Raises NightjarError if that, a stage's `meta`, or a command that is to be shared is bad."""
    settings = load_shards(graph.root / PARAMS_FILE)
    for stage in graph.stages.values():
        if wanted(stage, settings):
            simple(stage)
    return settings


def _prefect(settings: Shards) -> dict[str, str]:
    """The settings of Prefect for the flow of the shares: this process's own, and the server's address."""
    own = {name: value for name, value in os.environ.items() if name.startswith("PREFECT_")}
    return own | ({"PREFECT_API_URL": settings.prefect_api} if settings.prefect_api else {})


def share(
    graph: Graph,
    stage: Stage,
    settings: Shards,
    log: Path,
    tell: Callable[[list[str]], None],
    stop: threading.Event,
) -> Fault | None:
    """Do the stage's work in shares, and wait; None, or why it failed. The outputs are then still to be made.

    What becomes of the shares, and what each writes, goes to files beside `log`, the stage's own. When `stop` is set
    all of them are ended. Raises NightjarError for a command that cannot be shared, and OSError.
    """
    told_in = log.with_name(f"{log.stem}.shards.log")
    root = graph.root.resolve()
    work = Work(stage.name, simple(stage), str(root), stage.folder, str(log.resolve()))
    log.parent.mkdir(parents=True, exist_ok=True)
    asked = json.dumps({"work": asdict(work), "settings": settings.model_dump()})
    last = ""
    with told_in.open("w", encoding="utf-8") as file:

        def hear(lines: list[str]) -> None:
            nonlocal last
            file.writelines(line + "\n" for line in lines)
            file.flush()
            if told := [line for line in lines if line.strip()]:
                last = told[-1]
                tell(told)

        # -P: a folder `pipelines` of the repository is not taken for this one.
        with Child(
            [sys.executable, "-P", "-c", _FLOW, asked],
            graph.root,
            environment() | _prefect(settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as child:
            follow(child, stop, hear)
            while child.poll() is None and not stop.wait(0.05):
                pass
            code = child.end()
    if code == 0 or stop.is_set():
        return None
    error = last.removeprefix("nightjar: ") or f"the shards ended with exit status {code}"
    # A share that failed is named first (see shards_flow), and has a log of its own.
    number = _NUMBER.match(error)
    own = share_log(log, int(number[1])) if number else told_in
    return Fault(error, own if own.exists() else told_in)


def before(
    graph: Graph,
    stage: Stage,
    settings: Shards,
    log: Path,
    tell: Callable[[list[str]], None],
    stop: threading.Event,
) -> Fault | None:
    """Share the stage's work if it is to be shared and DVC is about to run its command; None, or why that failed.

    To be called when all that the stage needs is there. `log` is the stage's own.
    """
    try:
        if not wanted(stage, settings) or not _due(graph, stage):
            return None
        return share(graph, stage, settings, log, tell, stop)
    except NightjarError as error:
        return Fault(str(error), None)


def _due(graph: Graph, stage: Stage) -> bool:
    """Whether DVC would run the command now: what the stage needs may have come out as it was before."""
    now = graphs.read(graph.root).stages.get(stage.name)
    return now is not None and now.state == "would run"
