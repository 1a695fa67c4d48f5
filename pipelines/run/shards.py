"""Divide the work of a stage among several processes before the stage itself runs, here or on a Ray cluster.

A stage with `meta: {shards: true}` in dvc.yaml has a command that accepts `--shard I/N`. With it the command computes
its share of the work and keeps that in the stage's checkpoint. The group `shards` of params.yaml gives the number of
shares and the place. DVC then runs the ordinary command, which computes what is missing and writes the outputs. The
outputs are therefore the same whether shares succeed, fail or are lost. A stage whose command DVC would not run is not
shared.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from nightjar.core.config import PARAMS_FILE, StrictModel
from nightjar.core.errors import NightjarError
from nightjar.params.drivers import Shards
from pipelines.graph.graph import Graph, Stage
from pipelines.process.child import FOLLOWED, GRACE, Child, Lines, Output
from pipelines.run.resources import Needs
from pipelines.run.results import Result
from pipelines.run.run_stage import environment

# Characters that have a meaning for a shell. A command with one of them is not split into arguments.
_SHELL = frozenset("|&;<>()$`*?[]{}~\n")
POLL_SECONDS = 0.1
# A command that was killed has the exit status 128 + the number of the signal.
KILLED = 128

_NUMBER = re.compile(r"shard (\d+)/\d+: ")


class Work(StrictModel):
    """The work to share: the command, the folder where it runs, the log of the stage, and the settings."""

    command: list[str]
    folder: Path
    log: Path
    settings: Shards

    def name(self, number: int) -> str:
        return f"shard {number}/{self.settings.count}"

    def share_log(self, number: int) -> Path:
        """The log of one share, beside that of the stage."""
        return self.log.with_name(f"{self.log.stem}.shard-{number}.log")

    def start(self, number: int) -> Child:
        """Start one share on this machine. Raises FileNotFoundError if the project's folder is not here."""
        command = [*self.command, "--shard", f"{number}/{self.settings.count}"]
        # The folder of the logs has the name of the run: another folder with the project's path has none.
        with self.share_log(number).open("ab") as log:
            return Child(command, self.folder, environment(), stdout=log, stderr=log)


# Runs a share until it ends, or an event is set; returns the exit status of its command.
Execute = Callable[[Work, int, threading.Event], int]


def run_locally(work: Work, number: int, stop: threading.Event) -> int:
    """Run a share on this machine."""
    with work.start(number) as child:
        while child.poll() is None and not stop.wait(POLL_SECONDS):
            pass
        return child.close()


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


def check(graph: Graph, needs: Mapping[str, Needs]) -> Shards:
    """The group `shards`. Raises NightjarError if it, or the command of a stage that is to be shared, is bad."""
    settings = Shards.load(graph.root / PARAMS_FILE)
    shared = [graph.stages[name] for name, it in needs.items() if it.shards and settings.count > 1]
    for stage in shared:
        simple(stage)
    if shared and settings.address is None and settings.gpus:
        what, fix = "only Ray assigns GPUs", "set shards.address to local or to a cluster's, or gpus to 0"
        raise NightjarError(what, f"shards.gpus: {settings.gpus:g}", fix)
    if shared and settings.address is not None and importlib.util.find_spec("ray") is None:
        fix = "`pip install -c requirements.lock -e '.[ray]'`"
        raise NightjarError("ray is not installed", "shards.address", fix)
    return settings


def share(
    graph: Graph, stage: Stage, settings: Shards, log: Path, lines: Lines, stop: threading.Event
) -> Result | None:
    """Run the shares of the stage and wait for them; None, or the result of the stage if they failed.

    All inputs of the stage must exist. Files beside `log`, the stage's own, have the states of the shares and the
    output of each. `stop` ends all shares. Raises NightjarError for a command that cannot be shared, and OSError.
    """
    root, log = graph.root.resolve(), log.resolve()
    work = Work(command=simple(stage), folder=root / stage.folder, log=log, settings=settings)
    states = log.with_name(f"{log.stem}.shards.log")
    # -P: a folder `pipelines` of the repository must not be imported instead of this package.
    command = [sys.executable, "-P", "-m", "pipelines.run.shards_run", work.model_dump_json()]
    began = time.monotonic()
    # Its shares need the grace to end, and it ends after them.
    with (
        Output(states, lines) as output,
        Child(command, work.folder, environment(), grace=2 * GRACE, **FOLLOWED) as child,
    ):
        code = output.follow(child, stop)
    if not code or stop.is_set():
        return None
    error = output.last.removeprefix("nightjar: ")
    # The error begins with the share that failed, if one did; that has a log of its own.
    number = _NUMBER.match(error)
    at = str(work.share_log(int(number[1])) if number else states)
    return Result(stage.name, "failed", time.monotonic() - began, error=error, log=at)
