"""The command `use`: apply a profile to params.yaml."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import click

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from nightjar.core.json_text import quote_short
from nightjar.params.profile_values import moved_tools, names
from pipelines.commands.console import say
from pipelines.commands.options import CommandResult, printed
from pipelines.commands.plan_profile import show_missing
from pipelines.fetch.needs import needs
from pipelines.process.lock import rebuild_lock
from pipelines.project.applied_profile import added_by_user, profile_notes
from pipelines.run.profiles import apply, values_with

# Of a value, in characters: an entry may hold a whole mapping.
LONGEST = 80


def _print(changes: list[dict[str, Any]]) -> None:
    for change in changes:
        old, new = (
            quote_short(json.dumps(change[name], ensure_ascii=False), LONGEST, quoted=False)
            for name in ("old", "new")
        )
        values = {"added": f"{new} (added)", "removed": f"{old} -> (removed)"}
        say(f"{change['key']}: {values.get(change['kind'], f'{old} -> {new}')}")
    if not changes:
        say("params.yaml is so already.")


def _missing(profile: str, settings: Sequence[str]) -> None:
    """Name the missing inputs of the stages that the profile is for, below the changes."""
    values = values_with(Path(), profile, settings)
    show_missing(
        needs(Path(), values, profile_notes(Path(), profile).targets)[1], err=True, before="nightjar: use: "
    )


@click.command()
@click.argument("profile", required=False)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="One more setting; may be repeated."
)
@printed()
def use(profile: str | None, settings: tuple[str, ...]) -> CommandResult:
    """Apply PROFILE to params.yaml and print what it changes.

    The new params.yaml is profiles/defaults.yaml with the changes of the profile and of --set. It is checked
    before it is written. The command lists missing data and weights of the
    stages that the profile is for, and what fetches them. Entries of your
    own in params.yaml are removed, unless a profile in profiles/ has them. A warning then names them and
    the copy of the file. `nightjar plan --profile` says before what a profile would run and need.

    \b
    Example:
      nightjar use sample
      nightjar use real --set ingest.natural_instructions.path=/data/natural-instructions --set split.train_tasks=24
    """
    if profile is None:
        fix = f"give one of {', '.join(names(Path()))}"
        raise NightjarError("no profile is named", "use", fix)
    # The stages that a rebuild has not started yet would read the new parameters. Without the file none runs.
    with rebuild_lock(Path(), fix="wait for it") if paths.REBUILD_LOCK.exists() else nullcontext():
        changes = apply(Path(), profile, settings)
    for file, systems in moved_tools(Path(), profile).items():
        forms = (f"{name} (tools: {keys['tools']}, index: {keys['index']})" for name, keys in systems.items())
        message = f"moved the index of tools out of `tools`: {', '.join(forms)}"
        say(f"nightjar: use: {file}: {message}; write this into the profile", err=True)
    if lost := added_by_user(Path(), changes):
        keep = "to keep them, write them to profiles/NAME.yaml and run: nightjar use NAME"
        what = f"removed, and in no profile: {', '.join(lost)}; {keep}; params.yaml before: {paths.PARAMS_BEFORE}"
        say(f"nightjar: use: {what}", err=True)
    write_text(paths.PROFILE, f"{profile}\n")
    if Path("dvc.yaml").is_file():
        click.get_current_context().call_on_close(partial(_missing, profile, settings))
    return CommandResult([vars(change) for change in changes], _print)
