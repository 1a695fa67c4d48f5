"""The command line `nightjar`. Its commands live in commands/, imported when called.

nightjar --help
nightjar rebuild --help
"""

from __future__ import annotations

import getpass
import importlib
import os
import sys

import click

from nightjar.core import display, startup
from nightjar.core.errors import NightjarError, from_os_error, shortened
from stages._runtime import standard_streams

# What the help says of each command, by group.
GROUPS = {
    "Run": {
        "plan": "Show what a rebuild would run, why, and how long it takes.",
        "rebuild": "Run the stages that changed, in parallel, as a Prefect flow.",
        "nightly": "Evaluate every benchmark again and test for changes.",
        "study": "Run the graph at several settings; write a table and a plot.",
        "use": "Apply a profile to params.yaml and print what it changes.",
        "clean": "List or remove outputs that no stage has any more.",
    },
    "Evaluate": {
        "evaluate": "Evaluate any model: predictions, scores, a report.",
        "tasks": "List the benchmarks, or check a task file of your own.",
        "score": "Score predictions of any origin, or analyse references.",
        "compare": "Compare two prediction sets, or data/ with another version.",
        "prompts": "Write the test prompts for a model of your own to answer.",
        "submission": "Write or check a leaderboard's file of predictions.",
        "judge": "Let people compare two sets of answers blindly; score them.",
        "ask": "Ask a system a question, and show its tool calls.",
        "export": "Write a trained system as a model that transformers loads.",
    },
    "Data": {
        "fetch": "Fetch published data by name, checked, with its licence.",
        "ingest": "Read any folder of a dataset into Parquet, or check its tasks.",
        "references": "Write the references of a benchmark.",
    },
    "Inspect": {
        "doctor": "Check environment, data, models, GPU, disk and ports.",
        "check": "Check artifacts on disk.",
        "ledger": "Show the nightly runs and their verdicts.",
        "diff": "Show rows added, removed or changed between two versions.",
        "trace": "Follow a prediction back to the raw line it came from.",
        "encode": "Print the exact model input of an instance.",
        "call": "Run one tool call and print its result.",
    },
    "Serve": {
        "ui": "Start the Prefect server of this project.",
        "serve": "Run the nightly on its schedule, and runs started in the UI.",
    },
}
COMMANDS = [name for group in GROUPS.values() for name in group]
# A command is in the module of its name, unless this has another.
MODULES = {
    "ledger": "nightly",
    "clean": "plan",
    "ui": "serve",
    "references": "score",
    **dict.fromkeys(("diff", "trace"), "versions"),
}
# Commands of the last release that are now an option of another: they work for this release.
FORMER = {"analyse": ("score", "--analysis"), "report": ("compare", "--against")}
# Those whose exit status says how a run ended, whether or not its output could be written.
RUNS = frozenset({"rebuild", "nightly", "study", "serve", "ui", "evaluate"})


class Commands(click.Group):
    """A group whose commands are imported when called, and whose errors are one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return COMMANDS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        if cmd_name in FORMER:
            command_name, option = FORMER[cmd_name]
            _print_error(
                f"`nightjar {cmd_name}` is now `nightjar {command_name} {option}`; it works for one release"
            )
            return self.get_command(ctx, command_name)
        if cmd_name not in COMMANDS:
            raise click.exceptions.NoSuchCommand(cmd_name, possibilities=COMMANDS, ctx=ctx)
        module = importlib.import_module(f"pipelines.commands.{MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by group, without importing them."""
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="nightjar")
def cli() -> None:
    """Train and re-evaluate instruction-following language models that call tools and use evidence.

    Run it in the project's root. Exit status: 0 success, 1 a stage failed, 2 wrong input, 130 stopped.

    \b
    Example:
      nightjar plan
      nightjar rebuild
    """


def main(arguments: list[str] | None = None) -> None:
    """The console script: run the command line and exit.

    A reader that has left, such as `head`, changes no exit status. Output that was lost otherwise is an
    error of a command that only prints; the status of one that runs stages says how the run ended.
    """
    # Commands have a bar of their own, which bars of other packages would break into lines.
    os.environ.setdefault("TQDM_DISABLE", "1")
    _name_account()
    standard_streams.protect()
    startup.collect_seldom()
    try:
        code = cli.main(arguments, prog_name="nightjar", standalone_mode=False)
        status = code if isinstance(code, int) else 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        status = 2
    except (Exception, KeyboardInterrupt) as error:
        line, status = _explained(error)
        _print_error(line)
    if (fault := standard_streams.lost()) is not None:
        what = f"part of the output is lost ({fault.strerror})"
        _print_error(str(NightjarError(what, "standard output", "write it elsewhere, or make room")))
        words = sys.argv[1:] if arguments is None else arguments
        if not any(word in RUNS for word in words[:1]):
            status = status or 2
    raise SystemExit(status)


def _name_account() -> None:
    """Give an account without a name its number as a name: DVC and Prefect ask for one."""
    try:
        getpass.getuser()
    except (KeyError, OSError, ImportError):
        os.environ["USER"] = str(os.getuid())


def _lacks_home(error: RuntimeError) -> bool:
    """Return true for the error of an account without a home directory, as pathlib and platformdirs raise it."""
    return "home directory" in str(error)


def _explained(error: BaseException) -> tuple[str, int]:
    """Return what went wrong in one line, and the exit status. Raises an error that is a fault of Nightjar's own."""
    if isinstance(error, NightjarError):
        return str(error), 2
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return "stopped", 130
    if isinstance(error, click.ClickException):
        text = " ".join(error.format_message().split())
        if not isinstance(error, click.UsageError):
            return text, 2
        command = error.ctx.command_path if error.ctx else "nightjar"
        where = f"{command.removeprefix('nightjar ')}: " if " " in command else ""
        see = " See" if text.endswith("?") else "; see"
        return f"{where}{text.rstrip('.')}{see} {command} --help", 2
    if isinstance(error, RuntimeError) and _lacks_home(error):
        fix = "set it to a folder of yours: export HOME=FOLDER"
        return str(NightjarError("this account has no home directory", "HOME", fix)), 2
    if isinstance(error, OSError) and (fault := from_os_error(error, "nightjar")):
        return str(fault), 2
    raise error


def _print_error(line: str) -> None:
    from pipelines.commands.console import say  # here, not above: help needs none of it

    say(f"nightjar: {shortened(display.printable(line))}", err=True)
