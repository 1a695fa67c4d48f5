"""How the commands score and compare take and print scores."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from nightjar.core.errors import NightjarError
from pipelines.commands.console import say, say_exact, say_json
from pipelines.commands.options import as_json_option

Found = dict[str, Any]
Command = TypeVar("Command", bound=Callable[..., Any])
# As for the stage (nightjar.core.config.Samples): more would take the memory of the machine.
MOST_SAMPLES = 1_000_000
ALL = "all tracks together (not a published number)"


def form_options(least_samples: int) -> Callable[[Command], Command]:
    """The options --samples, --json and --csv."""

    def decorate(command: Command) -> Command:
        samples = click.IntRange(least_samples, MOST_SAMPLES)
        csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print one flat table as CSV.")
        samples_option = click.option(
            "--samples", type=samples, default=1000, show_default=True, help="Bootstrap resamples."
        )
        return samples_option(as_json_option(csv_option(command)))

    return decorate


def check_form(as_json: bool, as_csv: bool) -> None:
    """Raise NightjarError for both --json and --csv."""
    if as_json and as_csv:
        raise NightjarError("it is given with --json", "--csv", "give one of them")


def say_as(
    found: Found,
    as_json: bool,
    as_csv: bool,
    rows: Callable[[Found], list[Found]],
    show: Callable[[Found], None],
) -> None:
    """Print a result as JSON, its `rows` as CSV, or by `show`."""
    if as_json:
        say_json(found)
    elif as_csv:
        flat, text = rows(found), io.StringIO()
        writer = csv.DictWriter(text, list(flat[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)
        say_exact(text.getvalue().removesuffix("\n"))
    else:
        show(found)


def card_of(result: Mapping[str, Any]) -> Any:
    """The card of the benchmark of a result."""
    from nightjar.benchmarks import registry

    return registry.card(result["benchmark"])


def say_head(result: Mapping[str, Any], missing: str) -> None:
    """Print the first line: what was scored. Each of several tracks is named further down."""
    only = ""
    if len(result["tracks"]) == 1:
        track = result["tracks"][0]
        only = f", task {track}" if card_of(result).files.by_task else f", {track_title(track, result)}"
    n = result["n"]
    say(f"{result['benchmark']}{only}: {n} instance{'s' * (n != 1)}{missing}")
    say()


def track_title(track: str, result: Mapping[str, Any]) -> str:
    """The title of a track, as the report has it."""
    return str(card_of(result).tracks.get(track, f"{track} track"))


def track_column(track: str, result: Mapping[str, Any]) -> Found:
    """The column of the track, where there are several."""
    return {"track": track_title(track, result)} if len(result["tracks"]) > 1 else {}
