"""An evaluation of any model: the stages predict, evaluate and report, run here with a folder of their own.

The folder has the chosen questions and what the stages make. Everything else is read in the project, which is not
changed; published files and task files need none (`nightjar.predict.standalone`). A run that was killed resumes: the
stages by their checkpoints, and one whose facts are there is done.
"""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from nightjar import params as params_module
from nightjar.benchmarks import evaluation, registry
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.evaluation import RECORD, tasks_left_out, tasks_of, write_samples, write_subset
from nightjar.benchmarks.records import read_questions
from nightjar.benchmarks.scores import nothing_to_score
from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_folder, folder_output, remove, write_text
from nightjar.core.identity import contents, digest
from nightjar.core.json_text import read, recorded
from nightjar.models.backends import backend
from nightjar.models.weights import CONFIG
from nightjar.models.weights import digest as digest_of_weights
from nightjar.params import Params
from nightjar.params.groups import ALL_TOOLS
from nightjar.params.profiles import put
from nightjar.predict.predictor import lacking
from nightjar.predict.resolved_model import ResolvedModel, resolve, system_name
from nightjar.predict.standalone import questions_of, values_for
from pipelines.commands.options import prepare_model, use_device
from pipelines.process import lock
from pipelines.process.signals import stopped_by_signals
from stages._runtime.checkpoint import KEEP
from stages._runtime.stage import Show, Stage, before_models, carry_out

log = logging.getLogger("nightjar")


@dataclass(frozen=True)
class Options:
    """What the user asked for; None is all benchmarks of the project, all tasks, all questions, the model's own use of
    tools, or, of `chat`, prompts without a template.

    `engine` has what of precision, threads, batch_size and device is not as the parameters say. `data` are published
    files of the one benchmark, `task` is a task file, whose data are in its folder unless `allow_outside`; `settings`
    are parameters by their dotted keys."""

    model: str
    benchmarks: list[str] | None
    tasks: list[str] | None
    limit: int | None
    calls: str | None
    chat: dict[str, Any] | None = None
    engine: dict[str, Any] | None = None
    data: str | None = None
    task: str | None = None
    settings: dict[str, Any] | None = None
    allow_outside: bool = False

    @property
    def decides(self) -> dict[str, Any]:
        """What answers depend on: neither how many are asked, nor how fast, nor where the questions come from."""
        chat = {
            name: value for name, value in (self.chat or {}).items() if name not in ("at_once", "token_limit")
        }
        sources = ("data", "task", "settings", "allow_outside")
        options = {key: value for key, value in asdict(self).items() if key not in sources}
        return {**options, "limit": None, "chat": None if self.chat is None else chat}


def evaluate(options: Options, output: Path, show: Show | None = None) -> dict[str, Any]:
    """Evaluate a model; returns the record of the run. `show`: as of a `Stage`.

    "unscored" of the record says which benchmarks have nothing to score, and how to hand their predictions in.

    Raises NightjarError for what cannot be asked of the project or the model, if `output` holds another run, and as the
    stages do.
    """
    known = evaluation.read(output) if (output / RECORD).is_file() else None
    if not known:
        check_folder(output)
    engine = options.engine or {}
    own = own_card(options)
    values = read_yaml(PARAMS_FILE) if own is None else values_for(*own)
    put(values, options.settings or {}, "--set", "params.yaml has every key")
    project = params_module.validate(values, PARAMS_FILE if own is None else "--set")
    before_models(project.model_copy(update={"threads": engine.get("threads", project.threads)}))
    model = resolve(options.model)
    if engine and model.remote:
        fix = f"leave --{next(iter(engine)).replace('_', '-')} out"
        raise NightjarError("settings of local weights, but this model runs elsewhere", options.model, fix)
    if model.remote and own and not paths.LANGUAGE_MODEL.is_dir():
        # Its tokenizer limits the prompts.
        model = replace(model, language_model=project.models.language_model.source)
    prepare_model(model.language_model)
    use_device(engine.get("device"))
    with questions_of(own[0], project) if own else nullcontext(paths.QUESTIONS) as questions:
        record, params = _plan(options, model, project, values, questions)
        if not known:
            _prepare(model, record, params, output, questions)
        _check_same(record, output)
        with (
            lock.locked(output, paths.EVALUATE_LOCK, "an evaluation", fix="wait for it"),
            stopped_by_signals(),
        ):
            if options.limit != evaluation.read(output).arguments.get("limit"):
                _ask_more(record, output)
            _write_questions(record, output, params.seed, questions)
            _forget_errors(record, output)
            _run_stages(model, record, params, output, show)
            for one in record["tasks"]:
                write_samples(output, one, record["name"], output / f"samples_{one}.jsonl")
    again = f"delete {output / paths.metrics_file('report')} and run again"
    scores = read(output / paths.REPORT / "headline.json", again)
    _write(output / RECORD, record := {**record, "scores": scores})
    return record | {"unscored": _unscored(record, output)}


