"""The command `study`: the same graph at several values of some settings, as DVC experiments, to a table and a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nightjar.core.errors import NightjarError
from nightjar.core.identity import safe_name
from pipelines.commands.console import say, say_table
from pipelines.commands.options import CommandResult, printed
from pipelines.study import point_results, study_points

# The exit status of a run that was stopped.
STOPPED = 130


def _folder(ctx: click.Context, option: click.Parameter, name: str | None) -> str | None:
    """The name of a folder. Raises NightjarError if it is none."""
    if name is not None and (not name or name.startswith(".") or safe_name(name) != name):
        what = f"{name[:40]!r} is not a folder's name"
        raise NightjarError(what, "--name", "give letters, digits and . - _ @, such as tasks-small")
    return name


def _print_plan(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        say(f"{'done' if row['done'] else 'to do':6} {row['experiment']}  ({row['value']})")
    say(f"{len(rows)} experiments, {sum(not row['done'] for row in rows)} to do.")


def _print(result: dict[str, Any]) -> None:
    for track, metrics in point_results.by_track(result).items():
        say()
        say_table(point_results.table(result, track, metrics), point_results.title(result, track))
    for line in point_results.published(result):
        say(f"Published: {line}")
    for point in result["points"]:
        if point["state"] != "done":
            say(f"nightjar: study: {point['value']} {point['state']}: {point['error']}", err=True)
    say(f"The results: {result['folder']}")
    say("The experiments: dvc exp show --only-changed")


def _result(result: dict[str, Any]) -> CommandResult:
    failed = any(it["state"] == "failed" for it in result["points"])
    return CommandResult(result, _print, point_results.flat, status=int(failed))


@click.command()
@click.argument("settings", nargs=-1, required=True, metavar="KEY=V1,V2…")
@click.option(
    "--benchmark",
    help="The benchmark that is scored. Default: the first with a system that depends on the keys.",
)
@click.option(
    "--recipe", help="The system whose predictions are scored. Default: the first that was trained."
)
@click.option("--name", callback=_folder, help="Folder under data/studies. Default: named after the keys.")
@click.option("--wait", is_flag=True, help="Wait for a rebuild or a study that is running already.")
@click.option("--dry-run", is_flag=True, help="Print the experiments and which are missing; run nothing.")
@printed(csv=True)
def study(
    settings: tuple[str, ...],
    benchmark: str | None,
    recipe: str | None,
    name: str | None,
    wait: bool,
    dry_run: bool,
) -> CommandResult:
    """Run the graph at several values of any settings: a DVC experiment each, then a table and a plot.

    KEY is a key of params.yaml; values are YAML. Several keys give the product of their values. Each point
    is compared with the first. The studies of the papers have names and default values: `tasks`,
    `instances`, `encodings`, `calls`, `candidates`, `passages`, `granularity`, `retriever`, `input_length`.
    The studies `models` and `reranker` need directories of models as values. The same command resumes an
    interrupted study. Results are in data/studies.

    \b
    Example:
      nightjar study tasks=4,8,16
      nightjar study train.tk_instruct.learning_rate=1e-4,1e-3 train.tk_instruct.epochs=1,2
      nightjar study calls --benchmark tool_use --recipe toolformer
      nightjar study index.granularity=words,sentences readers.pgra.passages=4,8,16
      nightjar study encodings=def,def_pos2 predict.supernatinst.encoding=def,def_pos2
    """
    root = Path.cwd()
    plan = study_points.plan(root, settings, benchmark, recipe, name)
    if dry_run:
        missing = plan.missing(root)
        rows = [{"value": it.label, "experiment": it.name, "done": it not in missing} for it in plan.points]
        return CommandResult(rows, _print_plan)
    if not plan.missing(root):
        say(f"{len(plan.points)} experiments, all done already", err=True)
        return _result(study_points.finish(root, plan, {}))
    from pipelines.commands.flow_run import flow_run

    result: dict[str, Any] = {}
    prepared = (plan, lambda line: say(line, err=True), result)
    ignore = lambda _: None  # noqa: E731
    with flow_run(root, "study", ignore, ignore, prepared, as_json=True) as terminal:
        terminal.flow(list(settings), benchmark, recipe, wait, return_state=True)
    if terminal.status == STOPPED:
        raise KeyboardInterrupt
    return _result(result)
