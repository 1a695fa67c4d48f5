"""The command `study`: the same graph at several values of one setting, as DVC experiments, to a table and a plot."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import click

from nightjar.core.errors import NightjarError
from nightjar.core.files import safe_name
from pipelines.commands.console import say, say_table
from pipelines.commands.options import printed
from pipelines.process.signals import stopped_by_signals
from pipelines.study.kinds import KINDS

# Documents that are cut both ways, and the share of them that the ways must cut differently.
_LOOKED_AT, _DIFFERENT = 10_000, 0.01


def check_cuts(root: Path, passage_words: int) -> None:
    """Raise NightjarError if nearly all documents of the corpus, once it is ingested, are one sentence each."""
    from nightjar.core import contracts, tables
    from nightjar.search.passages import cut, cut_sentences

    corpus = root / "data/ingest/corpus"
    if not (corpus / contracts.DOCUMENTS.name).exists():
        return
    rows = (
        row
        for batch in tables.batches(corpus, contracts.DOCUMENTS, ["title", "text"])
        for row in batch.to_pylist()
    )
    # A title is indexed with runs of words alone.
    different = [
        bool(row["title"]) or cut(row["text"], passage_words) != cut_sentences(row["text"], passage_words)
        for row in islice(rows, _LOOKED_AT)
    ]
    if sum(different) < _DIFFERENT * len(different):
        what = f"words and sentences give equal passages of {different.count(False):,} of {len(different):,} documents"
        raise NightjarError(what, corpus, "use a corpus whose documents are longer than a sentence")


def _list(ctx: click.Context, option: click.Parameter, text: str | None) -> list[str]:
    """The values of a list with commas; none if the option is not given. Raises NightjarError if it is empty."""
    values = [value.strip() for value in (text or "").split(",") if value.strip()]
    if text is not None and not values:
        raise NightjarError("no value", option.opts[0], "give some, or leave the option out")
    return values


def _folder(ctx: click.Context, option: click.Parameter, name: str | None) -> str | None:
    """The name of a folder. Raises NightjarError if it is none."""
    if name is not None and (not name or name.startswith(".") or safe_name(name) != name):
        what = f"{name[:40]!r} is not a folder's name"
        raise NightjarError(what, "--name", "give letters, digits and . - _ @, such as tasks-small")
    return name


def _print(result: Any) -> None:
    """Print a result, or the plan of --dry-run."""
    from pipelines.study import results

    if isinstance(result, list):
        for row in result:
            say(f"{'done' if row['done'] else 'to do':6} {row['experiment']}  ({row['value']})")
        say(f"{len(result)} experiments, {sum(not row['done'] for row in result)} to do.")
        return
    for track in results.tracks(result):
        say()
        title = results.track_title(result, track)
        if result["study"] == "encodings":
            for metric, rows in results.matrices(result, track).items():
                say_table(rows, f"{metric}, {title}: evaluated with")
        else:
            say_table(results.table(result, track), title)
    for point in result["points"]:
        if point["state"] != "done":
            say(f"nightjar: study: {point['value']} {point['state']}: {point['error']}", err=True)
    say()
    say(f"The results: {result['folder']}/study.md")
    say("The experiments: dvc exp show --only-changed")


def _failed(result: Any) -> bool:
    return isinstance(result, dict) and any(it["state"] == "failed" for it in result["points"])


@click.command()
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.option(
    "--values",
    metavar="A,B,…",
    callback=_list,
    help="The values; not given: the published grid, as far as it fits.",
)
@click.option(
    "--evaluated", metavar="A,B,…", callback=_list, help="Encodings to predict with (encodings only)."
)
@click.option("--benchmark", help="What models are tested on; the first of params.yaml if not given.")
@click.option("--recipe", help="A trained system of the benchmark; its first one if not given.")
@click.option("--name", callback=_folder, help="Folder under data/studies; not given: the study's kind.")
@click.option("--wait", is_flag=True, help="Wait for a rebuild or a study that is running already.")
@click.option("--dry-run", is_flag=True, help="Print the experiments and which are missing; run nothing.")
@printed(_print, failed=_failed)
def study(
    kind: str,
    values: list[str],
    evaluated: list[str],
    benchmark: str | None,
    recipe: str | None,
    name: str | None,
    wait: bool,
    dry_run: bool,
) -> dict[str, Any] | list[dict[str, Any]]:
    """Train and test once for each value of one setting: a DVC experiment each, then a table and a plot.

    KIND: `tasks` to train on, `instances` of each, language `models` (directories, hub:NAME, package:NAME),
    `encodings` (trained with × evaluated with), `calls` (how many of the likeliest tokens may start a tool call), or,
    of a system that reads passages, `candidates` for the reranker, `passages` for the reader, `reranker` (directories),
    `retriever` (dense, bm25, hybrid) and `granularity` (words, sentences). `input_length` sets the most tokens of a
    prompt.
    Other settings are those of params.yaml as it is now. A study that was interrupted runs what is missing when it is
    started again. Results: data/studies/KIND, with the benchmark and the recipe in the name where they are not the
    default.

    \b
    Example:
      nightjar study tasks --values 4,8,16
      nightjar study encodings --values def,def_pos2,tk_instruct --evaluated def,def_pos2
      nightjar study calls --values 0,1,3,10 --benchmark tool_use --recipe toolformer
      nightjar study passages --values 1,4,16 --benchmark classification --recipe fid
      nightjar study input_length --values 512,1024,2048 --benchmark zeroscrolls
    """
    from pipelines.clone.clone import saved
    from pipelines.study import results
    from pipelines.study import study as studies
    from pipelines.study.scores import collect

    root = Path.cwd()
    plan = studies.plan(root, kind, values, recipe, evaluated, benchmark)
    results.check_folder(root, name or plan.name)
    if kind == "granularity" and len(plan.points) > 1:
        check_cuts(root, plan.settings.index.passage_words)
    if dry_run:
        missing = plan.missing(root)
        return [{"value": it.label, "experiment": it.name, "done": it not in missing} for it in plan.points]
    with stopped_by_signals():
        failed = studies.run(root, plan, lambda line: say(line, err=True), wait)
        commits = saved(root, plan.start.commit, [point.name for point in plan.points])
        result = collect(root, plan, commits, failed)
        written = results.write(root, name or plan.name, result).relative_to(root)
    return result | {"folder": written}
