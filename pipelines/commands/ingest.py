"""The command `ingest`: read a folder of a dataset, or check it as the contributors of its tasks do."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from nightjar.core.display import duration, first_ids
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_output, write_output
from nightjar.core.json_text import quote_short
from nightjar.core.tables import read_rejected
from pipelines.commands.console import bytes_bar, say, say_table
from pipelines.commands.options import FILE, OUTPUT, CommandResult, Listed, printed
from stages.ingest.check_folder import check_folder, inputs
from stages.ingest.datasets import ingest as read_dataset
from stages.ingest.datasets import names as datasets
from stages.ingest.datasets import output_folder


def _print_counts(counts: dict[str, Any]) -> None:
    _print_statistics(counts)
    if counts["collection"]:
        _print_collection(counts["collection"])


def _print_statistics(counts: dict[str, Any]) -> None:
    documents = counts["source"] is not None
    if documents:
        say(f"source: {counts['source']}")
    say(f"files: {counts['files']:,}, {counts['files_rejected']:,} of them rejected")
    if not documents:
        say(f"tasks: {counts['tasks']:,}")
    say(f"{'documents' if documents else 'instances'}: {counts['rows_out']:,}")
    say(f"rejected: {counts['rows_rejected']:,}")
    for reason, count in counts["reasons"].items():
        say(f"  {reason}: {count:,}")
    if counts["remarks"]:
        say("kept, with remarks:")
    for remark, count in (counts["remarks"] or {}).items():
        say(f"  {remark}: {count:,}")
    if counts["left_out"]:
        say(f"entries left out of tasks: {counts['left_out']:,}")
    if counts["lists"] is not None:
        lists = [
            f"{track} {role} {count:,}"
            for track, roles in counts["lists"].items()
            for role, count in roles.items()
        ]
        say(f"published lists: {', '.join(lists) or 'none'}")
    say(f"size: {counts['bytes']:,} bytes")
    say(f"time: {duration(counts['seconds'])}")


def _print_collection(collection: dict[str, Any], limit: int = 8) -> None:
    """Print a summary of the tasks: the figures of the paper's table 2, and the values that most tasks have."""
    distributions = collection.pop("distributions")
    say()
    for name, value in collection.items():
        say(f"{name}: {value:,}")
    for name in ("task_types", "languages", "domains"):
        text = ", ".join(f"{value} {tasks:,}" for value, tasks, _ in distributions[name][:limit])
        more = len(distributions[name]) - limit
        say(f"{name}: {text}{f', and {more:,} more' if more > 0 else ''}")


def _check(dataset: str, source: Path, output: Path | None) -> dict[str, Any]:
    """Check the files of a folder, and write what was found to `output` if given.

    Raises NightjarError for a folder in which nothing can be used, and for an `output` that must not be written.
    """
    tasks = dataset == "natural_instructions"
    used = list[Path]()
    if output is not None:
        used = list(inputs(source)) if tasks else [source]
        check_output(output, used)
    with bytes_bar(f"checking {dataset}") as progress:
        result = check_folder(source, progress).as_dict() if tasks else _rows(dataset, source, progress)
    if output is not None:
        write_output(output, json.dumps(result, indent=2, ensure_ascii=False) + "\n", used)
    return result


def _rows(dataset: str, source: Path, progress: Callable[[int, int], None] | None) -> dict[str, Any]:
    """Read a folder as the stage does, keep nothing, and list every row that is rejected, with the reason."""
    with tempfile.TemporaryDirectory() as folder:
        folder_of_dataset = Path(folder) / dataset
        counts = read_dataset(dataset, source, folder_of_dataset, progress).as_dict()
        rejected = read_rejected(folder_of_dataset).to_pylist()
    return {
        "dataset": dataset,
        "rows": counts["rows_in"],
        "errors": len(rejected),
        "remarks": counts["remarks"] or {},
        "rejected": rejected,
    }


def _print_rows(result: dict[str, Any]) -> None:
    for row in result["rejected"]:
        name = f" {row['id']}" if row.get("id") else ""
        say(f"{row['file']}{name}: {row['reason']}: {quote_short(row['raw'], 100)}")
    for remark, count in result["remarks"].items():
        say(f"kept: {remark}: {count:,}")
    say(f"{result['rows']:,} rows, {result['errors']:,} rejected")


def _print_report(report: dict[str, Any]) -> None:
    for task, findings in itertools.groupby(report["findings"], key=lambda finding: finding["task_id"]):
        say(task or "the documents of the folder")
        for finding in findings:
            of = f" ({len(finding['ids']):,}: {first_ids(finding['ids'])})" if finding["ids"] else ""
            say(f"  {finding['level']:8} {finding['check']:>2} {finding['name']}: {finding['message']}{of}")
    say()
    columns = ("check", "name", "status", "error", "warning", "allowed")
    say_table([{key: line[key] for key in columns} for line in report["checks"]], "tasks by check")
    say()
    for line in report["checks"]:
        for text in filter(None, (line["note"], line["published"] and f"as published: {line['published']}")):
            say(f"{line['check']:>2} {line['name']}: {text}")
    counts = f"{report['errors']:,} errors, {report['warnings']:,} warnings, {report['allowed']:,} allowed"
    say()
    say(f"{report['files']:,} files, {report['instances']:,} instances: {counts}")


@click.command()
@click.option("--dataset", required=True, cls=Listed, names=datasets)
@click.option("--input", "source", required=True, type=FILE, help="The folder of the dataset's own files.")
@click.option(
    "--output",
    type=OUTPUT,
    help="The folder to write: new, empty, or an older artifact of the dataset, which is replaced. With --check a "
    "JSON file, if one is wanted.",
)
@click.option("--check", is_flag=True, help="Write no tables: list what is wrong with the files.")
@printed()
def ingest(dataset: str, source: Path, output: Path | None, check: bool) -> CommandResult:
    """Read any folder of a dataset into Parquet, with the rejected rows and their reasons.

    With --check, list for each task which of the fifteen automatic checks of Super-NaturalInstructions'
    contributors fail, and for which instances. The levels follow the published code. What that code refuses
    is an error, and a link is a warning. What it accepts against its own messages is shown as allowed. A
    check whose document (doc/task-hierarchy.md, tasks/README.md, splits/) is not in the folder counts as
    not checked. For other datasets --check lists every row that would be rejected, with the reason. Exit
    status: 0 without errors, 1 with errors, 2 wrong input.

    \b
    Example:
      nightjar ingest --dataset natural_instructions --input tasks/ --output out/
      nightjar ingest --dataset natural_instructions --input natural-instructions/ --check
    """
    if check:
        result = _check(dataset, source, output)
        show = _print_report if "findings" in result else _print_rows
        return CommandResult(result, show, status=int(bool(result["errors"])))
    if output is None:
        raise NightjarError("Missing option '--output'", "ingest", "say where to write, or give --check")
    with output_folder(dataset, source, output) as folder, bytes_bar(f"reading {dataset}") as progress:
        counts = read_dataset(dataset, source, folder, progress).as_dict()
    return CommandResult(counts, _print_counts)
