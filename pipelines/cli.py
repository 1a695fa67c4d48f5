"""The command line `nightjar`. Its commands live in commands_*.py, imported when called.

nightjar --help
nightjar rebuild --help
"""

from __future__ import annotations

import importlib
import sys

import click

from stages import garbage
from stages.errors import NightjarError, from_os_error

# Command: (module, what the list of commands says of it).
COMMANDS = {
    "plan": ("pipelines.commands_plan", "What a rebuild would do, why, and how long it would take."),
    "rebuild": ("pipelines.commands_run", "Rebuild what changed, side by side, shown in the Prefect UI."),
    "check": ("pipelines.commands_verify", "Check artifacts as they stand on disk."),
    "ui": ("pipelines.commands_run", "Start the Prefect server of this project and say where to open it."),
    "serve": ("pipelines.commands_serve", "Run the nightly when it is due, and what is started in the UI."),
    "nightly": ("pipelines.commands_nightly", "Evaluate every benchmark afresh; has a score moved?"),
    "ledger": ("pipelines.commands_nightly", "The nightly runs and their verdicts."),
    "use": ("pipelines.commands_data", "Apply a profile to params.yaml and print what it changes."),
    "ingest": ("pipelines.commands_data", "Read any folder of a dataset into Parquet, or check its tasks."),
    "score": ("pipelines.commands_score", "Score anybody's predictions."),
    "compare": ("pipelines.commands_score", "Compare two prediction sets: difference, interval, p."),
    "references": ("pipelines.commands_score", "Write the references that others score against."),
    "prompts": ("pipelines.commands_score", "Write the test prompts for a model of your own to answer."),
    "judge": ("pipelines.commands_judge", "Let people compare two sets of answers blindly, and score it."),
    "call": ("pipelines.commands_data", "Run one tool call and print its result."),
    "encode": ("pipelines.commands_encode", "Print the exact model input of an instance."),
    "study": ("pipelines.commands_study", "Vary one setting: experiments to a table and a plot."),
    "diff": ("pipelines.commands_diff", "Rows added, removed or changed between two versions."),
    "trace": ("pipelines.commands_data", "Follow a prediction back to the raw line it came from."),
}


class Commands(click.Group):
    """A group whose commands are imported when called, and whose errors are one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(COMMANDS[cmd_name][0]), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="nightjar")
def cli() -> None:
    """Train and re-evaluate instruction-following language models that call tools and use evidence.

    Run it in the project's root. Exit status: 0 all is well, 1 a stage failed, 2 wrong input, 130 stopped.

    \b
    Example:
      nightjar plan
      nightjar rebuild
    """


def main(arguments: list[str] | None = None) -> None:
    """The console script: run the command line and exit."""
    garbage.seldom()
    try:
        code = cli.main(arguments, prog_name="nightjar", standalone_mode=False)
    except NightjarError as error:
        _fail(str(error), 2)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        raise SystemExit(2) from None
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "nightjar"
        where = f"{command.removeprefix('nightjar ')}: " if " " in command else ""
        _fail(f"{where}{' '.join(error.format_message().split()).rstrip('.')}; see {command} --help", 2)
    except click.ClickException as error:
        _fail(" ".join(error.format_message().split()), 2)
    except (click.Abort, KeyboardInterrupt):
        _fail("stopped", 130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader, such as `head`, has left: nothing more to say
        raise SystemExit(141) from None
    except OSError as error:
        told = from_os_error(error, "nightjar")
        if told is None:
            raise
        _fail(str(told), 2)
    raise SystemExit(code if isinstance(code, int) else 0)


def _fail(line: str, code: int) -> None:
    print(f"nightjar: {line}", file=sys.stderr)
    raise SystemExit(code)
