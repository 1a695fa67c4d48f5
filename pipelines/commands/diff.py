"""The command `diff`: what changed in an artifact between two versions of the project."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from pipelines.commands.console import bytes_bar, say, say_table
from pipelines.commands.options import printed

SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def _short(kind: str, row: dict[str, Any], width: int) -> dict[str, Any]:
    """An example with its texts cut to `width` characters; of two versions, around their first difference."""
    if kind != "changed":
        return {name: _cut(value, 0, width) for name, value in row.items()}
    cells = {}
    for name, cell in row["columns"].items():
        same = os.path.commonprefix([_text(cell[side]) for side in "ab"])  # noqa: RUF071
        cells[name] = {side: _cut(cell[side], len(same) - width // 4, width) for side in "ab"}
    return {"key": row["key"], "columns": cells}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _shown(value)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _cut(value: Any, start: int, width: int) -> Any:
    """The value, or `width` characters of its text from `start` on."""
    text = _text(value)
    if width == 0 or value is None or isinstance(value, int | float) or len(text) <= width:
        return value
    start = max(0, min(start, len(text) - width))
    end = start + width
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _print(found: dict[str, Any]) -> None:
    for version in (found["a"], found["b"]):
        if "note" in version:
            say(version["note"])
    artifact = found["artifact"]
    if found["same"]:
        revisions = " and ".join(found[side]["revision"] for side in "ab")
        say(f"{artifact}: no row and no file differs between {revisions}.")
        return
    rows = []
    for table in found["tables"]:
        counts = {**table["rows"], "parts that differ": sum(table["parts"].values())}
        rows.append({"table": table["table"]} | {name: f"{count:,}" for name, count in counts.items()})
    say_table(rows, right=(*SIGNS, "parts that differ"))
    for table in found["tables"]:
        if not table["same"]:
            _print_table(table)
    for file in found["files"]:
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
            say(f"  {SIGNS[kind]} {' '.join(map(_shown, key.values()))}".rstrip())
            cells = row["columns"] if kind == "changed" else row
            for name, cell in cells.items():
                if name not in key:
                    text = " → ".join(_shown(cell[it]) for it in "ab") if kind == "changed" else _shown(cell)
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
@printed(_print)
def diff(a: str, b: str, artifact: str, table: str | None, examples: int, width: int) -> dict[str, Any]:
    """What changed in ARTIFACT from version A to version B: rows added, removed and changed, by key.

    A and B are branches, tags, commits, names of experiments, or the word `workspace`. ARTIFACT is the path of an
    output (data/split), of something in it, or of a folder of outputs. Reads DVC's cache; checks nothing out. Files
    that are no tables are compared by their hashes, tables of other repositories by whole rows. For all that differs
    between two versions see `dvc diff`, `dvc params diff` and `dvc metrics diff`.

    \b
    Example:
      nightjar diff HEAD workspace data/split
      nightjar diff v1 main data/predict/supernatinst/combined --table predictions --examples 10 --json
    """
    from pipelines.versions.diff import diff as compare

    with bytes_bar("comparing") as progress:
        found = compare(Path(), a, b, artifact, table, examples, progress)
    for one in found["tables"]:
        for kind, rows in one["examples"].items():
            one["examples"][kind] = [_short(kind, row, width) for row in rows]
    return found
