"""The commands that run the graph: rebuild, ui."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nightjar.core.errors import NightjarError
from pipelines.commands.console import say, say_json
from pipelines.execution import checks as verify
from pipelines.execution import estimate
from pipelines.execution.headline import stale as stale_scores
from pipelines.graph import graph as graphs
from pipelines.graph import leftovers, lock_copy, lock_order
from pipelines.prefect_view import server as servers
from pipelines.process.signals import stopped_by_signals

if TYPE_CHECKING:
    from pipelines.commands import show


@click.command()
@click.argument("stages", nargs=-1)
@click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1, 64),
    show_default="rebuild.jobs of params.yaml, else 2",
    help="Stages at once.",
)
@click.option(
    "--keep-going/--fail-fast",
    default=True,
    show_default=True,
    help="After a failure, go on with what does not depend on it, or end all.",
)
@click.option("--wait", is_flag=True, help="Wait for a rebuild that is running already.")
@click.option("--verbose", "-v", is_flag=True, help="Show every line that the stages write.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON, the progress as errors.")
@stopped_by_signals()
def rebuild(
    stages: tuple[str, ...], jobs: int | None, keep_going: bool, wait: bool, verbose: bool, as_json: bool
) -> None:
    """Rebuild what changed: STAGES and what they need, or everything.

    Stages run side by side as the graph, the memory that they need and the GPU allow (`meta` in dvc.yaml, `rebuild`
    in params.yaml). While it runs, its address shows it in the Prefect UI; afterwards `nightjar ui` does. Needs
    Prefect; `dvc repro` does the same without it.

    \b
    Example:
      nightjar rebuild
      nightjar rebuild --jobs 4 evaluate@supernatinst
      nightjar rebuild --fail-fast
    """
    from pipelines.process.lock import rebuild_lock

    root = graphs.find_root()
    with rebuild_lock(root, wait):
        code, away = _rebuild(root, stages, jobs, keep_going, verbose, as_json)
    servers.leave(code, away)


def _rebuild(
    root: Path, stages: tuple[str, ...], jobs: int | None, keep_going: bool, verbose: bool, as_json: bool
) -> tuple[int, bool]:
    """Rebuild under the rebuild lock; returns the exit status, and whether the Prefect server is away."""
    from pipelines.commands import show
    from pipelines.execution.results import Result

    for file in lock_copy.mend(root):
        say(f"{file} was torn: its last copy is in its place", err=as_json)
    whole = graphs.read(root)
    graph = whole.only(stages)
    left = leftovers.find(whole, graph)
    for it in left:
        say(str(it), err=as_json)
    if not graph.changed() and not verify.failing(root, graph):
        if lock_order.pending(root):
            lock_order.restore(root, stages)
        stale = stale_scores(graph, [Result(name, "cached") for name in graph.stages])
        if as_json:
            show.as_json(root, [{"stage": name, "state": "cached"} for name in graph.stages], stale, left)
            return 0, False
        say(f"Nothing to do: {len(graph.stages)} stages are up to date.")
        show.headline(root, stale)
        return 0, False
    from nightjar.core.config import PARAMS_FILE
    from nightjar.core.driver_params import load_rebuild
    from pipelines.execution import preflight, resources, shards

    settings = load_rebuild(root / PARAMS_FILE)
    resources.needs(graph, settings)
    shards.check(graph)
    preflight.check(graph)
    servers.require()
    with contextlib.ExitStack() as block:

        def load() -> None:
            importlib.import_module("pipelines.rebuild.flow")

        server = block.enter_context(servers.running(root, "rebuild", load))
        code = _run_flow(graph, stages, jobs, keep_going, server, verbose, as_json, left)
        return code, not servers.healthy(server.url)


def _run_flow(
    graph: graphs.Graph,
    stages: tuple[str, ...],
    jobs: int | None,
    keep_going: bool,
    server: servers.Server,
    verbose: bool,
    as_json: bool,
    left: Sequence[leftovers.Leftover],
) -> int:
    """Run the flow and show it; returns the exit status."""
    from prefect.exceptions import Abort

    from pipelines.commands import show
    from pipelines.execution import results
    from pipelines.prefect_view import record
    from pipelines.rebuild import flow as flows

    say(f"Watch it at {server.url}", err=as_json)
    shown = show.Progress(graph, verbose, as_json, _work(graph, jobs))
    with shown as progress, results.listening(progress.tell) as heard:
        try:
            state = flows.rebuild(list(stages), jobs, keep_going=keep_going, return_state=True)
        except NightjarError:
            raise
        except (Exception, Abort) as error:
            if heard.state is None and servers.healthy(server.url):
                raise
            if heard.state is None:
                what = f"the Prefect server went away ({type(error).__name__}) before anything was built"
                raise NightjarError(what, servers.LOG, "run again") from error
        finally:
            flows.flush()
    state = heard.state or state
    stale = stale_scores(graph, progress.results)
    if as_json:
        show.as_json(graph.root, [asdict(result) for result in progress.results], stale, left)
    else:
        show.summary(progress.results)
        show.headline(graph.root, stale)
    record.tell_left(graph.root, "rebuild")
    if state.is_completed():
        return 0
    say(f"nightjar: rebuild: {state.message}", err=True)
    return 130 if state.is_cancelled() else 1


def _work(graph: graphs.Graph, jobs: int | None) -> show.Work | None:
    """What is expected of the rebuild; None where the time of a stage is not known."""
    from pipelines.commands import show

    expected = estimate.estimates(graph)
    found = estimate.whole(graph, expected, jobs)
    if found is None or found.unknown:
        return None
    ahead = {name for name, stage in graph.stages.items() if stage.state in estimate.AHEAD}
    return show.Work({name: expected[name].seconds for name in ahead}, found.clock.seconds)


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=servers.PORT, show_default=True)
@click.option("--background", "-b", is_flag=True, help="Leave it running and return.")
@click.option("--stop", is_flag=True, help="End the server that runs.")
@click.option("--json", "as_json", is_flag=True, help="Print the address, or what was stopped, as JSON.")
def ui(port: int, background: bool, stop: bool, as_json: bool) -> None:
    """Start the Prefect server of this project and say where to open it.

    Its data lie in .nightjar/prefect; it listens on this machine only and calls nobody.

    \b
    Example:
      nightjar ui
      nightjar ui --background --port 4300
    """
    root = Path.cwd()
    found = servers.recorded(root) if stop else servers.find(root)
    if stop:
        if found is None:
            raise NightjarError("no server is running", root, "start one with nightjar ui")
        servers.stop(root, found)
        _say_address({"url": found.url, "owner": found.owner, "state": "stopped"}, "Stopped.", as_json)
        return
    if found is not None:
        until = " until the rebuild that started it ends" if found.owner == "rebuild" else ""
        told = f"Already running at {found.url}{until}"
        _say_address({"url": found.url, "owner": found.owner}, told, as_json)
        return
    servers.require()
    free = servers.free_port(port)
    if free != port:
        say(f"Port {port} is taken; using {free}.", err=as_json)
    with stopped_by_signals():
        server, process = servers.start(root, free, "ui", background)
        try:
            servers.wait(root, server, process)
            told = f"The Prefect UI is at {server.url}"
            _say_address({"url": server.url, "owner": "ui"}, told, as_json)
            if background:
                return
            say("Ctrl-C ends it.", err=as_json)
            with contextlib.suppress(KeyboardInterrupt):
                code = process.wait()
                raise NightjarError(f"the Prefect server ended with {code}", servers.LOG, "read that file")
        except BaseException:
            background = False
            raise
        finally:
            if not background:
                servers.stop(root, server)
                process.wait()


def _say_address(facts: dict[str, str], line: str, as_json: bool) -> None:
    if as_json:
        say_json(facts, indent=None)
    else:
        say(line)
