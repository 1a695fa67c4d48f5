"""The command `fetch`: published data by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from nightjar.core.config import PARAMS_FILE, read_text
from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from pipelines.commands.console import bytes_bar, say, say_table
from pipelines.commands.options import CommandResult, printed
from pipelines.fetch import downloads, sources
from pipelines.fetch.sources import Named
from pipelines.process.lock import locked
from pipelines.project.applied_profile import applied
from pipelines.run.profiles import edited


def _print_list(parts: Sequence[dict[str, Any]]) -> None:
    terms = {part["name"]: f" ({part['terms']})" if part["terms"] else "" for part in parts}
    say_table(
        [
            {
                "name": part["name"],
                "megabytes": part["megabytes"],
                "for": part["for"],
                "licence": part["licence"] + terms[part["name"]],
                "source": part["sources"][0].removeprefix("https://"),
            }
            for part in parts
        ]
    )


def _print_fetched(parts: Sequence[dict[str, Any]]) -> None:
    for part in parts:
        say(f"{part['name']}: {part['state']}, {part['files']} files, {part['licence']}")
    settings = {key: text for part in parts for key, text in part["settings"].items()}
    options = " ".join(f"--set {key}={text}" for key, text in settings.items())
    say(f"To read them: nightjar use {parts[0]['profile']} {options}")


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "listed", is_flag=True, help="Print every data set, its size, licence and use.")
@click.option("--accept-licence", is_flag=True, help="Accept the terms of sources that have some.")
@click.option("--use", "use_it", is_flag=True, help="Write the paths of the data sets to params.yaml.")
@printed()
def fetch(names: tuple[str, ...], listed: bool, accept_licence: bool, use_it: bool) -> CommandResult:
    """Fetch published data sets into data/fetched, at a fixed revision, checked.

    A NAME is a data set or a part of one (DATASET/PART). Files that exist and are unchanged are not fetched
    again. An interrupted transfer resumes. data/fetched/DATASET.json says where each file comes from.

    \b
    Example:
      nightjar fetch --list
      nightjar fetch protoqa/questions tool_use/svamp --use
    """
    if listed:
        parts = sources.choose(names) if names else list(sources.table().values())
        return CommandResult([_described(part) for part in parts], _print_list)
    if not names:
        raise NightjarError("no data set is named", "fetch", "give names; nightjar fetch --list prints them")
    return CommandResult(_fetch(Path(), sources.choose(names), accept_licence, use_it), _print_fetched)


def _described(part: Named) -> dict[str, Any]:
    about = part.about
    return {
        "name": str(part),
        "for": about.use,
        "megabytes": about.megabytes,
        "licence": about.licence,
        "terms": about.terms,
        "citation": about.citation,
        "sources": [source.address for source in about.sources],
    }


def _fetch(root: Path, parts: list[Named], accepted: bool, use_it: bool) -> list[dict[str, Any]]:
    if not accepted and (restricted := [part for part in parts if part.about.terms]):
        terms = "; ".join(f"{part} ({part.about.licence}: {part.about.terms})" for part in restricted)
        raise NightjarError(f"has terms to accept: {terms}", "fetch", "read them, then give --accept-licence")
    with locked(root, downloads.LOCK, "a fetch", fix="wait for it, and run the command again"):
        done = _get(root, parts)
    reads = {part.dataset: {part.reads: downloads.folder_of(part), **part.settings} for part in parts}
    if use_it:
        settings = {key: text for one in reads.values() for key, text in one.items()}
        write_text(root / PARAMS_FILE, edited(read_text(root / PARAMS_FILE), settings))
    profile = applied(root) or "sample"
    return [
        {**one, "licence": part.about.licence, "settings": reads[part.dataset], "profile": profile}
        for part, one in done
    ]


def _get(root: Path, parts: list[Named]) -> list[tuple[Named, dict[str, Any]]]:
    """Fetch the parts that are not there, and version all of them; each with what is printed of it."""
    done = []
    try:
        for part in parts:
            present = downloads.is_there(root, part)
            if not present:
                with bytes_bar(str(part)) as bar:
                    downloads.fetch(root, part, bar or (lambda done, total: None))
            files = downloads.records(root, part.dataset)[part.part].files
            state = "unchanged" if present else "fetched"
            done.append((part, {"name": str(part), "state": state, "files": len(files)}))
    finally:  # those before one that failed are complete
        new = [part.dataset for part, one in done if one["state"] == "fetched"]
        old = [part.dataset for part, _ in done if not downloads.is_versioned(root, part.dataset)]
        if datasets := dict.fromkeys([*new, *old]):
            downloads.add_to_dvc(root, datasets)
    return done
