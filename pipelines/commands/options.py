"""Options that several commands have, and the option --json."""

from __future__ import annotations

import errno
import functools
import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from nightjar.core.display import stdout_kept
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.json_text import is_text
from nightjar.models.source import ModelSource
from pipelines.commands.console import say_csv, say_json

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


class _Name(click.Path):
    """A path that the system can follow, and not empty: Path("") would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the name is empty", param, ctx)
        path = super().convert(value, param, ctx)
        try:
            Path(value).stat()
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):  # at which pathlib ends in a traceback
                raise from_os_error(error, value) or error from None
        return path


class _Output(_Name):
    """A file or folder to write: checked before any work, by the one rule of `pipelines.project.outputs`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        if not param or path != param.default:
            # Here, not above: YAML takes long to load.
            from pipelines.project.outputs import check

            check(path)
        return path


class _Text(click.ParamType):
    """A text that files and models can hold. A byte that is not UTF-8 is half a character in an argument."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not is_text(value):
            self.fail("not UTF-8", param, ctx)
        return value


class Listed(click.Option):
    """An option whose help lists the values that it takes; `names` is called when the help is shown."""

    def __init__(
        self, *declared: Any, names: Callable[[], Iterable[str]], intro: str = "", **settings: Any
    ) -> None:
        super().__init__(*declared, **settings)
        self.names, self.intro = names, intro

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = f"{self.intro} One of: {', '.join(self.names())}.".lstrip()
        return super().get_help_record(ctx)


def _benchmarks() -> list[str]:
    from nightjar.benchmarks import registry

    return registry.names()


def _named(benchmark: str | None) -> str | None:
    from nightjar.benchmarks import own_task, registry

    if benchmark is None or not benchmark.endswith(own_task.SUFFIXES):
        return benchmark
    # These commands compare answers that are there: no row becomes a prompt for a server.
    return registry.add(Path(benchmark), allow_outside=True).name


FILE, OUTPUT, TEXT = _Name(path_type=Path), _Output(path_type=Path), _Text()
# Every number has two ends: one beyond them would end in a traceback far away.
COUNT, POSITIVE = click.IntRange(0, 1_000_000_000), click.IntRange(1, 1_000_000_000)
SEED = click.IntRange(0, 2**63 - 1)
PREDICTIONS = (
    "JSON Lines {id, prediction} or the published format, a leaderboard's file NAME.csv, a folder of data/predict, or "
    "the name of a baseline."
)
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
allow_outside_option = click.option(
    "--allow-outside", is_flag=True, help="The task file may name files outside of its folder."
)
jobs_option = click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1, 64),
    show_default="rebuild.jobs of params.yaml, else 2",
    help="Stages at once.",
)


def _benchmark_option(required: bool) -> Decorator:
    return click.option(
        "--benchmark",
        required=required,
        cls=Listed,
        names=_benchmarks,
        callback=lambda ctx, param, value: _named(value),
    )


benchmark_option, optional_benchmark_option = _benchmark_option(True), _benchmark_option(False)
references_option = click.option(
    "--references",
    type=FILE,
    help="JSON Lines {id, references, task, ...} or the published format. Default: the project's questions.",
)
encoder_option = click.option(
    "--encoder",
    type=FILE,
    metavar="FOLDER",
    help="A sentence encoder, such as models/base/sentence_encoder, for metrics that need one; none if not given.",
)


# Bootstrap resamples.
DEFAULT_SAMPLES = 1000


def samples_option(least: int) -> Decorator:
    """The option --samples. More than a million would take the memory of the machine."""
    samples = click.IntRange(least, 1_000_000)
    return click.option("--samples", type=samples, help=f"Bootstrap resamples.  [default: {DEFAULT_SAMPLES}]")


@dataclass(frozen=True)
class CommandResult:
    """The result of a command: a value that JSON can hold, and the function that prints it for people.

    `rows` returns the flat table of --csv; `status` is the exit status; `indent` is that of the JSON (None: one line).
    """

    value: Any
    show: Callable[[Any], None]
    rows: Callable[[Any], list[dict[str, Any]]] = list
    status: int = 0
    indent: int | None = 2

    def say(self, as_json: bool, as_csv: bool = False) -> None:
        """Print the result in one of its forms."""
        if as_csv:
            say_csv(self.rows(self.value))
        elif as_json:
            say_json(self.value, self.indent)
        else:
            self.show(self.value)


def printed(csv: bool = False) -> Decorator:
    """Give a command the option --json, and with `csv` also --csv: its `CommandResult` is printed when it ends."""

    def decorate(command: Command) -> Command:
        @as_json_option
        @functools.wraps(command)
        def run(*arguments: Any, as_json: bool, as_csv: bool = False, **options: Any) -> int:
            if as_json and as_csv:
                raise NightjarError("it is given with --json", "--csv", "give one of them")
            with stdout_kept():
                result: CommandResult = command(*arguments, **options)
            result.say(as_json, as_csv)
            return result.status

        csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print one flat table as CSV.")
        return csv_option(run) if csv else run

    return decorate


def require(**options: Any) -> None:
    """Raise click's error for an option that only this use of a command needs."""
    for name, value in options.items():
        if value is None:
            raise click.UsageError(f"Missing option '--{name}'.", click.get_current_context())


def refuse(why: str, **options: Any) -> None:
    """Raise NightjarError for options that this use of a command does not read."""
    if names := [f"--{name}" for name, value in options.items() if value is not None]:
        raise NightjarError(why, ", ".join(names), "leave it out" if len(names) == 1 else "leave them out")


def prepare_model(source: str = "") -> None:
    """Let a command load a model in this process: from files alone, without progress bars, and without the warnings of
    libraries about one another. Called before transformers is imported. Only a model of the hub, `source`, is fetched.
    """
    os.environ.update(TOKENIZERS_PARALLELISM="false", HF_HUB_DISABLE_PROGRESS_BARS="1")
    if ModelSource.parse(source).kind != "hub":
        os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.simplefilter("ignore", FutureWarning)


def use_device(device: str | None) -> None:
    """Let models be computed on this device alone; None: the first GPU, or else the processor.

    Called before torch is used. Raises NightjarError for another name, and for a GPU that torch does not see.
    """
    if device is None:
        return
    kind, _, number = device.partition(":")
    if device != "cpu" and (kind != "cuda" or not (number.isdecimal() or device == kind)):
        raise NightjarError("no such device", f"--device {device}", "give cpu, cuda or cuda:N")
    if device != kind or kind == "cpu":
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        chosen = visible[int(number)] if number and int(number) < len(visible) and visible[0] else number
        os.environ["CUDA_VISIBLE_DEVICES"] = chosen
    if kind == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise NightjarError("torch finds no such GPU", f"--device {device}", "give cpu, or leave it out")
