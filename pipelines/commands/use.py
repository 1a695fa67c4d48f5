"""The command `use`: apply a profile to params.yaml."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pipelines.commands.console import say
from pipelines.commands.options import printed


def _print(changes: list[dict[str, Any]]) -> None:
    for change in changes:
        old, new = (json.dumps(change[name], ensure_ascii=False) for name in ("old", "new"))
        say(f"{change['key']}: {old} -> {new}")
    if not changes:
        say("params.yaml is so already.")


@click.command()
@click.argument("profile")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="One more setting; may be repeated."
)
@click.option("--dry-run", is_flag=True, help="Print the difference and write nothing.")
@printed(_print)
def use(profile: str, settings: tuple[str, ...], dry_run: bool) -> list[dict[str, Any]]:
    """Apply PROFILE to params.yaml and print what it changes.

    params.yaml becomes profiles/sample.yaml overlaid with the profile and the settings, checked before it is
    written.

    \b
    Example:
      nightjar use sample
      nightjar use real --set ingest.natural_instructions.path=/data/natural-instructions --set split.train_tasks=24
    """
    from nightjar.core.files import write_text
    from pipelines.execution.profiles import apply
    from pipelines.project import places

    changes = apply(Path(), profile, settings, write=not dry_run)
    if not dry_run:
        write_text(places.PROFILE, f"{profile}\n")
    return [vars(change) for change in changes]