def own_card(options: Options) -> tuple[Benchmark, Path] | None:
    """The card of the task file, or of the benchmark whose published files are named, and its data; None for neither.

    Raises NightjarError for what does not go together.
    """
    if options.allow_outside and options.task is None:
        raise NightjarError("it is for a task file", "--allow-outside", "give --task, or leave it out")
    if options.data is None and options.task is None:
        if not PARAMS_FILE.is_file():
            fix = "run from the project's root, or give --data or --task"
            raise NightjarError("no project in this folder", PARAMS_FILE, fix)
        return None
    if len(options.benchmarks or ()) > 1:
        raise NightjarError("--data are those of one benchmark", "--benchmark", "name one")
    benchmark, data, task = next(iter(options.benchmarks or ()), None), options.data, options.task
    card = registry.select(
        benchmark,
        Path(data) if data else None,
        Path(task) if task else None,
        allow_outside=options.allow_outside,
    )
    made = card.task_source
    return card, made.data if made else Path(data or "")


def _unscored(record: Mapping[str, Any], output: Path) -> list[str]:
    """What is said of each benchmark none of whose questions has a reference, with the command for its leaderboard."""
    found = []
    for one in record["tasks"]:
        questions, answers = output / paths.QUESTIONS / one, output / paths.PREDICTIONS / one / record["name"]
        where = f"{answers} --questions {questions}"
        if nothing := nothing_to_score(registry.load_benchmark(one), read_questions(questions), where):
            found.append(str(nothing))
    return found


def _plan(
    options: Options, model: ResolvedModel, params: Params, values: dict[str, Any], questions: Path
) -> tuple[dict[str, Any], Params]:
    """The record of the run and its parameters. The record has the tasks of each benchmark, those that are left out
    with the reason, and an identity: a digest of all that decides the results, but for the code.

    Raises NightjarError for unknown or missing benchmarks and tasks, and if no task can be answered.
    """
    registry.check(params)
    named = list(dict.fromkeys(options.benchmarks or params.benchmarks))
    if unknown := [one for one in named if one not in params.benchmarks]:
        fix = f"benchmarks are {', '.join(params.benchmarks)}"
        raise NightjarError("no such benchmark in params.yaml", unknown[0], fix)
    for one in named:
        if not (questions / one).is_dir():
            raise NightjarError("its questions are missing", one, f"run: nightjar rebuild questions@{one}")
    tasks = {one: tasks_of(read_questions(questions / one)) for one in named}
    known = [task for own in tasks.values() for task in own]
    if missing := sorted(set(options.tasks or ()) - set(known)):
        raise NightjarError(
            f"no such task of {', '.join(named)}", missing[0], f"tasks are {', '.join(known)}"
        )
    wanted = {
        one: [it for it in own if options.tasks is None or it in options.tasks] for one, own in tasks.items()
    }
    lacking = {one: _lacking(one, own, model, params) for one, own in wanted.items()}
    chosen = {one: [it for it in own if it not in lacking[one]] for one, own in wanted.items()}
    chosen = {one: own for one, own in chosen.items() if own}
    if not chosen:
        reason = next(reason for reasons in lacking.values() for reason in reasons.values())
        fix = "choose other tasks, or another model"
        raise NightjarError(f"no task can be answered: {reason}", options.model, fix)
    name = system_name(options.model) + ("" if options.chat is None else "_chat")
    for one in chosen:
        card = registry.load_benchmark(one)
        if name in card.baselines(registry.settings(card, params.benchmarks[one].settings())):
            name = f"model_{name}"
    values = _with_system(values, options, model, name, list(chosen))
    folders = [] if model.remote else [model.adapter, Path(model.language_model)]
    decides = {
        "asked": options.decides,
        "weights": [digest_of_weights(it) for it in folders if it and it.is_dir()],
        "values": _with_system(
            values, replace(options, chat=options.decides["chat"]), model, name, list(chosen)
        ),
        "questions": {one: contents(questions / one) for one in chosen},
    }
    record = {
        "asked": asdict(options),
        "identity": digest(decides),
        "name": name,
        "tasks": chosen,
        "left_out": {one: reasons for one, reasons in lacking.items() if reasons},
        "scores": None,
    }
    return record, params_module.validate(values)


