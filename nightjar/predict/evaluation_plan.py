"""The plan of an evaluation: the system that answers with a model, the benchmarks and tasks that it answers, and why
it answers no others. `nightjar evaluate` and `nightjar.evaluate` follow the same plan and refuse the same requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nightjar.benchmarks import registry
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.evaluation_folder import tasks_left_out, tasks_of
from nightjar.benchmarks.question_set import check_settings
from nightjar.benchmarks.records import read_questions
from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE, checked, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.models.backends import backend
from nightjar.models.directory.weights import CONFIG
from nightjar.params import Params, validate
from nightjar.params.chat import SERVER_SIDE
from nightjar.params.groups import ALL_TOOLS
from nightjar.params.inputs import PinnedSource
from nightjar.params.predict import System
from nightjar.params.profile_values import put
from nightjar.predict.predictor import Job, lacking
from nightjar.predict.resolved_model import ResolvedModel, resolve, system_name
from nightjar.predict.standalone import values_for

# Settings of a chat that servers alone follow, with the options of the command line; no answer depends on them.
OPTIONS_OF_SERVERS = {"at_once": "--requests-at-once", "token_limit": "--token-limit"}
TEMPLATE_OPTIONS = {"date": "--date", "template_name": "--chat-template"}


def no_source() -> NightjarError:
    """The error of an evaluation without a project that names no data, or both kinds."""
    fix = "name a benchmark with the folder or file of its data, or a task file alone"
    return NightjarError("one benchmark with its data, or one task file, is required", "benchmark", fix)


@dataclass(frozen=True)
class EvaluationRequest:
    """A model and what it is evaluated on, as a user writes both.

    None stands for all benchmarks of the project, all tasks, all questions, the model's own use of tools, and, of
    `chat`, prompts without a template. `engine` has what of precision, threads, batch_size and device is not as the
    parameters say. `data` are published files of the one benchmark. `task` is a task file, whose data are in its folder
    unless `allow_outside`. `settings` are parameters by their dotted keys.
    """

    model: str
    benchmarks: list[str] | None = None
    tasks: list[str] | None = None
    limit: int | None = None
    calls: str | None = None
    chat: dict[str, Any] | None = None
    engine: dict[str, Any] | None = None
    data: str | None = None
    task: str | None = None
    settings: dict[str, Any] | None = None
    allow_outside: bool = False

    @property
    def decisive(self) -> EvaluationRequest:
        """The request without what no answer depends on: the limit, the speed, and the place of the questions."""
        chat = {name: value for name, value in (self.chat or {}).items() if name not in OPTIONS_OF_SERVERS}
        return replace(
            self,
            limit=None,
            chat=None if self.chat is None else chat,
            data=None,
            task=None,
            settings=None,
            allow_outside=False,
        )


@dataclass(frozen=True)
class EvaluationPlan:
    """The system `name` with its model, and the tasks of each benchmark that it answers.

    `params` have this system alone. `left_out` has the other tasks of each benchmark, with the reason.
    """

    name: str
    model: ResolvedModel
    params: Params
    tasks: Mapping[str, list[str]]
    left_out: Mapping[str, Mapping[str, str]]

    def job(self, benchmark: str, questions: Path, base: Path) -> Job:
        """Return the job of the system on the questions of a benchmark; `base` is the folder of its language model."""
        return Job.of(self.params, f"{benchmark}-{self.name}", questions, base)


def task_source(request: EvaluationRequest) -> tuple[Benchmark, Path] | None:
    """Return the card of the task file, or of the benchmark whose files are named, and its data; None for neither."""
    if request.allow_outside and request.task is None:
        raise NightjarError("it is for a task file", "--allow-outside", "give --task, or leave it out")
    if request.data is None and request.task is None:
        return None
    if len(request.benchmarks or ()) > 1:
        raise NightjarError("--data are those of one benchmark", "--benchmark", "name one")
    match request.benchmarks, request.data, request.task:
        case [benchmark], str(data), None:
            return registry.load_benchmark(benchmark), Path(data)
        case None | [], None, str(task):
            card = registry.add(Path(task), allow_outside=request.allow_outside)
            assert card.task_source
            return card, card.task_source.data
    raise no_source()


def parameters(request: EvaluationRequest, source: tuple[Benchmark, Path] | None) -> Params:
    """Return the parameters of the project, or those of a benchmark without one, with the settings of the request."""
    if source is None and not PARAMS_FILE.is_file():
        fix = "run from the project's root, or give --data or --task"
        raise NightjarError("no project in this folder", PARAMS_FILE, fix)
    values = read_yaml(PARAMS_FILE) if source is None else values_for(*source)
    put(values, request.settings or {}, "--set", "params.yaml has every key")
    return validate(values, PARAMS_FILE if source is None else "--set")


def model_of(
    request: EvaluationRequest, params: Params, source: tuple[Benchmark, Path] | None
) -> ResolvedModel:
    """Return the model of a request; nothing is loaded."""
    model = resolve(request.model)
    if request.engine and model.remote:
        fix = f"leave --{next(iter(request.engine)).replace('_', '-')} out"
        raise NightjarError("settings of local weights, but this model runs elsewhere", request.model, fix)
    _check_chat(request, model)
    if model.remote and source and not paths.LANGUAGE_MODEL.is_dir():
        # Its tokenizer limits the prompts.
        return replace(model, language_model=params.models.language_model.source)
    return model


def _check_chat(request: EvaluationRequest, model: ResolvedModel) -> None:
    """Raise NightjarError for a chat with a model that has none, and for settings of a chat that change nothing."""
    if request.chat is None:
        return
    kind = backend(model.weights) if model.remote else None
    if kind and "chat" not in kind.can:
        fix = "give a chat: server as --model"
        raise NightjarError(f"{kind.title} gets no chat template", request.model, fix)
    for name, option in OPTIONS_OF_SERVERS.items():
        if not kind and name in request.chat:
            raise NightjarError("it is for a chat server", option, "leave it out")
    for name, option in TEMPLATE_OPTIONS.items():
        if kind and name in request.chat:
            raise NightjarError(SERVER_SIDE[name], option, "leave it out")


def plan(
    request: EvaluationRequest, model: ResolvedModel, params: Params, questions: Path, base: Path
) -> EvaluationPlan:
    """Return the plan of an evaluation. `questions` has a folder with the questions of each benchmark.

    `base` is the folder of the language model. Where it has no files yet, the model is taken for a causal one.
    """
    registry.check(params)
    all_tasks = _all_tasks(request, params, questions)
    names = [task for tasks in all_tasks.values() for task in tasks]
    if missing := sorted(set(request.tasks or ()) - set(names)):
        what = f"no such task of {', '.join(all_tasks)}"
        raise NightjarError(what, missing[0], f"tasks are {', '.join(names)}")
    chosen: dict[str, list[str]] = {}
    left_out: dict[str, dict[str, str]] = {}
    for benchmark, tasks in all_tasks.items():
        requested = [task for task in tasks if request.tasks is None or task in request.tasks]
        if reasons := _reasons(benchmark, requested, model, params, base):
            left_out[benchmark] = reasons
        if answered := [task for task in requested if task not in reasons]:
            chosen[benchmark] = answered
    if not chosen:
        reason = next(reason for reasons in left_out.values() for reason in reasons.values())
        fix = "choose other tasks, or another model"
        raise NightjarError(f"no task can be answered: {reason}", request.model, fix)
    name = _name(request, model, params, list(chosen))
    return EvaluationPlan(
        name, model, with_system(params, request, model, name, list(chosen)), chosen, left_out
    )


def _all_tasks(request: EvaluationRequest, params: Params, questions: Path) -> dict[str, list[str]]:
    """Return the tasks of each requested benchmark."""
    benchmarks = list(dict.fromkeys(request.benchmarks or params.benchmarks))
    if unknown := [name for name in benchmarks if name not in params.benchmarks]:
        fix = f"benchmarks are {', '.join(params.benchmarks)}"
        raise NightjarError("no such benchmark in params.yaml", unknown[0], fix)
    for name in benchmarks:
        if not (questions / name).is_dir():
            raise NightjarError("its questions are missing", name, f"run: nightjar rebuild questions@{name}")
    return {name: tasks_of(read_questions(questions / name)) for name in benchmarks}


def _reasons(
    benchmark: str, tasks: Sequence[str], model: ResolvedModel, params: Params, base: Path
) -> dict[str, str]:
    """Return the tasks of a benchmark that the model cannot answer, with the reason of each."""
    card = registry.load_benchmark(benchmark)
    kinds = [card.task(task).kind for task in tasks]
    present = model.remote or (base / CONFIG).is_file()
    reasons = lacking(backend(model.weights, base), kinds, model.weights) if present else {}
    if params.predict.benchmark(benchmark).temperature and "sample" in reasons:
        return dict.fromkeys(tasks, reasons["sample"])
    if not model.evidence or (paths.RETRIEVED / benchmark).is_dir():
        return tasks_left_out(card, tasks, reasons)
    if benchmark in params.retrieve.benchmarks:
        what = f"the model's prompts have evidence, and that of {benchmark} is missing"
        raise NightjarError(what, model.weights, f"run: nightjar rebuild retrieve@{benchmark}")
    return dict.fromkeys(tasks, "the model's prompts have evidence, and the project retrieves none for it")


def _name(request: EvaluationRequest, model: ResolvedModel, params: Params, benchmarks: Sequence[str]) -> str:
    """Return the name of the system, which is none of a baseline."""
    talks = request.chat is not None or (model.remote and "chat" in backend(model.weights).can)
    name = system_name(request.model) + "_chat" * talks
    for benchmark in benchmarks:
        card = registry.load_benchmark(benchmark)
        if name in card.baselines(check_settings(card, params.benchmarks[benchmark].settings())):
            name = f"model_{name}"
    return name


def with_system(
    params: Params, request: EvaluationRequest, model: ResolvedModel, name: str, benchmarks: Sequence[str]
) -> Params:
    """Return `params` with the benchmarks and the system of an evaluation alone."""
    engine = request.engine or {}
    systems = {
        f"{benchmark}-{name}": checked(
            System,
            {
                "kind": "model",
                "benchmark": benchmark,
                "system": name,
                "weights": model.weights,
                "evidence": (paths.RETRIEVED / benchmark if model.evidence else paths.NONE).as_posix(),
                "tools": ALL_TOOLS,
                "index": (paths.INDEX if paths.INDEX.is_dir() else paths.NONE).as_posix(),
                "calls": request.calls,
                "chat": request.chat,
            },
            f"the chat of {request.model}",
        )
        for benchmark in benchmarks
    }
    # What the request says is stronger than what a benchmark has of its own.
    local = {key: engine[key] for key in ("precision", "batch_size") if key in engine}
    by_name = {benchmark: {**params.predict.by_name.get(benchmark, {}), **local} for benchmark in benchmarks}
    source = request.model if model.remote else model.language_model
    language_model = PinnedSource(source=source)
    return params.model_copy(
        update={
            "threads": engine.get("threads", params.threads),
            "models": params.models.model_copy(update={"language_model": language_model}),
            "predict": params.predict.model_copy(update={"systems": systems, **by_name}),
            "consistency": params.consistency.model_copy(
                update={"benchmarks": {}}
            ),  # of the project's readers
            "benchmarks": {benchmark: params.benchmarks[benchmark] for benchmark in benchmarks},
        }
    )
