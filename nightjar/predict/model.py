"""A language model that answers: the untuned one, or one trained by a recipe, which says what its prompts carry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.models.load import load, prepare
from nightjar.models.pretrained import ADAPTER_CONFIG
from nightjar.models.tokenizer import is_encoder_decoder
from nightjar.models.weights import RECIPE, read_recipe
from nightjar.params import Params
from nightjar.predict.answers import answering, ask, evidence_of
from nightjar.predict.choices import choices_of, choosing
from nightjar.predict.predictor import Job, Predictor, Row, about
from nightjar.predict.sampled import sampling
from nightjar.predict.texts import answer_text, window
from nightjar.tools import Calls, Tool, Toolbox, make

# What tools name that read nothing of their own.


class ModelPredictor(Predictor):
    """Answers of `base`, with the adapter or trained model of a system whose weights are not `MODEL`.

    Each question is answered as the kind of its task says. Raises NightjarError for evidence or calls that the recipe
    of the weights does not use, and for tools that read what the system does not name.
    """

    def __init__(self, job: Job) -> None:
        card, params, settings = job.card, job.params, job.settings
        adapter = None if Path(job.system.weights) == paths.LANGUAGE_MODEL else job.weights
        recipe = recipe_of(job, adapter)
        # With call_top_k or max_calls 0, "on" is "disabled".
        calls: Calls = job.system.calls or ("on" if recipe["calls"] else "off")
        if calls != "off" and is_encoder_decoder(job.base):
            what = f"{job.system.system} calls tools, which an encoder-decoder cannot"
            raise NightjarError(what, job.base, f"use a causal model, or set {job.key('calls')} to off")
        # Other benchmarks have what is to be read in their questions, or rank passages for readers alone.
        shown = card.name in params.retrieve.benchmarks and card.reranking is None
        if (bool(recipe["evidence"]) and shown) != bool(job.evidence):
            what = f"the recipe {job.system.system} uses {recipe['evidence']} passages of evidence"
            fix = f"set {job.key('evidence')} to {paths.RETRIEVED / card.name}, or to {paths.NONE} for none"
            if adapter is None:
                fix = f"set {job.key('evidence')} to {paths.NONE}, or {job.key('kind')} to extractive"
            raise NightjarError(what, "params.yaml", fix)
        toolbox = toolbox_of(job) if calls == "on" else Toolbox([])
        self.questions, evidence = job.questions, evidence_of(job.evidence)

        prepare(params.seed, params.threads)
        self._lm = lm = load(job.base, settings.precision, adapter)
        asked = ask(card, lm.tokenizer, self.questions, evidence, recipe["evidence"], job.encoding)
        self._asked, kinds = asked, [card.task(one.question.task_id).kind for one in asked]
        self._texts = {n for n, kind in enumerate(kinds) if kind == "perplexity"}
        self._chosen = {n: asked[n] for n, kind in enumerate(kinds) if kind == "choose"}
        self._drawn = {n: asked[n] for n, kind in enumerate(kinds) if kind == "sample"}
        self._window = window(lm, job.encoding.max_source_length) if self._texts else 0
        self.decides = job.decides(
            model=[lm.sha256, lm.adapter_sha256],
            calls=[calls, toolbox.versions],
            window=self._window,
            choices={it: choices_of(card, it) for it in {n.question.task_id for n in self._chosen.values()}},
        )
        self.keys = [one.digest for one in asked]
        self._write = answering(lm, card, asked, settings, toolbox, calls, params.seed)
        self._choose = choosing(lm, card, self._chosen)
        self._draw = sampling(lm, card, self._drawn, settings, params.seed)

    def answer(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        other = self._texts | self._chosen.keys() | self._drawn.keys()
        yield from self._write([number for number in numbers if number not in other])
        if self._chosen:
            yield from self._choose([number for number in numbers if number in self._chosen])
        if self._drawn:
            yield from self._draw([number for number in numbers if number in self._drawn])
        for number in sorted(self._texts.intersection(numbers)):
            yield number, answer_text(self._lm, self._asked[number], self._window)

    def about(self, number: int) -> Row:
        one = self._asked[number]
        return about(one.prompt, len(one.ids), self._lm.sha256, self._lm.adapter_sha256)


def recipe_of(job: Job, adapter: Path | None) -> dict[str, Any]:
    """How the weights were trained; neither evidence nor calls for the untuned model and for adapters from elsewhere.

    Raises NightjarError for weights that no recipe trained.
    """
    trained = adapter is not None and (adapter / RECIPE).is_file()
    if adapter is not None and not trained:
        what = "a language model, an adapter or a model that a recipe trained"
        job.check_kind((adapter / ADAPTER_CONFIG).is_file(), what)
    return read_recipe(adapter) if adapter is not None and trained else {"evidence": 0, "calls": False}


def tools_of(params: Params) -> list[Tool]:
    """The tools of augment.tools."""
    named = params.augment.tools.items()
    return [make(name, tool.resource, params.tools[name]) for name, tool in named]


def toolbox_of(job: Job) -> Toolbox:
    """The tools that a system may call. Raises NightjarError if one reads what the system does not name."""
    for name, tool in job.params.augment.tools.items():
        if tool.resource not in (None, job.system.tools):
            fix = f"set {job.key('tools')} to {tool.resource}"
            raise NightjarError(f"the tool {name} reads {tool.resource}", "params.yaml", fix)
    return Toolbox(tools_of(job.params))
