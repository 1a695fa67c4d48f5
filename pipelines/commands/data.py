"""The commands that work on data: use, ingest, call, trace. They call the functions of stages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import click

from nightjar.core.errors import NightjarError
from pipelines.commands.console import bytes_bar, say, say_json, say_text


class _Name(click.Path):
    """A path that is not empty: Path("") would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the name is empty", param, ctx)
        return super().convert(value, param, ctx)


class Listed(click.Option):
    """An option whose help lists the values that it takes; `names` is called when the help is shown."""

    def __init__(self, *declared: Any, names: Callable[[], Iterable[str]], **settings: Any) -> None:
        super().__init__(*declared, **settings)
        self.names = names

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = f"One of: {', '.join(self.names())}."
        return super().get_help_record(ctx)


def _datasets() -> Iterable[str]:
    from stages.ingest.datasets import names

    return names()


FILE = _Name(path_type=Path)
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command()
@click.argument("profile")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="One more setting; may be repeated."
)
@click.option("--dry-run", is_flag=True, help="Print the difference and write nothing.")
@as_json_option
def use(profile: str, settings: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
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
    from pipelines.graph.describe import PROFILE

    changes = apply(Path(), profile, settings, write=not dry_run)
    if not dry_run:
        write_text(PROFILE, f"{profile}\n")
    if as_json:
        say_json([{"key": change.key, "old": change.old, "new": change.new} for change in changes])
        return
    for change in changes:
        old, new = (json.dumps(value, ensure_ascii=False) for value in (change.old, change.new))
        say(f"{change.key}: {old} -> {new}")
    if not changes:
        say("params.yaml is so already.")


@click.command()
@click.option("--dataset", required=True, cls=Listed, names=_datasets)
@click.option("--input", "source", required=True, type=FILE, help="The folder of the dataset's own files.")
@click.option(
    "--output",
    type=FILE,
    help="The folder to write: new, empty, or an older artifact of the dataset, which is replaced. With --check a "
    "JSON file, if one is wanted.",
)
@click.option("--check", is_flag=True, help="Write no tables: run the contributors' checks.")
@click.option("--strict", is_flag=True, help="With --check: what the published checks let pass is an error.")
@as_json_option
def ingest(dataset: str, source: Path, output: Path | None, check: bool, strict: bool, as_json: bool) -> int:
    """Read any folder of a dataset into Parquet, with the refused rows and the reasons beside it.

    With --check, tell for each task which of the fifteen automatic checks of Super-NaturalInstructions'
    contributors fail, and for which instances. The published code is followed: what it refuses is an error, a
    link is a warning, and what it lets pass against its own messages is told as allowed. A check whose document
    (doc/task-hierarchy.md, tasks/README.md, splits/) is not in the folder counts as not checked. Exit status: 0
    without errors, 1 with errors, 2 wrong input.

    \b
    Example:
      nightjar ingest --dataset natural_instructions --input tasks/ --output out/
      nightjar ingest --dataset natural_instructions --input natural-instructions/ --check
    """
    if check:
        from pipelines.commands.ingest_check import check as run_checks

        with bytes_bar(f"checking {dataset}") as progress:
            return run_checks(dataset, source, output, strict, as_json, progress)
    if strict:
        raise NightjarError("it goes with --check", "--strict", "give both, or neither")
    if output is None:
        raise NightjarError("Missing option '--output'", "ingest", "say where to write, or give --check")
    from stages.ingest.datasets import check_output
    from stages.ingest.datasets import ingest as run

    check_output(dataset, source, output)
    with bytes_bar(f"reading {dataset}") as progress:
        statistics = run(dataset, source, output, progress).as_dict()
    if as_json:
        say_json(statistics)
        return 0
    _print_statistics(statistics)
    if statistics["collection"]:
        _print_collection(statistics["collection"])
    return 0


def _print_statistics(statistics: dict[str, Any]) -> None:
    """What was read of tasks or of a corpus, and how long it took."""
    documents = statistics["source"] is not None
    if documents:
        say(f"source: {statistics['source']}")
    say(f"files: {statistics['files']:,}, {statistics['files_rejected']:,} of them rejected")
    if not documents:
        say(f"tasks: {statistics['tasks']:,}")
    say(f"{'documents' if documents else 'instances'}: {statistics['rows_out']:,}")
    say(f"rejected: {statistics['rows_rejected']:,}")
    for reason, count in statistics["reasons"].items():
        say(f"  {reason}: {count:,}")
    if statistics["remarks"]:
        say("kept, with remarks:")
        for remark, count in statistics["remarks"].items():
            say(f"  {remark}: {count:,}")
    if statistics["left_out"]:
        say(f"entries left out of tasks: {statistics['left_out']:,}")
    if statistics["lists"] is not None:
        lists = [
            f"{track} {role} {count:,}"
            for track, roles in statistics["lists"].items()
            for role, count in roles.items()
        ]
        say(f"published lists: {', '.join(lists) or 'none'}")
    say(f"size: {statistics['bytes']:,} bytes")
    say(f"time: {duration(statistics['seconds'])}")


def duration(seconds: float) -> str:
    """Seconds to read: 0.02 s, 12.3 s, 3 min 20 s."""
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def _print_collection(collection: dict[str, Any], most: int = 8) -> None:
    """What the tasks are: the figures of the paper's table 2, and the values that most tasks have."""
    distributions = collection.pop("distributions")
    say()
    for name, value in collection.items():
        say(f"{name}: {value:,}")
    for name in ("task_types", "languages", "domains"):
        told = ", ".join(f"{value} {tasks:,}" for value, tasks, _ in distributions[name][:most])
        more = len(distributions[name]) - most
        say(f"{name}: {told}{f', and {more:,} more' if more > 0 else ''}")


@click.command()
@click.argument("text", metavar="CALL")
@click.option(
    "--date", "day", metavar="YYYY-MM-DD", help="The day of the call, for Calendar; by default today."
)
@click.option("--resource", type=FILE, help="What the tool reads; WikiSearch by default data/index.")
@as_json_option
def call(text: str, day: str | None, resource: Path | None, as_json: bool) -> None:
    """Run one tool call and print its result.

    The tools are Calculator, Calendar, WikiSearch, QA, MT, and those of installed packages (entry points
    nightjar.tools). Their settings are those of params.yaml, where there is one.

    \b
    Example:
      nightjar call "Calculator(400 / 1400)"
      nightjar call "Calendar()" --date 2024-02-29
      nightjar call "WikiSearch(harbour museum)" --resource data/ingest/corpus
    """
    from nightjar.core.config import PARAMS_FILE
    from nightjar.core.params import load
    from nightjar.tools.run import call_text

    settings = load().tools if PARAMS_FILE.exists() else None
    result = call_text(text, _day(day), resource, settings)
    if as_json:
        say_json({"call": text, "result": result})
    else:
        say_text(result)


def _day(text: str | None) -> date:
    if text is None:
        return datetime.now().astimezone().date()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise NightjarError(f"{text!r} is not a date", "--date", "write it as 2024-02-29") from None


@click.command()
@click.argument("id")
@click.option("--system", help="Only this system, such as combined.")
@click.option("--benchmark", help="Only this benchmark, where several have the ID.")
@as_json_option
def trace(id: str, system: str | None, benchmark: str | None, as_json: bool) -> None:
    """Follow the prediction for the question ID (or TASK_ID:ID) back to the raw line it came from.

    \b
    Example:
      nightjar trace task1344-0a1b2c
      nightjar trace task1344_rte:task1344-0a1b2c --system combined --json
    """
    from pipelines.versions.trace import trace as walk

    found = walk(Path(), id, system, benchmark)
    if as_json:
        say_json(found)
        return
    question, raw = found["question"], found["raw"]
    kind = ", ".join(filter(None, (found["benchmark"], question["category"], question["track"])))
    say(f"{found['task_id']}:{found['id']}  ({kind})")
    for row in found["predictions"]:
        say()
        say(f"{row['system']}: {', '.join(map(repr, row['answers'])) or 'no answer'}")
        for it in row["calls"]:
            say(f"    call {it['tool']}({it['input']}) → {it['result']}")
        adapter = f", adapter {row['adapter_sha256'][:12]}" if row["adapter_sha256"] else ""
        seconds = "" if row["seconds"] is None else f", {row['seconds']:.2f} s"
        say(f"    model {row['model_sha256'][:12]}{adapter}; {row['new_tokens']} tokens{seconds}")
        say(
            f"    {row['artifact']}; prompt {row['prompt_sha256'][:12]}, {row['prompt_tokens']} tokens"
            f"{'' if row['prompt_intact'] else ', which is not the hash of the prompt that is stored'}"
        )
    say()
    say(f"references: {json.dumps(question['references'], ensure_ascii=False)}")
    for row in found["evidence"]:
        seen = ", ".join(row["systems"]) or "nobody"
        line = f":{row['raw']['line']}" if row["raw"] and row["raw"]["line"] else ""
        where = f"; {row['raw']['path']}{line} sha256 {row['raw']['sha256']}" if row["raw"] else ""
        say(
            f"evidence {row['rank']}{_moved(row)}: {row['document_id']} {row['title']!r} "
            f"(score {row['score']:.3f}), in the prompt of {seen}{where}"
        )
    say()
    say(f"prompt ({found['predictions'][0]['system']}):")
    say_text(found["predictions"][0]["prompt"])
    say()
    line = f":{raw['line']}" if raw["line"] else f" ({raw['note']})"
    say(f"raw: {raw['path'] or 'none'}{line}  sha256 {raw['sha256'] or 'none'}")
    for path, entry in found["artifacts"].items():
        say(f"dvc.lock: {path}  {entry['hash']}  ({entry['stage']})")


def _moved(row: dict[str, Any]) -> str:
    """The ranking of a passage, its rank before and its label, where it has them."""
    if "before" not in row:
        return ""
    before = f", before {row['before']['rank']} ({row['before']['score']:.3f})" if row["before"] else ""
    same = "consistent" if row["consistent"] else "not consistent"
    label = f", {row['label']}: {same}" if row["label"] is not None else ""
    return f" of {row['artifact']}{before}{label}"
