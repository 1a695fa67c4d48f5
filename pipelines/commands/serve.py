"""The commands of the project's Prefect server: ui, and serve, which keeps a runner beside it."""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
from pydantic import HttpUrl, ValidationError

from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE
from nightjar.core.errors import NightjarError
from nightjar.params.drivers import Nightly
from pipelines.commands.console import say
from pipelines.commands.options import CommandResult, as_json_option
from pipelines.graph import repository as graphs
from pipelines.process import lock
from pipelines.process.child import Child
from pipelines.process.signals import stopped_by_signals
from pipelines.project import notify
from pipelines.project.names import WEBHOOK
from pipelines.serving import server as servers
from pipelines.serving import supervisor

WATCH_SECONDS = 1.5
# All has to end in ten seconds: the runs first, which end their own stages.
GRACE = 5.5
SEE = "see what it printed above"
# A runner that ends sooner than this after its start is not started a third time.
SHORT_SECONDS = 60.0


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=servers.PORT, show_default=True)
@click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="Stages at once, in a run that does not say otherwise.",
)
@click.option("--pull", is_flag=True, help="Let a nightly fetch missing model and data from the DVC remote.")
@click.option(
    "--webhook",
    envvar=WEBHOOK,
    metavar="URL",
    help="Post runs that fail or are killed there.",
)
@as_json_option
@stopped_by_signals()
def serve(port: int, jobs: int, pull: bool, webhook: str | None, as_json: bool) -> None:
    """Run the nightly on its schedule, and runs started in the Prefect UI, until Ctrl-C.

    The schedule is `nightly.cron` and `nightly.timezone` of params.yaml. The command starts the project's
    server, or uses a running one. One night replaces all that were missed.

    \b
    Example:
      nightjar serve
      nightjar serve --webhook https://chat.example.org/hooks/nightjar
    """
    servers.require()
    root = graphs.read().root
    settings = Nightly.load(root / PARAMS_FILE)
    if webhook is not None:
        _check_url(webhook)
    if line := notify.warning(root):
        say(f"nightjar: serve: {line}", err=True)
    with lock.locked(root, paths.SERVE_LOCK, "nightjar serve", fix="use that one, or end it first"):
        serving = Serving(root, port, {"jobs": jobs, "pull": pull}, webhook)
        try:
            serving.start()
            _say_served(serving, settings, as_json)
            while True:
                time.sleep(WATCH_SECONDS)
                serving.watch()
        finally:
            serving.stop()


def _check_url(webhook: str) -> None:
    try:
        HttpUrl(webhook)
    except ValidationError:
        fix = "give one, or leave it out"
        raise NightjarError("not an http or https address", "--webhook", fix) from None


def _say_served(serving: Serving, settings: Nightly, as_json: bool) -> None:
    when, names = f"{settings.cron} ({settings.timezone})", serving.deployments

    def show(facts: dict[str, Any]) -> None:
        say(f"Serving {', '.join(names)}; nightly at {when}.")
        say(f"The Prefect UI is at {serving.url}. Ctrl-C ends it.")

    facts = {"url": serving.url, "deployments": names, "nightly": when}
    CommandResult(facts, show, indent=None).say(as_json)


class Serving:
    """The server and the runner of one project."""

    def __init__(self, root: Path, port: int, settings: dict[str, Any], webhook: str | None) -> None:
        self.root = root
        self.deployments: list[str] = []
        self._server = supervisor.Supervisor(root, "serve", port)
        if not self._server.stays and self._server.port != port:
            say(f"Port {port} is taken; using {self._server.port}.", err=True)
        self._settings = json.dumps(settings)
        # Only in the environment of the runner and its runs, and in no file.
        self._secret = {WEBHOOK: webhook} if webhook else {}
        self._runner: Child | None = None
        self._started = 0.0

    @property
    def url(self) -> str:
        return self._server.url

    def start(self) -> None:
        """Wait for the server, then start the runner. Raises NightjarError with the reason if either ends."""
        self._server.ready()
        self._start_runner()

    def watch(self) -> None:
        """Start again what ended."""
        assert self._runner is not None
        if servers.recorded(self.root) is None:
            say("nightjar: serve: the Prefect server ended; starting it again", err=True)
            self._server.revive()
        code = self._runner.poll()
        if code is not None:
            if time.monotonic() - self._started < SHORT_SECONDS:
                raise self._ended(code)
            say(f"nightjar: serve: the runner ended with {code}; starting it again", err=True)
            self._start_runner()

    def stop(self) -> None:
        """End the runs with their stages, then the server if it was started here."""
        if self._runner is not None:
            self._runner.close()
        self._server.close()

    def _start_runner(self) -> None:
        runner = Child(
            [sys.executable, "-m", "pipelines.serving.deployments", self._settings],
            self.root,
            # Safe path: a folder `pipelines` of the repository must not be taken for this one.
            servers.environment(self.root, self.url) | {"PYTHONSAFEPATH": "1"} | self._secret,
            stdout=subprocess.PIPE,
            grace=GRACE,
        )
        self._runner, self._started = runner, time.monotonic()
        assert runner.stdout is not None
        if not select.select([runner.stdout], [], [], servers.STARTING_SECONDS)[0]:
            raise NightjarError("the deployments were not made in time", "nightjar serve", SEE)
        ready = runner.stdout.readline()
        if not ready:
            raise self._ended(runner.wait())
        self.deployments = json.loads(ready)

    def _ended(self, code: int) -> NightjarError:
        return NightjarError(f"the runner ended with {code}", "nightjar serve", SEE)


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=servers.PORT, show_default=True)
@click.option("--background", "-b", is_flag=True, help="Leave the server running and return.")
@click.option("--stop", is_flag=True, help="Stop the running server.")
@as_json_option
def ui(port: int, background: bool, stop: bool, as_json: bool) -> None:
    """Start the Prefect server of this project and print its address.

    The data of the server are in .nightjar/prefect. It listens on this machine only and sends no
    statistics.

    \b
    Example:
      nightjar ui
      nightjar ui --background --port 4300
    """
    root = Path.cwd()
    if stop:
        if (running := servers.recorded(root)) is None:
            raise NightjarError("no server is running", root, "start one with nightjar ui")
        servers.stop(root, running)
        _say_address({"url": running.url, "owner": running.owner, "state": "stopped"}, "Stopped.", as_json)
        return
    if running := servers.find(root):
        until = " until the rebuild that started it ends" if running.owner == "rebuild" else ""
        line = f"Already running at {running.url}{until}"
        _say_address({"url": running.url, "owner": running.owner}, line, as_json)
        return
    servers.require()
    free = servers.free_port(port)
    if free != port:
        say(f"Port {port} is taken; using {free}.", err=as_json)
    with stopped_by_signals():
        server, process = servers.start(root, free, "ui", background)
        stays = False
        try:
            servers.wait(root, server, process)
            line = f"The Prefect UI is at {server.url}"
            _say_address({"url": server.url, "owner": "ui"}, line, as_json)
            stays = background
            if not background:
                say("Ctrl-C ends it.", err=as_json)
                with contextlib.suppress(KeyboardInterrupt):
                    code = process.wait()
                    raise NightjarError(
                        f"the Prefect server ended with {code}", servers.LOG, "read that file"
                    )
        finally:
            if not stays:
                servers.stop(root, server)
                process.wait()


def _say_address(facts: dict[str, str], line: str, as_json: bool) -> None:
    CommandResult(facts, lambda _: say(line), indent=None).say(as_json)
