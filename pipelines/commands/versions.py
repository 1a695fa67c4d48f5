"""The commands that look at another version of an artifact, and at where an answer came from: diff, trace."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.text import Text
from rich.tree import Tree

from nightjar.core.display import counted_as, printable
from nightjar.core.errors import NightjarError
from pipelines.commands.console import bytes_bar, say, say_table, say_tree
from pipelines.commands.options import CommandResult, printed
from pipelines.versions.number import is_number, trace_number
from pipelines.versions.trace import trace as walk

SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def _short(kind: str, row: dict[str, Any], width: int) -> dict[str, Any]:
    """An example with its texts cut to `width` characters; of two versions, around their first difference."""
    if kind != "changed":
        return {name: _cut(value, 0, width) for name, value in row.items()}
    cells = {}
    for name, cell in row["columns"].items():
        same = os.path.commonprefix([_as_text(cell[side]) for side in "ab"])  # noqa: RUF071
        cells[name] = {side: _cut(cell[side], len(same) - width // 4, width) for side in "ab"}
    return {"key": row["key"], "columns": cells}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else _json_text(value)


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _cut(value: Any, start: int, width: int) -> Any:
    """The value, or `width` characters of its text from `start` on."""
    text = _as_text(value)
    if width == 0 or value is None or isinstance(value, int | float) or len(text) <= width:
        return value
    start = max(0, min(start, len(text) - width))
    end = start + width
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _print_diff(difference: dict[str, Any]) -> None:
    for version in (difference["a"], difference["b"]):
        if "note" in version:
            say(version["note"])
    artifact = difference["artifact"]
    if difference["same"]:
        revisions = " and ".join(difference[side]["revision"] for side in "ab")
        say(f"{artifact}: no row and no file differs between {revisions}.")
        return
    rows = []
    for table in difference["tables"]:
        counts = {**table["rows"], "parts that differ": sum(table["parts"].values())}
        rows.append({"table": table["table"]} | {name: f"{count:,}" for name, count in counts.items()})
    say_table(rows, right=(*SIGNS, "parts that differ"))
    for table in difference["tables"]:
        if not table["same"]:
            _print_table(table)
    for name, how in difference["prompts"].items():
        ways = "; ".join(f"{difference[side]['revision']}: {how[side]}" for side in "ab")
        say(f"The prompts of {name} differ. {ways}.")
    for file in difference["files"]:
        hashes = " → ".join(digest[:12] for digest in (file["a"], file["b"]) if digest)
        say(f"{SIGNS[file['state']]} {file['path'] or artifact}  {hashes}")


def _print_table(table: dict[str, Any]) -> None:
    say()
    say(f"{table['table']}, by {', '.join(table['key']) or 'whole rows'}")
    for kind, columns in table["schema"].items():
        if columns:
            say(f"  columns {kind}: {', '.join(columns)}")
    if table["columns"]:
        counts = sorted(table["columns"].items(), key=lambda item: (-item[1], item[0]))
        say(f"  changed: {', '.join(f'{name} {count:,}' for name, count in counts)}")
    for kind, rows in table["examples"].items():
        for row in rows:
            key = row["key"] if kind == "changed" else {name: row[name] for name in table["key"]}
            say(f"  {SIGNS[kind]} {' '.join(map(_json_text, key.values()))}".rstrip())
            cells = row["columns"] if kind == "changed" else row
            for name, cell in cells.items():
                if name not in key:
                    text = (
                        " → ".join(_json_text(cell[it]) for it in "ab")
                        if kind == "changed"
                        else _json_text(cell)
                    )
                    say(f"      {name}: {text}")
        if rows and (more := table["rows"][kind] - len(rows)):
            say(f"  … {more:,} more {kind}")


@click.command()
@click.argument("a")
@click.argument("b")
@click.argument("artifact")
@click.option("--table", help="Only this table; all tables and files if not given.")
@click.option(
    "--examples", type=click.IntRange(0, 1000), default=3, show_default=True, help="Rows of a kind."
)
@click.option(
    "--width",
    type=click.IntRange(0, 1_000_000),
    default=80,
    show_default=True,
    help="Of a text; 0 for all of it.",
)
@printed()
def diff(a: str, b: str, artifact: str, table: str | None, examples: int, width: int) -> CommandResult:
    """Show what changed in ARTIFACT from version A to version B: rows added, removed and changed, by key.

    A and B are branches, tags, commits, names of experiments, or the word `workspace`. ARTIFACT is the path
    of an output (data/split), of something in it, or of a folder of outputs. The command reads DVC's cache
    and checks nothing out. Files that are no tables are compared by their hashes, tables of other
    repositories by whole rows. `dvc diff`, `dvc params diff` and `dvc metrics diff` show all differences
    between two versions.

    \b
    Example:
      nightjar diff HEAD workspace data/split
      nightjar diff v1 main data/predict/supernatinst/combined --table predictions --examples 10 --json
    """
    from pipelines.versions.diff import diff as compare

    with bytes_bar("comparing") as progress:
        difference = compare(Path(), a, b, artifact, table, examples, progress)
    for table_difference in difference["tables"]:
        for kind, rows in table_difference["examples"].items():
            table_difference["examples"][kind] = [_short(kind, row, width) for row in rows]
    return CommandResult(difference, _print_diff)


# Of a hash, in characters.
SHORT = 8


def _print_trace(traced: dict[str, Any]) -> None:
    """Print the way back as a tree; hashes are short, and prompts left out, without --full."""
    full = click.get_current_context().params["full"]
    question, raw = traced["question"], traced["raw"]
    kind = ", ".join(filter(None, (traced["benchmark"], question["category"], question["track"])))
    tree = _branch(None, f"{traced['id']} of {traced['task_id']} ({kind})")
    for row in traced["predictions"]:
        system = _branch(tree, f"{row['system']}: {', '.join(map(repr, row['answers'])) or 'no answer'}")
        for tool_call in row["calls"]:
            _branch(system, f"call {tool_call['tool']}({tool_call['input']}) → {tool_call['result']}")
        adapter = f", adapter {_digest(row['adapter_sha256'])}" if row["adapter_sha256"] else ""
        seconds = "" if row["seconds"] is None else f", {row['seconds']:.2f} s"
        _branch(system, f"model {_digest(row['model_sha256'])}{adapter}; {row['new_tokens']} tokens{seconds}")
        intact = "" if row["prompt_intact"] else ", which is not the hash of the prompt that is stored"
        prompt = f"prompt {_digest(row['prompt_sha256'])}{intact}, {row['prompt_tokens']} tokens"
        prompt_text = f"\n{row['prompt']}" if full else ""
        _branch(system, f"{prompt}; {row['artifact']}{prompt_text}")
    _branch(tree, f"references: {json.dumps(question['references'], ensure_ascii=False)}")
    evidence = _branch(tree, "evidence") if traced["evidence"] else tree
    for row in traced["evidence"]:
        about = (
            f"{row['rank']}{_ranking(row)}: {row['document_id']} {row['title']!r} (score {row['score']:.3f})"
        )
        passage = _branch(evidence, f"{about}, {_prompted(row['systems'])}")
        if row["raw"]:
            _branch(passage, _source(row["raw"]))
    _branch(_branch(tree, "raw"), _source(raw))
    _add_artifacts(tree, traced)
    say_tree(tree)


def _prompted(systems: Sequence[str]) -> str:
    """Return the systems whose prompts have a passage."""
    return f"in the prompt of {', '.join(systems)}" if systems else "in no prompt"


def _print_number(traced: dict[str, Any]) -> None:
    """Print the way back from a number as a tree, with the first rows of each table."""
    tree = _branch(None, traced["number"])
    for number in traced["numbers"]:
        group = "" if number["level"] == "overall" else f", {number['level']} {number['name']}"
        ends = "" if number["low"] is None else f" [{number['low']:g}, {number['high']:g}]"
        way = f"{number['statistic']} of {counted_as(number['n'], 'instance')} x {number['scale']:g}"
        same = (
            "" if number["recomputed"] == number["value"] else f", but its rows give {number['recomputed']}"
        )
        branch = _branch(tree, f"{number['track']}{group}: {number['value']:g}{ends}, {way}{same}")
        for step in number["steps"]:
            stage = f", {step['stage']}" if step["stage"] else ""
            table = f"{step['table']} of {step['artifact']}{stage}: {counted_as(step['rows'], 'row')}"
            rows = _branch(branch, table)
            for row in step["first"] if step["table"] != "scores" else ():
                _branch(rows, _row_text(row))
        if "note" in number:
            _branch(branch, number["note"])
    _add_artifacts(tree, traced)
    say_tree(tree)


def _row_text(row: dict[str, Any]) -> str:
    """A row on the way from a number: its instance, and what the table adds."""
    instance = f"{row['task_id']}:{row['id']}"
    if "part" in row:
        return f"{instance}  {row['part']} {row['unscaled']:g}"
    if "answers" in row:
        return f"{instance}  {', '.join(map(repr, row['answers'])) or 'no answer'}"
    if "references" in row:
        return f"{instance}  {json.dumps(row['references'], ensure_ascii=False)}"
    return f"{instance}  {_source(row['raw'])}" if row.get("raw") else instance


def _add_artifacts(tree: Tree, traced: dict[str, Any]) -> None:
    lock = _branch(tree, "dvc.lock")
    for path, entry in traced["artifacts"].items():
        _branch(lock, f"{path}  {_digest(entry['hash'])}  ({entry['stage']})")


def _digest(text: str | None) -> str:
    """A hash, without --full its first characters."""
    full = click.get_current_context().params["full"]
    return (text if full else text[:SHORT]) if text else "none"


def _source(raw: dict[str, Any]) -> str:
    """The place and the hash of a raw line."""
    line = f":{raw['line']}" if raw["line"] else f" ({raw.get('note', 'line not found')})"
    return f"{raw['path'] or 'no file'}{line}, sha256 {_digest(raw['sha256'])}"


def _branch(tree: Tree | None, text: str) -> Tree:
    branch = Text(printable(text, keep="\n"))
    return tree.add(branch) if tree else Tree(branch)


def _ranking(row: dict[str, Any]) -> str:
    """The ranking of a passage, its rank before and its label, where it has them."""
    if "before" not in row:
        return ""
    before = f", before {row['before']['rank']} ({row['before']['score']:.3f})" if row["before"] else ""
    same = "consistent" if row["consistent"] else "not consistent"
    label = f", {row['label']}: {same}" if row["label"] is not None else ""
    return f" of {row['artifact']}{before}{label}"


@click.command()
@click.argument("id", metavar="ID|NUMBER")
@click.option("--system", help="Only this system, such as combined.")
@click.option("--benchmark", help="Only this benchmark, where several have the ID.")
@click.option("--full", is_flag=True, help="Print whole hashes, and the prompts.")
@printed()
def trace(id: str, system: str | None, benchmark: str | None, full: bool) -> CommandResult:
    """Follow a prediction or a number of the report back to the raw lines it came from, as a tree.

    ID (or TASK_ID:ID) is that of a question. A NUMBER is BENCHMARK/SYSTEM/METRIC, or BENCHMARK/SYSTEM/METRIC/NAME of
    a task, category or track: the tables that it comes from, with counts and first rows.

    \b
    Example:
      nightjar trace task1344-0a1b2c
      nightjar trace task1344_rte:task1344-0a1b2c --system combined --json
      nightjar trace supernatinst/tk_instruct/rougeL
    """
    if is_number(Path(), id):
        if system or benchmark:
            option = "--system" if system else "--benchmark"
            raise NightjarError(f"{option} is for questions", id, "a number names its benchmark and system")
        return CommandResult(trace_number(Path(), id), _print_number)
    return CommandResult(walk(Path(), id, system, benchmark), _print_trace)
