"""The command clean: what removed items of params.yaml left behind."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Any

import click

from pipelines.commands.console import say
from pipelines.commands.options import printed


def _print(found: dict[str, Any]) -> None:
    done = "removed" if found["removed"] else "would be removed"
    for path, size in found["paths"].items():
        say(f"{path}: {size / 1e6:,.1f} MB, {done}")
    if entries := found["entries"]:
        listed = ", ".join(entries)
        say(f"dvc.lock: {len(entries)} entr{'y' if len(entries) == 1 else 'ies'} {done}: {listed}")
    for path in found["unknown"]:
        say(f"{path}: kept, dvc.lock does not say who made it; to remove it: rm -r {shlex.quote(path)}")
    if not found["paths"] and not entries:
        say("Nothing to remove: every entry of dvc.lock belongs to a stage.")
    elif not found["removed"]:
        say("Nothing was removed. To remove it: nightjar clean --remove")


@click.command()
@click.option("--remove", is_flag=True, help="Remove what is listed.")
@printed(_print)
def clean(remove: bool) -> dict[str, Any]:
    """List the outputs and the entries of dvc.lock that no stage has any more, with their size; remove them.

    They remain when an item, such as a recipe or a system, is taken off params.yaml, and when a profile replaces
    another. What Git knows and what a stage names as its input is never listed. The versions in DVC's cache stay: a
    stage that comes back is restored from there.

    \b
    Example:
      nightjar clean
      nightjar clean --remove
    """
    from pipelines.graph import leftovers
    from pipelines.graph import repository as graphs
    from pipelines.process.lock import rebuild_lock

    root = graphs.find_root()
    with rebuild_lock(root):
        graph = graphs.outline(root)
        found = leftovers.remains(graph)
        if remove:
            leftovers.clean(graph, found)
    return {**asdict(found), "removed": remove}
