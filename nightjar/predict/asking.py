"""Answers to questions that a person asks a trained system, in the prompt form of its recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from nightjar import params as params_module
from nightjar.benchmarks import registry
from nightjar.benchmarks.question import Question
from nightjar.core.errors import NightjarError
from nightjar.models.load import load, prepare
from nightjar.models.weights import read_recipe
from nightjar.params import Params
from nightjar.predict.answers import Asked, answering
from nightjar.predict.model import tools_of
from nightjar.predict.trained import INSTRUCTED, RECIPE, benchmark_of
from nightjar.prompts.model_text import model_input
from nightjar.tools import Call, Calls, Toolbox

DEFINITION = "Answer the question."

Passages = Sequence[Mapping[str, Any]]
# Finds so many passages for a text.
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


class _Heard(Toolbox):
    """A toolbox that tells of each call and of its result."""

    hear: Callable[[Event], None]

    def ask(self, call: Call, day: date | None = None, text: str = "") -> Future[str | None]:
        self.hear(Event(call.tool, call.input))
        future = super().ask(call, day, text)
        future.add_done_callback(lambda it: self.hear(Event(call.tool, call.input, it.result(), True)))
        return future


class Asker:
    """A model, loaded once: the one in `base`, with the adapter or trained model in `folder`.

    Without a recipe in `folder` it is asked with instructions, and has neither tools nor evidence. `hear` is called at
    each call and at its result. `find` makes what finds the passages of a prompt, of the parameters and the benchmark
    whose settings apply. Raises NightjarError for a model that cannot be loaded, or what its recipe needs and is
    missing.
    """

    def __init__(
        self,
        base: Path,
        folder: Path | None,
        definition: str | None = None,
        max_tokens: int = 64,
        hear: Callable[[Event], None] | None = None,
        find: Callable[[Params, str], Find] | None = None,
    ) -> None:
        self.params = params_module.load()
        self.recipe = read_recipe(folder) if folder and (folder / RECIPE).is_file() else {}
        self.instructed = self.recipe.get("data", INSTRUCTED[0]) in INSTRUCTED
        if definition is not None and not self.instructed:
            what = f"{folder} was trained on plain text and reads no definition"
            raise NightjarError(what, "--definition", "leave it out")
        self.definition = definition or DEFINITION
        benchmark = benchmark_of(self.params, folder or base)
        # Of the benchmark the settings, and of these what holds for any question.
        self.card = replace(registry.card(benchmark), tasks={})
        greedy = {"temperature": 0.0, "cut_at_full_stop": False, "max_new_tokens": max_tokens}
        self.settings = self.params.predict.benchmark(benchmark).model_copy(update=greedy)
        self.toolbox = _Heard(tools_of(self.params)) if self.recipe.get("calls") else Toolbox([])
        if isinstance(self.toolbox, _Heard):
            self.toolbox.hear = hear or (lambda event: None)
        self.find = find(self.params, benchmark) if find and self.recipe.get("evidence") else None
        prepare(self.params.seed, self.params.threads)
        self.lm = load(base, self.settings.precision, folder)

    def answer(self, question: str) -> Reply:
        """The greedy answer to a question. Raises NightjarError if the prompt is too long for the model."""
        prompt = self.prompt(question)
        asked = Asked(
            Question("", "", "", {}, (), day=date.today()), prompt, self.lm.tokenizer.encode(prompt)
        )
        steered = self.toolbox.names and self.settings.call_top_k and self.settings.max_calls
        calls: Calls = "on" if steered else "off"
        write = answering(self.lm, self.card, [asked], self.settings, self.toolbox, calls, self.params.seed)
        ((_, row),) = write([0])
        return Reply(question, row["answers"][0], row["text"], row["calls"], prompt, row["new_tokens"])

    def prompt(self, question: str) -> str:
        """What the model reads."""
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
        tokenizer = self.lm.tokenizer
        return model_input(task, question, options, tokenizer, passages, tokenizer.encoder_decoder)
