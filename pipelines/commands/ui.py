"""The command ui: the Prefect server of the project."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from nightjar.core.errors import NightjarError
from pipelines.commands.console import say, say_json
from pipelines.process.signals import stopped_by_signals
from pipelines.serving import server as servers


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=servers.PORT, show_default=True)
@click.option("--background", "-b", is_flag=True, help="Leave it running and return.")
@click.option("--stop", is_flag=True, help="End the server that runs.")
@click.option("--json", "as_json", is_flag=True, help="Print the address, or what was stopped, as JSON.")
def ui(port: int, background: bool, stop: bool, as_json: bool) -> None:
    """Start the Prefect server of this project and say where to open it.

    Its data are in .nightjar/prefect. It listens on this machine only and sends nothing anywhere.

    \b
    Example:
      nightjar ui
      nightjar ui --background --port 4300
    """
    root = Path.cwd()
    if stop:
        if (found := servers.recorded(root)) is None:
            raise NightjarError("no server is running", root, "start one with nightjar ui")
        servers.stop(root, found)
        _say_address({"url": found.url, "owner": found.owner, "state": "stopped"}, "Stopped.", as_json)
        return
    if found := servers.find(root):
        until = " until the rebuild that started it ends" if found.owner == "rebuild" else ""
        line = f"Already running at {found.url}{until}"
        _say_address({"url": found.url, "owner": found.owner}, line, as_json)
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
    if as_json:
        say_json(facts, indent=None)
    else:
        say(line)
