"""Divide the work of a stage among several processes before the stage itself runs, here or on a Ray cluster.

A stage with `meta: {shards: true}` in dvc.yaml has a command that accepts `--shard I/N`. With it the command computes
its share of the work and keeps that in the stage's journal. The group `shards` of params.yaml gives the number of
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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Protocol

from nightjar.core.config import PARAMS_FILE, Model
from nightjar.core.driver_params import Shards, load_shards
from nightjar.core.errors import NightjarError
from pipelines.execution.run_stage import Lines, environment
from pipelines.graph import graph as graphs
from pipelines.graph.graph import Graph, Stage
from pipelines.process.child import GRACE, Child

# Characters that have a meaning for a shell. A command with one of them is not split into arguments.
_SHELL = frozenset("|&;<>()$`*?[]{}~\n")
_NUMBER = re.compile(r"shard (\d+)/\d+: ")
_RAY = "from pipelines.execution.shards_ray import main; main()"
POLL_SECONDS = 0.1
# A command that was killed has the exit status 128 + the number of the signal.
KILLED = 128


class Work(Model):
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


class Share(Protocol):
    """A share that was started, here (Child) or on Ray: `poll` returns its exit status, or None while it runs."""

    def poll(self) -> int | None: ...
    def end(self) -> object: ...


class Fault(NamedTuple):
    """Why shares failed, in one line, and the log that has more."""

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
    """The group `shards`. Raises NightjarError if it, a stage's `meta` or the command of a shared stage is bad."""
    settings = load_shards(graph.root / PARAMS_FILE)
    shared = [stage for stage in graph.stages.values() if wanted(stage, settings)]
    for stage in shared:
        simple(stage)
    if shared and settings.address is None and settings.gpus:
        what, fix = "only Ray assigns GPUs", "set shards.address to local or to a cluster's, or gpus to 0"
        raise NightjarError(what, f"shards.gpus: {settings.gpus:g}", fix)
    if shared and settings.address is not None and importlib.util.find_spec("ray") is None:
        fix = "`pip install -c requirements.lock -e '.[ray]'`"
        raise NightjarError("ray is not installed", "shards.address", fix)
    return settings


def before(
    graph: Graph, stage: Stage, settings: Shards, log: Path, tell: Lines, stop: threading.Event
) -> Fault | None:
    """Share the stage's work if it is to be shared and DVC would run its command; None, or why the shares failed.

    Call it when all inputs of the stage are there. `log` is the stage's own.
    """
    try:
        if not wanted(stage, settings) or not _due(graph, stage):
            return None
        return share(graph, stage, settings, log, tell, stop)
    except NightjarError as error:
        return Fault(str(error), None)


def _due(graph: Graph, stage: Stage) -> bool:
    """Whether DVC would run the command now. The stages before this one may have left its inputs unchanged."""
    now = graphs.read(graph.root).stages.get(stage.name)
    return now is not None and now.state == "would run"


def share(
    graph: Graph, stage: Stage, settings: Shards, log: Path, tell: Lines, stop: threading.Event
) -> Fault | None:
    """Run the shares of the stage and wait for them; None, or why they failed. The outputs do not exist yet then.

    Files beside `log`, the stage's own, have the states of the shares and the output of each. `stop` ends all shares.
    Raises NightjarError for a command that cannot be shared, and OSError.
    """
    root, log = graph.root.resolve(), log.resolve()
    work = Work(command=simple(stage), folder=root / stage.folder, log=log, settings=settings)
    states = log.with_name(f"{log.stem}.shards.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    error = (_here if settings.address is None else _on_ray)(work, states, tell, stop)
    if not error:
        return None
    # The error begins with the share that failed, if one did; that has a log of its own.
    number = _NUMBER.match(error)
    return Fault(error, work.share_log(int(number[1])) if number else states)


def _here(work: Work, states: Path, tell: Lines, stop: threading.Event) -> str:
    """Run the shares on this machine. Returns why they failed, or an empty text."""
    with states.open("w", encoding="utf-8", buffering=1) as file:

        def say(line: str) -> None:
            file.write(line + "\n")
            tell([line])

        try:
            conduct(work, work.start, say, stop)
        except NightjarError as error:
            return str(error)
    return ""


def _on_ray(work: Work, states: Path, tell: Lines, stop: threading.Event) -> str:
    """Run the shares on Ray, in a process of its own (see shards_ray). Returns why they failed, or an empty text."""
    # -P: a folder `pipelines` of the repository must not be imported instead of this package.
    command = [sys.executable, "-P", "-c", _RAY, work.model_dump_json()]
    status = None
    with (
        states.open("wb") as log,
        states.open(encoding="utf-8", errors="replace") as lines,
        # Its shares need the grace to end, and it ends after them.
        Child(command, work.folder, environment(), stdout=log, stderr=log, grace=2 * GRACE) as child,
    ):
        while status is None and not stop.wait(POLL_SECONDS):
            status = child.poll()
            for line in lines:
                tell([line.rstrip()])
    return last_line(states).removeprefix("nightjar: ") if status else ""


def conduct(
    work: Work, start: Callable[[int], Share], say: Callable[[str], None], stop: threading.Event
) -> None:
    """Run all shares at once until each has succeeded. `stop` ends them.

    A share that was killed is lost, and started again. Raises NightjarError if a share fails or is lost too often.
    """
    count = work.settings.count
    tried = dict.fromkeys(range(1, count + 1), 1)
    running: dict[int, Share] = {}
    try:
        for number in tried:
            running[number] = start(number)
        while running and not stop.wait(POLL_SECONDS):
            for number, one in list(running.items()):
                if (status := one.poll()) is None:
                    continue
                one.end()
                del running[number]
                if status == 0:
                    say(f"{work.name(number)} done, {count - len(running)} of {count}")
                    continue
                why = _lost(work, number, status, tried[number])
                say(f"{work.name(number)} was lost ({why}): it is started again")
                tried[number] += 1
                running[number] = start(number)
    finally:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(lambda one: one.end(), running.values()))


def _lost(work: Work, number: int, status: int, tried: int) -> str:
    """Why a share was lost. Raises NightjarError if it failed by itself or was lost too often."""
    why = f"exit status {status}"
    if status <= KILLED:
        why = f"{why}: {last_line(work.share_log(number))}"
        # After a loss, the lost process may still hold its part of the journal, and the share fails because of that.
        if tried == 1:
            raise NightjarError(why, work.name(number), "see its log, and run again")
    if tried >= work.settings.attempts:
        fix = "see its log; another run resumes the work"
        raise NightjarError(f"lost {tried} times, the last time: {why}", work.name(number), fix)
    return why


def last_line(log: Path) -> str:
    """The last line of a log that is not blank."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "no output")
