"""The command report: the scores and answers of the workspace compared with those of another version."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from nightjar.core import paths
from nightjar.core.files import folder_output
from pipelines.commands.console import say, say_table
from pipelines.commands.options import OUTPUT, TEXT, printed

# The artifacts that a comparison reads.
COMPARED = tuple(it.as_posix() for it in (paths.SCORES, paths.PREDICTIONS, paths.QUESTIONS))
COLUMNS = (
    "benchmark",
    "system",
    "track",
    "metric",
    "n",
    "before",
    "now",
    "difference",
    "p corrected",
    "verdict",
)


def _print(found: dict[str, Any]) -> None:
    from stages.report import against as comparison

    lines = list(comparison.lines(found))
    changed_lines = [line for line in lines if line["verdict"] in ("better", "worse")]
    say_table(
        [{name: line[name] for name in COLUMNS} for line in changed_lines],
        right=("n", "before", "now", "difference"),
    )
    counts = Counter(line["verdict"] for line in lines)
    say(f"{len(lines)} numbers: " + ", ".join(f"{count} {word}" for word, count in counts.items()))
    reasons = Counter(line["reason"].partition(":")[0] for line in lines if line["reason"])
    for reason, count in reasons.most_common():
        say(f"  not comparable: {count:>4}  {reason}")
    changed, answers = (sum(row[name] for row in found["answers"]) for name in ("changed", "n"))
    say(f"{changed:,} of {answers:,} answers changed")
    say(f"The comparison: {found['page']}")


@click.command()
@click.option(
    "--against",
    required=True,
    type=TEXT,
    metavar="REV|DIR",
    help="A Git revision, or another project's folder.",
)
@click.option(
    "--output",
    type=OUTPUT,
    default=paths.AGAINST,
    show_default=True,
    help="The folder of the page: new, empty, or that of an earlier comparison, which is replaced.",
)
@printed(_print)
def report(against: str, output: Path) -> dict[str, Any]:
    """Compare the scores and answers in data/ with another version: what changed, and what of it is significant.

    REV is a branch, tag, commit or experiment, read from DVC's cache; DIR is the folder of another project, or its
    data folder. Instances are paired, and p is corrected for the number of comparisons. The page has examples of
    changed answers.

    \b
    Example:
      nightjar report --against HEAD
      nightjar report --against ../other-project --output comparison --json
    """
    from pipelines.versions.files import provided
    from stages.report import against as comparison

    with folder_output(output, [Path(against)], comparison.foreign) as made:
        if before := _of_folder(Path(against)):
            found = comparison.compare(paths.DATA, before)
        else:
            with provided(Path(), against, COMPARED) as scratch:
                found = comparison.compare(paths.DATA, scratch / paths.DATA)
        for name, text in comparison.files(found, against).items():
            (made / name).write_text(text, encoding="utf-8")
    return {**found, "page": output / "index.html"}


def _of_folder(path: Path) -> Path | None:
    """The data folder at `path`, or in it; None if neither is one."""
    return next((one for one in (path / paths.DATA, path) if (one / "evaluate").is_dir()), None)
