"""What `nightjar ingest --check` prints and writes: the contributors' checks of a folder of task files."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import check_output, write_output
from pipelines.commands.console import say, say_json, say_table


def check(
    dataset: str,
    source: Path,
    output: Path | None,
    strict: bool,
    as_json: bool,
    progress: Callable[[int, int], None] | None,
) -> int:
    """Check a folder, print what was found, and write it to `output` if given; 1 if there is an error, else 0.

    Raises NightjarError for another dataset than natural_instructions, or an `output` that must not be written.
    """
    from stages.ingest.check_folder import check_folder, inputs

    if dataset != "natural_instructions":
        raise NightjarError(f"there are no checks of {dataset!r}", "--check", "give natural_instructions")
    if output is not None:
        check_output(output, inputs(source))
    report = check_folder(source, strict, progress)
    if output is not None:
        text = json.dumps(report.as_dict(), indent=2, ensure_ascii=False)
        write_output(output, text + "\n", inputs(source))
    if as_json:
        say_json(report.as_dict())
    else:
        _print(report.as_dict())
    return 1 if report.count("error") else 0


def _print(report: dict[str, Any]) -> None:
    from stages.ingest.findings import names

    for task, found in itertools.groupby(report["findings"], key=lambda finding: finding["task_id"]):
        say(task or "the documents of the folder")
        for it in found:
            of = f" ({len(it['ids']):,}: {names(it['ids'])})" if it["ids"] else ""
            say(f"  {it['level']:8} {it['check']:>2} {it['name']}: {it['message']}{of}")
    say()
    kept = ("check", "name", "status", "error", "warning", "allowed")
    say_table([{key: line[key] for key in kept} for line in report["checks"]], "tasks by check")
    say()
    for line in report["checks"]:
        for told in filter(None, (line["note"], line["published"] and f"as published: {line['published']}")):
            say(f"{line['check']:>2} {line['name']}: {told}")
    counts = f"{report['errors']:,} errors, {report['warnings']:,} warnings, {report['allowed']:,} allowed"
    say()
    say(f"{report['files']:,} files, {report['instances']:,} instances: {counts}")
