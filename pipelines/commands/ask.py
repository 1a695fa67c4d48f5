"""nightjar ask: a question to a trained system, with its tool calls as they happen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import click

from nightjar.core import paths
from nightjar.core.display import stdout_kept
from nightjar.core.errors import NightjarError
from nightjar.core.files import PIPE, check_input
from nightjar.core.json_text import parse_at
from nightjar.predict.predictor import folder_of
from nightjar.predict.resolved_model import ResolvedModel, resolve
from pipelines.commands.console import say
from pipelines.commands.options import FILE, POSITIVE, TEXT, CommandResult, as_json_option, prepare_model
from stages.retrieve.retriever import Retriever

if TYPE_CHECKING:
    from nightjar.params import Params
    from nightjar.predict.direct_questions import Event

# Of a passage, in characters.
LONGEST = 100
FORM = 'write one question a line, or JSON Lines {"question": "..."}'


@click.command()
@click.argument("question", type=TEXT, required=False)
@click.option(
    "--system",
    type=TEXT,
    metavar="NAME|DIR",
    help="A recipe, such as tk_instruct, or a directory of models/train.",
)
@click.option(
    "--model",
    type=TEXT,
    metavar="SOURCE",
    help="Any model: a directory, hub:NAME@REVISION, package:NAME, server:URL[#MODEL] or entry:NAME.",
)
@click.option("--file", type=FILE, help="Questions, one a line, or JSON Lines with the key question.")
@click.option("--definition", type=TEXT, help="The task in words, for a system trained on instructions.")
@click.option("--max-tokens", type=POSITIVE, default=64, show_default=True)
@as_json_option
def ask(
    question: str | None,
    system: str | None,
    model: str | None,
    file: Path | None,
    definition: str | None,
    max_tokens: int,
    as_json: bool,
) -> None:
    """Answer QUESTION with a trained system or any model, and show evidence and tool calls as they come.

    A system trained on instructions gets the prompt of its training, without examples: the definition (by default
    "Answer the question."), evidence from data/index if its recipe uses it, and the question as the input. A model
    without a recipe, such as the base model, gets the same. A system trained on plain text continues QUESTION as it is
    written. Decoding is greedy.

    \b
    Example:
      nightjar ask "How many pens are in 12 boxes of 8 pens?" --system tk_instruct
      nightjar ask "12 boxes of 8 pens hold" --system toolformer
      nightjar ask --file questions.txt --system combined --json
      nightjar ask "How many legs has a spider?" --model models/base/language_model
    """
    if (question is None) == (file is None):
        raise NightjarError(
            "give a question, or --file with questions", "nightjar ask", "see nightjar ask --help"
        )
    questions = [question] if question is not None else list(_questions(file or Path()))
    if not all(it.strip() for it in questions):
        raise NightjarError("the question is empty", "nightjar ask", "write one")
    if (system is None) == (model is None):
        raise NightjarError("give --system or --model", "nightjar ask", "see nightjar ask --help")

    named = resolve(model) if model is not None else ResolvedModel(folder_of(system or "").as_posix())
    # PyTorch takes long to load.
    prepare_model(named.language_model)
    from nightjar.predict.direct_questions import Asker

    report = None if as_json else _show
    with ExitStack() as stack:
        with TemporaryDirectory() as folder:
            place = Path(folder, paths.LANGUAGE_MODEL.name)
            if (base := named.base(place)) == place:
                named.prepare(place)
            find = partial(_finder, show=not as_json)
            asker = Asker(named.weights, base, definition, max_tokens, report, find)
        stack.enter_context(asker)
        for text in questions:
            if len(questions) > 1 and not as_json:
                say(text)
            with stdout_kept():  # of tools of other packages
                answer = asker.answer(text)
            CommandResult(asdict(answer), _print_answer, indent=None).say(as_json)


def _print_answer(answer: dict[str, Any]) -> None:
    say(answer["answer"])
    if not answer["answer"]:
        say("(the answer is empty)", err=True)


def _finder(params: Params, benchmark: str, show: bool) -> Callable[[str, int], list[dict[str, Any]]]:
    """Return the function that finds the passages of a prompt, as instances of tasks are ranked.

    With `show` it prints them.
    """
    settings = params.retrieve.benchmarks.get(benchmark)
    retriever = Retriever(
        paths.INDEX, paths.SENTENCE_ENCODER, settings.retriever if settings else "bm25", params.threads
    )

    def find(text: str, count: int) -> list[dict[str, Any]]:
        passages = retriever.rank([text], count).rankings.ids[0]
        rows: list[dict[str, Any]] = retriever.rows(passages[passages >= 0]).to_pylist()
        for number, row in enumerate(rows if show else (), 1):
            text = shorten(row["text"], LONGEST, placeholder=" …")
            say(f"  evidence {number}: {row['title']} ({row['document_id']}): {text}", err=True)
        return rows

    return find


def _show(event: Event) -> None:
    if not event.done:
        say(f"  {event.tool}({event.input})", err=True)
    else:
        say("    no result" if event.result is None else f"    -> {event.result}", err=True)


def _questions(file: Path) -> Iterator[str]:
    """The questions of a file. Raises NightjarError, with file and line, for a line that is neither text nor JSON."""
    check_input(file, PIPE)
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8-sig").split("\n")]
    except UnicodeDecodeError as error:
        raise NightjarError(f"not UTF-8 at byte {error.start}", file, "save the file as UTF-8") from None
    if not any(lines):
        raise NightjarError("no question", file, FORM)
    as_rows = next(filter(None, lines)).startswith("{")
    for number, line in enumerate(lines, 1):
        if line and as_rows:
            row: Any = parse_at(line, f"{file}:{number}", FORM)
            if not isinstance(row, dict) or not isinstance(row.get("question"), str):
                raise NightjarError("no key question with a text", f"{file}:{number}", FORM)
            yield row["question"]
        elif line:
            yield line
