"""Answers to questions that a person asks any model, in the prompt form of its recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Self

from nightjar import params as params_module
from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.models.backends import open_model
from nightjar.models.directory.weights import RECIPE, read_recipe
from nightjar.models.interface import Decoding, Request
from nightjar.models.tokenizer import load_tokenizer
from nightjar.params import Params
from nightjar.params.groups import ALL_TOOLS
from nightjar.predict.model_predictor import tools_of
from nightjar.predict.predictor import FAILURE, INSTRUCTED, benchmark_of
from nightjar.predict.writers import writer_for
from nightjar.prompts.model_text import model_input
from nightjar.tools import Call, Calls, Toolbox

DEFINITION = "Answer the question."

Passages = Sequence[Mapping[str, Any]]
# The passages of a text, at most so many.
Find = Callable[[str, int], Passages]


@dataclass(frozen=True)
class Event:
    """A call that begins, or is `done` with a result, None for none."""

    tool: str
    input: str
    result: str | None = None
    done: bool = False


@dataclass(frozen=True)
class Reply:
    """The answer to a question: `text` as decoded, with its calls; `answer` without them."""

    question: str
    answer: str
    text: str
    calls: list[dict[str, str]]
    prompt: str
    new_tokens: int


class _ToolboxWithEvents(Toolbox):
    """A toolbox that reports each call and its result."""

    report: Callable[[Event], None]

    def ask(self, call: Call, day: date | None = None, text: str = "") -> Future[str | None]:
        self.report(Event(call.tool, call.input))
        future = super().ask(call, day, text)
        future.add_done_callback(lambda it: self.report(Event(call.tool, call.input, it.result(), True)))
        return future


class Asker:
    """A model, loaded once, for the block of a `with`: that of `source`, as in `nightjar.models.backends.open_model`.

    Without a recipe it is asked with instructions, and has neither tools nor evidence. `report` is called at each call
    and at its result. `find` makes what finds the passages of a prompt, of the parameters and the benchmark whose
    settings apply.
    """

    def __init__(
        self,
        source: str,
        base: Path,
        definition: str | None = None,
        max_tokens: int = 64,
        report: Callable[[Event], None] | None = None,
        find: Callable[[Params, str], Find] | None = None,
    ) -> None:
        self.params = params_module.load()
        folder = Path(source)
        self.recipe = read_recipe(folder) if (folder / RECIPE).is_file() else {}
        self.instructed = self.recipe.get("data", INSTRUCTED[0]) in INSTRUCTED
        if definition is not None and not self.instructed:
            what = f"{folder} was trained on plain text and reads no definition"
            raise NightjarError(what, "--definition", "leave it out")
        self.definition = definition or DEFINITION
        # Of the benchmark the settings that hold for any question.
        benchmark = benchmark_of(self.params, folder)
        greedy = {"temperature": 0.0, "cut_at_full_stop": False, "max_new_tokens": max_tokens}
        self.settings = self.params.predict.benchmark(benchmark).model_copy(update=greedy)
        self.toolbox = Toolbox([])
        if self.recipe.get("calls") and self.settings.call_top_k and self.settings.max_calls:
            tools, index = _tools_and_index(self.params, folder)
            self.toolbox = _ToolboxWithEvents(tools_of(self.params.tools[tools], index))
            self.toolbox.report = report or (lambda event: None)
        self.find = find(self.params, benchmark) if find and self.recipe.get("evidence") else None
        window, seed, threads = self.params.encoding.max_source_length, self.params.seed, self.params.threads
        self._opened = open_model(source, base, self.settings, window, seed, threads)
        self._tokenizer = self._opened.tokenizer or load_tokenizer(base)

    def __enter__(self) -> Self:
        self._model = self._opened.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._opened.__exit__(*error)

    def answer(self, question: str) -> Reply:
        """The greedy answer to a question. Raises NightjarError if the prompt is too long for the model."""
        prompt, settings = self.prompt(question), self.settings
        ids = self._tokenizer.encode(prompt)
        request = Request(prompt, ids, settings.max_new_tokens, settings.stop, date.today())
        calls: Calls = "on" if self.toolbox.names else "off"
        decoding = Decoding(seed=self.params.seed)
        writer = writer_for(
            self._model, self._tokenizer, {0: request}, settings, self.toolbox, calls, decoding
        )
        ((_, row),) = writer.write([0])
        if failure := row.get(FAILURE):
            fix = "ask again, or ask another question"
            raise NightjarError(f"the model gives no answer ({failure})", "question", fix)
        return Reply(question, row["answers"][0], row["text"], row["calls"], prompt, row["new_tokens"])

    def prompt(self, question: str) -> str:
        """Return the prompt that the model reads."""
        if not self.instructed:
            return question
        task = {
            "task_id": "",
            "definition": [self.definition],
            "positive_examples": [],
            "negative_examples": [],
        }
        options = self.params.encoding.model_copy(update={"task_name": False})
        passages = self.find(question, int(self.recipe["evidence"])) if self.find else []
        tokenizer = self._tokenizer
        return model_input(task, question, options, tokenizer, passages, tokenizer.encoder_decoder)


def _tools_and_index(params: Params, folder: Path) -> tuple[str, Path | None]:
    """The set of tools and the index of the first system that answers with the model in `folder`; else all tools."""
    for system in params.predict.systems.values():
        if Path(system.weights) == folder and system.index:
            return system.tools, system.index
    return ALL_TOOLS, paths.INDEX
