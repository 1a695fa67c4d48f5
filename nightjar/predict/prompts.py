"""A file of the prompts of a benchmark's questions, for other models to answer."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks import registry
from nightjar.benchmarks.files import ids, read_questions
from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE
from nightjar.core.files import check_output, write_lines
from nightjar.params import Params
from nightjar.predict.predictor import encoding_of

# Kinds of tasks whose answers are text that a model writes after the prompt.
WRITTEN = ("generate", "sample")


def write_prompts(params: Params, benchmark: str, output: Path, encoding: str | None = None) -> int:
    """Write one JSON line a question to `output`: id, task, prompt, stop, max_tokens; returns how many.

    Texts whose likelihood is computed have no line.

    The prompt is the text that predict@<benchmark>-untuned gives its model under `params`, with `encoding` in place of
    theirs if one is named. It has no special tokens and no chat template: that stage adds neither a template nor, for a
    causal model, a token. Its length is limited in tokens of the project's language model. Ids and order are those of
    `nightjar references`. The file is written whole or not at all.

    Raises NightjarError for an unknown benchmark or encoding, for artifacts or a model that are missing, and for an
    output that must not be written (`core.files.check_output`).
    """
    card = registry.card(benchmark)
    source = paths.QUESTIONS / card.name
    inputs = [source, paths.LANGUAGE_MODEL, PARAMS_FILE]
    check_output(output, inputs)
    options = encoding_of(params, benchmark, encoding)
    settings = params.predict.benchmark(benchmark)
    # Here, not above: the tokenizer's library takes long to load.
    from nightjar.models.tokenizer import load_tokenizer
    from nightjar.predict.answers import ask, limit, stops

    questions = [one for one in read_questions(source) if card.task(one.task_id).kind in WRITTEN]
    asked = ask(card, load_tokenizer(paths.LANGUAGE_MODEL), questions, {}, 0, options)
    lines = [
        {
            "id": id,
            card.files.task: one.question.task_id,
            "prompt": one.prompt,
            "stop": stops(card, one.question.task_id, settings),
            "max_tokens": limit(card, one.question.task_id, settings),
        }
        for id, one in zip(ids(card, questions), asked, strict=True)
    ]
    write_lines(output, lines, inputs)
    return len(lines)