def _lacking(benchmark: str, tasks: Sequence[str], model: ResolvedModel, params: Params) -> dict[str, str]:
    """The tasks of a benchmark that the model cannot answer, and why; a model that is not here yet is a causal one."""
    folder = model.base(Path())
    known = model.remote or (folder / CONFIG).is_file()
    card = registry.load_benchmark(benchmark)
    kinds = [card.task(task).kind for task in tasks]
    reasons = lacking(backend(model.weights, folder), kinds, model.weights) if known else {}
    if params.predict.benchmark(benchmark).temperature and "sample" in reasons:
        return dict.fromkeys(tasks, reasons["sample"])
    if not model.evidence or (paths.RETRIEVED / benchmark).is_dir():
        return tasks_left_out(registry.load_benchmark(benchmark), tasks, reasons)
    if benchmark in params.retrieve.benchmarks:
        what = f"the model's prompts have evidence, and that of {benchmark} is missing"
        raise NightjarError(what, model.weights, f"run: nightjar rebuild retrieve@{benchmark}")
    return dict.fromkeys(tasks, "the model's prompts have evidence, and the project retrieves none for it")


def _with_system(
    given: Mapping[str, Any], options: Options, model: ResolvedModel, name: str, benchmarks: Sequence[str]
) -> dict[str, Any]:
    """The parameters of the run: `given`, those of the project or of a benchmark alone, with this system alone."""
    values = deepcopy(dict(given))
    systems = {}
    for one in benchmarks:
        systems[f"{one}-{name}"] = {
            "benchmark": one,
            "system": name,
            "kind": "model",
            "weights": model.weights,
            "evidence": f"{paths.RETRIEVED}/{one}" if model.evidence else paths.NONE.as_posix(),
            "tools": ALL_TOOLS,
            "index": (paths.INDEX if paths.INDEX.is_dir() else paths.NONE).as_posix(),
            "calls": options.calls,
            "chat": options.chat,
        }
    values["predict"]["systems"] = systems
    engine = options.engine or {}
    values["threads"] = engine.get("threads", values["threads"])
    for one in benchmarks:  # what is given here is stronger than what the benchmark has of its own
        own = {key: engine[key] for key in ("precision", "batch_size") if key in engine}
        values["predict"][one] = {**(values["predict"].get(one) or {}), **own}
    values["models"]["language_model"] = {"source": options.model if model.remote else model.language_model}
    values["consistency"]["benchmarks"] = {}  # of the project's readers
    values["benchmarks"] = {one: values["benchmarks"][one] for one in benchmarks}
    return values


def _check_same(record: Mapping[str, Any], output: Path) -> None:
    found = evaluation.read(output)
    limit, before = record["asked"]["limit"], found.arguments.get("limit")
    fewer = limit is not None and (not isinstance(before, int) or limit < before)
    if found.identity != record["identity"] or fewer:
        changed = [
            f"{key} {found.arguments.get(key)!r}"
            for key, value in record["asked"].items()
            if found.arguments.get(key) != value
        ]
        what = f"it holds another run ({', '.join(changed) or 'of other parameters, questions or weights'})"
        raise NightjarError(what, output, "name another folder, or delete this one")


