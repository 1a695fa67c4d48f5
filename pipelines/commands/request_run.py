"""`nightjar evaluate --requests`: the finished prompts of samples of lm-evaluation-harness, answered by any model.

The folder gets samples_TASK.jsonl in the same form, which `nightjar compare` reads, and requests.json. A run that was
killed resumes: every answer is in a checkpoint of the folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_folder, write_lines, write_text
from nightjar.core.identity import digest, sha256_of
from nightjar.core.json_text import recorded
from nightjar.core.packaged import packaged_folder
from nightjar.harness.finished_prompts import (
    PromptedDocument,
    answered_lines,
    answers,
    read_documents,
    scorings,
)
from nightjar.harness.lm_eval_samples import sample_files, settings_of, task_of
from nightjar.models.backends import backend, open_model
from nightjar.models.directory.weights import weights_digest
from nightjar.params import profile_values
from nightjar.params.predict import PredictBenchmark
from nightjar.predict.resolved_model import ResolvedModel, resolve
from nightjar.predict.standalone import PROFILE
from pipelines.commands.options import prepare_model, use_device
from pipelines.process import lock
from pipelines.process.signals import stopped_by_signals
from stages._runtime.checkpoint import Checkpoint
from stages._runtime.stage import Show

RECORD = "requests.json"
STAGE = "requests"
WINDOW = 2048


def answer_requests(
    source: str, requests: Path, output: Path, engine: Mapping[str, Any], show: Show | None = None
) -> dict[str, Any]:
    """Answer the requests of a file or folder of samples; returns "tasks" with n, means and what is not scored."""
    files = sample_files(requests) if requests.is_dir() else {task_of(requests): requests}
    documents = {task: read_documents(file) for task, file in sorted(files.items())}
    if not documents:
        raise NightjarError("no file samples_TASK.jsonl in it", requests, "name a file of samples")
    values = (
        read_yaml(PARAMS_FILE) if PARAMS_FILE.is_file() else profile_values.values(packaged_folder(), PROFILE)
    )
    settings = {
        **values["predict"]["defaults"],
        **{it: engine[it] for it in ("precision", "batch_size") if it in engine},
    }
    resolved = resolve(source)
    if engine and resolved.remote:
        raise NightjarError(
            "settings of local weights, but this model runs elsewhere", source, "leave them out"
        )
    prepare_model(resolved.language_model)
    use_device(engine.get("device"))
    facts = {
        "model": source,
        "weights": [weights_digest(it) for it in _folders(resolved) if it.is_dir()],
        "settings": {"precision": settings["precision"], "batch_size": settings["batch_size"]},
        "requests": {task: sha256_of(file) for task, file in sorted(files.items())},
    }
    _prepare_folder(output, facts)
    with lock.locked(output, paths.EVALUATE_LOCK, "an evaluation", fix="wait for it"), stopped_by_signals():
        responses = _responses(
            resolved,
            PredictBenchmark.model_validate(settings),
            values,
            documents,
            output,
            facts,
            engine,
            show,
        )
        tasks = {}
        for task, task_documents in documents.items():
            scoring = scorings(task_documents, settings_of(files[task], task))
            lines = list(answered_lines(task_documents, responses[task], scoring))
            write_lines(output / f"samples_{task}.jsonl", lines)
            tasks[task] = _summary(task_documents, lines)
    return {"output": output, "tasks": tasks}


def _folders(resolved: ResolvedModel) -> list[Path]:
    """Return the folders that may hold the weights of a model."""
    return [] if resolved.remote else [it for it in (resolved.adapter, Path(resolved.language_model)) if it]


def _prepare_folder(output: Path, facts: Mapping[str, Any]) -> None:
    """Make the folder of a run. Raises NightjarError where it holds another."""
    if (output / RECORD).is_file():
        if recorded(output / RECORD) != facts:
            raise NightjarError("it holds another run", output, "name another folder, or delete this one")
        return
    check_folder(output)
    (output / paths.METRICS).mkdir(parents=True)
    write_text(output / RECORD, json.dumps(facts, indent=2) + "\n")


def _responses(
    resolved: ResolvedModel,
    settings: PredictBenchmark,
    values: Mapping[str, Any],
    documents: Mapping[str, Sequence[PromptedDocument]],
    output: Path,
    facts: Mapping[str, Any],
    engine: Mapping[str, Any],
    show: Show | None,
) -> dict[str, list[list[Any]]]:
    """Return the answers to the arguments of every document, from the checkpoint or the model."""
    units = [unit for task in documents.values() for document in task for unit in document.units]
    base = resolved.base(output / paths.LANGUAGE_MODEL)
    if not resolved.remote and base == output / paths.LANGUAGE_MODEL and not base.is_dir():
        resolved.prepare(base)
    model_class = backend(resolved.weights, base)
    needs = {unit.needs for unit in units}
    if lacking := sorted(
        needs - (model_class.can | model_class.abilities(resolved.weights.partition(":")[2]))
    ):
        raise NightjarError(f"{model_class.title} cannot {lacking[0]}", resolved.weights, "use another model")
    threads = engine.get("threads", values["threads"])
    with Checkpoint(STAGE, {"facts": digest(facts)}, folder=output / paths.CHECKPOINTS) as checkpoint:
        todo = checkpoint.todo(len(units))
        if todo:
            with open_model(resolved.weights, base, settings, WINDOW, values["seed"], threads) as model:
                for done, (number, answer) in enumerate(
                    answers(model, units, todo), start=len(units) - len(todo)
                ):
                    checkpoint.add(number, answer)
                    if show:
                        show("answering", done + 1, len(units))
        results = iter([checkpoint[number] for number in range(len(units))])
    responses: dict[str, list[list[Any]]] = {}
    for task, task_documents in documents.items():
        for document in task_documents:
            by_place: list[Any] = [None] * len(document.arguments)
            for unit in document.units:
                for place, response in zip(unit.places, next(results), strict=True):
                    by_place[place] = response
            responses.setdefault(task, []).append(by_place)
    return responses


def _summary(documents: Sequence[PromptedDocument], lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how many documents a task has, the mean of each metric by filter, and the metrics that have no formula."""
    scores: dict[str, dict[str, float]] = {}
    unscored: dict[str, list[str]] = {}
    for line in lines:
        for name in line["metrics"]:
            by_metric = scores.setdefault(str(line["filter"]), {})
            by_metric[name] = by_metric.get(name, 0.0) + line[name] / len(documents)
    for line in (it for document in documents for it in document.lines):
        filter_name = str(line.get("filter"))
        for name in line.get("metrics") or ():
            names = unscored.setdefault(filter_name, [])
            if name not in scores.get(filter_name, {}) and name not in names:
                names.append(name)
    unscored = {name: metrics for name, metrics in unscored.items() if metrics}
    return {"n": len(documents), "scores": scores, "unscored": unscored}
