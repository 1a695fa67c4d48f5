"""The prompts of a benchmark's test instances: what the untuned model is shown, and a file of it for other models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.core import contracts, tables
from nightjar.core.config import PARAMS_FILE
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_output, write_lines
from nightjar.core.ids import unique_ids
from nightjar.core.params import Encoding, Params, Predict
from nightjar.prompts.encodings import named

INGEST, SPLIT = Path("data/ingest/natural_instructions"), Path("data/split")
MODEL = Path("models/base/language_model")


def shown(params: Params, benchmark: str, encoding: str | None = None) -> Encoding:
    """What a prompt of `benchmark` has besides its instance: the encoding of this name, or by the parameters.

    Raises NightjarError for an unknown benchmark or encoding.
    """
    if benchmark not in Predict.model_fields:
        raise NightjarError(
            "no such benchmark", repr(benchmark), f"benchmarks are {', '.join(Predict.model_fields)}"
        )
    name = encoding if encoding is not None else getattr(params.predict, benchmark).encoding
    return params.encoding if name is None else named(params.encoding, name)


def read_test() -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """The test instances (contracts.TEST) in their order, and the tasks (contracts.TASKS) by their names."""
    tasks = {row["task_id"]: row for row in tables.read_rows(INGEST, contracts.TASKS)}
    return tables.read_rows(SPLIT, contracts.TEST), tasks


def write_prompts(params: Params, benchmark: str, output: Path, encoding: str | None = None) -> int:
    """Write one JSON line a test instance to `output`: id, task_id, prompt, stop, max_tokens; returns how many.

    The prompt is the text that predict@<benchmark>-untuned gives its model under `params`, with `encoding` in place of
    theirs if one is named. It has no special tokens and no chat template: that stage adds neither a template nor, for a
    causal model, a token. Its length is limited in tokens of the project's language model. Ids and order are those of
    `nightjar references`. The file is written whole or not at all.

    Raises NightjarError for an unknown benchmark or encoding, for artifacts or a model that are missing, and for an
    output that must not be written (`nightjar.core.files.check_output`).
    """
    from nightjar.lm.tokenizer import load_tokenizer
    from stages.predict.answers import ask

    inputs = [INGEST, SPLIT, MODEL, PARAMS_FILE]
    check_output(output, inputs)
    options = shown(params, benchmark, encoding)
    instances, tasks = read_test()
    _check(instances, tasks)
    settings = getattr(params.predict, benchmark)
    questions = ask(load_tokenizer(MODEL), instances, tasks, {}, 0, options)
    lines = [
        {
            "id": id,
            "task_id": question.task_id,
            "prompt": question.prompt,
            "stop": settings.stop,
            "max_tokens": settings.max_new_tokens,
        }
        for id, question in zip(unique_ids(instances), questions, strict=True)
    ]
    write_lines(output, lines, inputs)
    return len(lines)


def _check(instances: Sequence[Mapping[str, Any]], tasks: Mapping[str, Any]) -> None:
    if not instances:
        raise NightjarError("no test instances", SPLIT, "the split left no test task")
    for row in instances:
        if row["task_id"] not in tasks:
            fix = "split and ingest are of different runs: rebuild"
            raise NightjarError(f"no task {row['task_id']}", INGEST, fix)
