"""A model that answers: any backend by what it can; the recipe of a trained one says what its prompts carry."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question_set import Choice
from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.identity import digest
from nightjar.models.backends import backend, open_model
from nightjar.models.chat_template import TemplatedModel
from nightjar.models.directory.pretrained import ADAPTER_CONFIG
from nightjar.models.directory.weights import RECIPE, read_recipe
from nightjar.models.interface import Decoding, Model
from nightjar.models.tokenizer import load_tokenizer
from nightjar.params.chat import SERVER_SIDE, Chat
from nightjar.params.predict import SERVER
from nightjar.predict.conversation import named_choice, tokens_of
from nightjar.predict.predictor import (
    FAILURE,
    NOTHING_WRITTEN,
    Job,
    Predictor,
    Row,
    about,
    check_ranking,
    lacking,
    ranked_row,
    warn_of_failures,
)
from nightjar.predict.requests import evidence_of, requests_of
from nightjar.predict.writers import unless_failed, writer_for
from nightjar.tools import Calls, Tool, Toolbox, make

log = logging.getLogger("nightjar")

# Tokens of an answer that names a choice, at least.
CHOICE_TOKENS = 32

# Numbers of questions -> number and row of each, as they are done.
Answer = Callable[[Sequence[int]], Iterator[tuple[int, Row]]]


class ModelPredictor(Predictor):
    """Answers of `model`: each question is answered as the kind of its task says.

    `recipe` says how many passages a prompt has, `calls` whether the model calls the tools of `toolbox`.
    """

    def __init__(
        self, job: Job, model: Model, recipe: Mapping[str, Any], calls: Calls, toolbox: Toolbox
    ) -> None:
        card, settings, self.questions = job.card, job.settings, job.questions
        tokenizer = model.tokenizer or load_tokenizer(job.base)
        self._job, self._model, self._tokenizer = job, model, tokenizer
        passages, evidence = recipe["evidence"], evidence_of(job.evidence)
        self._chat = job.system.chat or (Chat() if "chat" in model.can else None)
        template = model.template if isinstance(model, TemplatedModel) else None
        requests = requests_of(
            card, tokenizer, self.questions, job.encoding, settings, evidence, passages, self._chat, template
        )
        self._requests = dict(enumerate(requests))
        self._kinds = [card.task(one.task_id).kind for one in self.questions]
        self._decoding = Decoding(settings.temperature, settings.top_p, job.seed)
        self._writer = writer_for(model, tokenizer, self._requests, settings, toolbox, calls, self._decoding)
        self.cache_key = job.cache_key(
            model=model.identity,
            calls=[calls, toolbox.versions],
            choices={one.task_id: card.task(one.task_id).choices for one in self.questions},
        )
        self.keys = [
            digest(
                {
                    "asked": [
                        *one.key,
                        request.prompt,
                        request.ids,
                        str(one.day),
                        *(() if card.task(one.task_id).choices else card.choices(one)),
                    ]
                }
            )
            for one, request in zip(self.questions, requests, strict=True)
        ]

    def answer(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        ways: Mapping[str, Answer] = {
            "generate": self._writer.write,
            "choose": self._choose,
            "sample": self._sample,
            "perplexity": self._perplexity,
        }
        unfinished, failures = 0, dict[int, str]()
        for kind, answer in ways.items():
            last, kind_numbers = (
                time.monotonic(),
                [number for number in numbers if self._kinds[number] == kind],
            )
            for number, row in answer(kind_numbers) if kind_numbers else ():
                now = time.monotonic()
                yield number, row | {"seconds": round(now - last, 6)}
                last = now
                if FAILURE in row:
                    failures[number] = row[FAILURE]
                    continue
                spent = row["new_tokens"] >= self._requests[number].max_new_tokens
                unfinished += bool(self._chat and spent and not row["text"])
        if unfinished:
            name = self._job.card.name
            log.warning(
                "%d answers of %s are empty: the limit of tokens ended them within their reasoning; raise "
                "predict.%s.max_new_tokens, and set its task_limits to false",
                unfinished,
                name,
                name,
            )
        if failures:
            warn_of_failures(self._job.card.name, self.questions, failures)

    def _of_kind(self, kind: str) -> Iterator[tuple[int, str]]:
        """Number and prompt of the questions of a kind."""
        return ((number, one.prompt) for number, one in self._requests.items() if self._kinds[number] == kind)

    def _choices(self, number: int) -> tuple[Choice, ...]:
        return self._job.card.choices(self.questions[number])

    def _choose(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        """The choice whose text is likeliest after the prompt; of equal ones the first of the task.

        After a chat template nothing comes before the choice, so that its text loses the blank.
        """
        if "chat" in self._model.can and "score" not in self._model.can:
            yield from self._choose_by_name(numbers)
            return
        batch = {
            number: (prompt, [it.text.lstrip() if self._chat else it.text for it in self._choices(number)])
            for number, prompt in self._of_kind("choose")
        }
        for number, scores in self._model.score(batch, numbers):
            best = max(range(len(scores)), key=lambda place: scores[place].logprob)
            yield number, {"answers": [self._choices(number)[best].answer], **NOTHING_WRITTEN}

    def _choose_by_name(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        """The choice that an answer names (`named_choice`); an answer that names none is empty."""
        batch = {}
        for number in numbers:
            request, names = (
                self._requests[number],
                ", ".join(it.text.strip() for it in self._choices(number)),
            )
            *before, last = request.conversation
            question = replace(last, content=f"{last.content}\n\nAnswer with one of: {names}.")
            tokens = max(request.max_new_tokens, CHOICE_TOKENS)
            batch[number] = replace(request, messages=(*before, question), max_new_tokens=tokens, stop=())
        for number, text in self._model.generate(batch, numbers, self._decoding):
            answer = named_choice(text.text, self._choices(number)) or ""
            row = {"text": text.text, "calls": [], "new_tokens": tokens_of(text, self._tokenizer)}
            yield number, unless_failed({"answers": [answer], **row}, text.failure)

    def _perplexity(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        """The answer "NLL TOKENS" to a text. A text with fewer than two tokens has no answer."""
        batch = {number: ("", [prompt]) for number, prompt in self._of_kind("perplexity")}
        for number, (score,) in self._model.score(batch, numbers):
            answers = [f"{-score.logprob:.6f} {score.tokens}"] if score.tokens else []
            yield number, {"answers": answers, **NOTHING_WRITTEN}

    def _sample(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        """The list that the card ranks from many texts."""
        job, count = self._job, self._job.settings.samples
        for number, texts in self._model.sample(self._requests, numbers, count, self._decoding):
            if failure := next((one.failure for one in texts if one.failure), ""):
                yield number, unless_failed({**NOTHING_WRITTEN}, failure)
                continue
            # With the stop string: whether a text has a full stop may decide.
            row = ranked_row(job.card, [(one.text + (one.stop or ""), 1) for one in texts], job.settings)
            tokens = sum(tokens_of(one, self._tokenizer) for one in texts)
            yield number, row | {"calls": [], "new_tokens": tokens}

    def about(self, number: int) -> Row:
        request, adapter = self._requests[number], self._model.identity.get("adapter_sha256")
        return about(request.prompt, len(request.ids), self._model.sha256, adapter)

    def facts(self) -> Mapping[str, Any]:
        facts: dict[str, Any] = (
            {} if self._model.tokenizer else {"prompts_limited_by": paths.LANGUAGE_MODEL.as_posix()}
        )
        if self._chat:
            named = "choose" in self._kinds and "score" not in self._model.can
            template = self._model.identity.get("chat_template", SERVER)
            choices = {"choices": "named in the answer"} if named else {}
            # The day of a template that names one; a server has its own.
            dated = {"date": self._model.identity.get("date")}
            facts["chat"] = {"template": template, **self._chat.model_dump(), **dated, **choices}
        return {**self._model.facts(), **facts}


@contextmanager
def model_predictor(job: Job) -> Iterator[ModelPredictor]:
    """The predictor of the model that a system names. What the model cannot is refused before it is loaded."""
    weights, settings = job.system.weights, job.settings
    kind, recipe = backend(weights, job.base), recipe_of(job)
    if job.system.chat and job.remote and "chat" not in kind.can:
        fix = "set it to null, or ask a chat server"
        raise NightjarError(f"{kind.title} gets no chat template", job.key("chat"), fix)
    for name, what in SERVER_SIDE.items():
        if job.system.chat and job.remote and name in job.system.chat.model_fields_set:
            raise NightjarError(what, job.key(f"chat.{name}"), "leave it out")
    calls = _calls(job, kind, recipe)
    _check_evidence(job, kind, recipe)
    toolbox = toolbox_of(job) if calls == "on" else Toolbox([])
    _check_tasks(job, kind)
    window = job.encoding.max_source_length
    with open_model(weights, job.base, settings, window, job.seed, job.threads, job.system.chat) as model:
        if job.tokens:
            model.keep_tokens(job.tokens, job.item)
        if calls == "on" and isinstance(model, TemplatedModel) and not model.template.knows_tools:
            fix = f"set {job.key('calls')} to off, or leave the template out"
            raise NightjarError("its chat template knows no tools", job.base, fix)
        yield ModelPredictor(job, model, recipe, calls, toolbox)


def recipe_of(job: Job) -> dict[str, Any]:
    """Return the recipe of the weights: no evidence and no calls for untuned models and for adapters from elsewhere."""
    adapter = job.adapter
    trained = adapter is not None and (adapter / RECIPE).is_file()
    if adapter is not None and not trained:
        what = "a language model, an adapter or a model that a recipe trained"
        job.check_kind((adapter / ADAPTER_CONFIG).is_file(), what)
    return read_recipe(adapter) if adapter is not None and trained else {"evidence": 0, "calls": False}


def _calls(job: Job, kind: type[Model], recipe: Mapping[str, Any]) -> Calls:
    """Return how the system calls tools: as it says, else as its recipe.

    With call_top_k or max_calls 0, "on" is "disabled".
    """
    calls: Calls = job.system.calls or ("on" if recipe["calls"] else "off")
    if calls != "off" and "tools" not in kind.can:
        what = f"{job.system.system} calls tools, which {kind.title} cannot"
        raise NightjarError(what, job.base, f"use a causal model, or set {job.key('calls')} to off")
    if calls == "disabled" and not kind.can & {"steer", "chat"} and not job.system.chat:
        what = f"{kind.title} cannot be kept from writing calls"
        raise NightjarError(what, job.key("calls"), "set it to off")
    return calls


def _check_evidence(job: Job, kind: type[Model], recipe: Mapping[str, Any]) -> None:
    """Raise NightjarError for evidence that the recipe does not use; `registry.check` finds what is missing."""
    # A benchmark that orders passages has them for readers alone.
    if not job.evidence or (recipe["evidence"] and not job.card.has_reranking):
        return
    where, none = job.key("evidence"), paths.NONE
    if job.adapter is None:
        fix = f"set it to {none}, or {job.key('kind')} to extractive"
        raise NightjarError(f"{kind.title} without a recipe gets no evidence", where, fix)
    raise NightjarError(f"the weights of {job.system.system} read no evidence", where, f"set it to {none}")


def _check_tasks(job: Job, kind: type[Model]) -> None:
    """Raise NightjarError for a task that the model cannot answer, and for a temperature that does not fit."""
    where = f"predict.{job.card.name}.temperature"
    tasks = {one.task_id: job.card.task(one.task_id).kind for one in job.questions}
    reasons = lacking(kind, tasks.values(), job.system.weights)
    for task, kind_name in tasks.items():
        if kind_name in reasons:
            fix = "leave this task out, or use another model"
            raise NightjarError(f"{task}: {reasons[kind_name]}", f"predict.systems.{job.item}", fix)
    if job.settings.temperature and "sample" in reasons:
        raise NightjarError(reasons["sample"], where, "set it to 0")
    if "sample" in tasks.values():
        check_ranking(job.card)
        if not job.settings.temperature:
            raise NightjarError("all samples are equal at the temperature 0", where, "set one above 0")


def tools_of(settings_by_tool: Mapping[str, Mapping[str, Any]], index: Path | None) -> list[Tool]:
    """Return the tools of a set, by their settings; `index` is what they search."""
    return [make(name, index, settings) for name, settings in settings_by_tool.items()]


def toolbox_of(job: Job) -> Toolbox:
    """The tools that a system may call."""
    return Toolbox(tools_of(job.tools, job.system.index))