def _prepare(
    model: ResolvedModel, record: Mapping[str, Any], params: Params, output: Path, questions: Path
) -> None:
    """Make the folder with the questions, and the model where it needs to be made ready, whole or not at all."""
    with folder_output(output) as made:
        (made / paths.METRICS).mkdir(parents=True)
        _write_questions(record, made, params.seed, questions)
        (made / paths.CHECKPOINTS).mkdir(parents=True)
        (made / paths.CHECKPOINTS / KEEP).touch()  # a run with a larger limit finds the answers
        source = model.prepare(made / paths.LANGUAGE_MODEL)
        if not model.remote:
            _check_model(model, made / paths.LANGUAGE_MODEL, params, list(record["tasks"]))
        if source or model.remote:  # the report shows where the model came from
            rows = {"rows_in": 1, "rows_out": 1, "rows_rejected": 0}
            stage = {"stage": "base_model", "inputs": [], "outputs": [paths.LANGUAGE_MODEL.as_posix()]}
            known = {"source": record["asked"]["model"]} if model.remote else source
            _write(made / paths.metrics_file("base_model"), {**stage, **rows, "language_model": known})
        _write(made / RECORD, record)


def _check_model(model: ResolvedModel, made: Path, params: Params, benchmarks: Sequence[str]) -> None:
    """Load the model as the stage predict will. What it is refused for is said before the folder is there."""
    from nightjar.models.load import load, prepare

    prepare(params.seed, params.threads)
    for precision in sorted({params.predict.benchmark(one).precision for one in benchmarks}):
        load(model.base(made), precision, model.adapter)
        gc.collect()  # before the model is loaded again


def _write_questions(record: Mapping[str, Any], output: Path, seed: int, questions: Path) -> None:
    """Write the chosen questions of each benchmark, unless they are there; `questions` has all of them."""
    for one, tasks in record["tasks"].items():
        if not (output / paths.QUESTIONS / one).is_dir():
            write_subset(
                questions / one, output / paths.QUESTIONS / one, tasks, record["asked"]["limit"], seed
            )


def _ask_more(record: Mapping[str, Any], output: Path) -> None:
    """Let the stages run again on more questions. Killed at any point, it is resumed, or the run before it is."""
    for stage in _stages(record):
        (output / paths.metrics_file(stage)).unlink(missing_ok=True)
    for one in record["tasks"]:
        remove(output / paths.QUESTIONS / one)
    _write(output / RECORD, record)


def _forget_errors(record: Mapping[str, Any], output: Path) -> None:
    """Let the stages run again where an answer was an error; the other answers are recorded."""
    from stages.predict.__main__ import ERRORS

    for one in record["tasks"]:
        predict, *others = (f"predict@{one}-{record['name']}", f"evaluate@{one}", "report")
        facts = output / paths.metrics_file(predict)
        if errors := recorded(facts).get(ERRORS):
            log.info("%s: questions whose answer was an error are asked again: %s", one, errors)
            for stage in (*others, predict):
                (output / paths.metrics_file(stage)).unlink(missing_ok=True)


def _write(file: Path, values: Mapping[str, Any]) -> None:
    write_text(file, json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def _stages(record: Mapping[str, Any]) -> list[str]:
    predict = [f"predict@{one}-{record['name']}" for one in record["tasks"]]
    return [*predict, *(f"evaluate@{one}" for one in record["tasks"]), "report"]


def _run_stages(
    model: ResolvedModel, record: Mapping[str, Any], params: Params, output: Path, show: Show | None
) -> None:
    from stages.evaluate import __main__ as evaluate
    from stages.predict import __main__ as predict
    from stages.report import __main__ as report

    base, tokens = model.base(output / paths.LANGUAGE_MODEL), output / "tokens.json"
    answer = partial(predict.run, base=base, tokens=tokens)
    runs: Mapping[str, tuple[Callable[[Stage], None], tuple[str, ...]]] = {
        "predict": (answer, predict.PACKAGES),
        "evaluate": (partial(evaluate.run, systems=[record["name"]]), evaluate.PACKAGES),
        "report": (report.run, report.PACKAGES),
    }
    for name in _stages(record):
        kind = name.partition("@")[0]
        if not (output / paths.metrics_file(name)).is_file():
            run, packages = runs[kind]
            if show:
                show(name.partition("-")[0], 0, None)
            stage = Stage(name, params, folder=output, show=show)
            carry_out(stage, run, packages, models=kind == "predict")
            gc.collect()  # the model of this stage, before the next one is loaded
