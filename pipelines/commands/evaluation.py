"""An evaluation of any model: a folder of its own, in which the stages predict, evaluate and report run.

The folder has a params.yaml made of the project's, the chosen questions, the model, and links to what the project
made. The project itself is only read. A run that was killed resumes: the stages by their journals, and one whose facts
are there is done.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from nightjar.benchmarks import registry
from nightjar.benchmarks.evaluated import RECORD
from nightjar.benchmarks.files import QUESTIONS, read_questions
from nightjar.benchmarks.subset import left_out, tasks_of, write_subset
from nightjar.core import params as params_module
from nightjar.core.config import PARAMS_FILE, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.files import METRICS, check_place, metrics_file, remove, write_text
from nightjar.core.journal import contents, digest
from nightjar.core.json_text import read_object
from nightjar.lm.weights import digest as digest_of_weights
from pipelines.process import lock
from pipelines.process.child import Child
from pipelines.process.signals import stopped_by_signals
from pipelines.project.environment import SECRETS
from stages.base_model.given import MODEL, Given, kind_of, make_given_ready, name_of

LOCK = Path(".nightjar/evaluate.lock")
# What the stages may read of the project, as links.
READ = (
    "data/index",
    "data/ingest",
    "data/retrieve",
    "data/sample",
    "models/base/sentence_encoder",
    "profiles",
)
# Facts of the project's stages that the report names.
FACTS = ("ingest-*", "split", "index", "questions-*", "retrieve-*")
# Results beside the predictions that the folder does not have.
_WITHOUT: Mapping[str, Any] = {
    "readers": {"recipes": {}},
    "consistency": {"benchmarks": {}},
    "rerank": {"benchmarks": {}},
}


@dataclass(frozen=True)
class Asked:
    """What the user asked for; None is all benchmarks of the project, all tasks, all questions, or the model's own
    use of tools."""

    model: str
    benchmarks: list[str] | None
    tasks: list[str] | None
    limit: int | None
    calls: str | None


@dataclass(frozen=True)
class Plan:
    """What will be evaluated: the tasks of each benchmark, and those left out with the reason."""

    name: str
    given: Given
    tasks: Mapping[str, list[str]]
    left_out: Mapping[str, Mapping[str, str]]
    values: Mapping[str, Any]

    def item(self, benchmark: str) -> str:
        """The item of the stage predict."""
        return f"{benchmark}-{self.name}"


def evaluate(asked: Asked, output: Path) -> tuple[int, dict[str, Any]]:
    """Evaluate a model; returns the exit status of the last stage, and the record of the run.

    Raises NightjarError for what cannot be asked of the project or the model, and if `output` holds another run.
    """
    project = Path.cwd()
    _check_output(output, project)
    plan = _plan(asked)
    identity = _identity(asked, plan)
    output.mkdir(parents=True, exist_ok=True)
    fresh = not (output / RECORD).exists()
    with lock.locked(output, LOCK, "an evaluation", fix="wait for it"):
        record = _record(output, asked, plan, identity)
        try:
            _prepare(asked, plan, project, output)
        except NightjarError:
            if fresh:  # nothing of value is there: the corrected command may use the folder
                remove(output)
            raise
        with stopped_by_signals():
            status = _run_stages(plan, output)
        if not status:
            record["scores"] = json.loads((output / "data/report/headline.json").read_text(encoding="utf-8"))
            _write(output / RECORD, record)
    return status, record


def _check_output(output: Path, project: Path) -> None:
    check_place(output)
    if output.exists() and not output.is_dir():
        raise NightjarError("not a folder", output, "name a folder to write")
    whole = output.resolve()
    inside = any(whole.is_relative_to(project / name) for name in ("data", "models", "stages", "nightjar"))
    if inside or project.is_relative_to(whole):
        raise NightjarError("the project's own files are there", output, "name a folder beside them")


def _plan(asked: Asked) -> Plan:
    """The tasks that can be answered. Raises NightjarError for unknown or missing benchmarks and tasks."""
    params = params_module.load()
    registry.check(params)
    given, name = kind_of(asked.model), name_of(asked.model)
    named = list(dict.fromkeys(asked.benchmarks or params.benchmarks))
    if unknown := [one for one in named if one not in params.benchmarks]:
        fix = f"benchmarks are {', '.join(params.benchmarks)}"
        raise NightjarError("no such benchmark in params.yaml", unknown[0], fix)
    all_tasks = {one: _tasks(one) for one in named}
    if missing := sorted(set(asked.tasks or ()) - {task for own in all_tasks.values() for task in own}):
        fix = f"see the folders of data/questions of {', '.join(named)}"
        raise NightjarError("no such task", missing[0], fix)
    chosen, lacking = {}, {}
    for one, own in all_tasks.items():
        wanted = [task for task in own if asked.tasks is None or task in asked.tasks]
        lacking[one] = _lacking(one, wanted, given, params)
        if left := [task for task in wanted if task not in lacking[one]]:
            chosen[one] = left
    lacking = {one: reasons for one, reasons in lacking.items() if reasons}
    if not chosen:
        reason = next(
            (reason for reasons in lacking.values() for reason in reasons.values()), "no task is left"
        )
        raise NightjarError(
            f"no task can be answered: {reason}", asked.model, "choose other tasks, or another model"
        )
    if any(name in registry.card(one).baselines(_settings(one, params)) for one in chosen):
        name = f"model_{name}"
    return Plan(name, given, chosen, lacking, _values(asked, given, name, chosen))


def _settings(benchmark: str, params: params_module.Params) -> Any:
    return registry.settings(registry.card(benchmark), params.benchmarks[benchmark].settings())


def _tasks(benchmark: str) -> list[str]:
    folder = QUESTIONS / benchmark
    if not folder.is_dir():
        raise NightjarError(
            "its questions are missing", benchmark, f"run: nightjar rebuild questions@{benchmark}"
        )
    return tasks_of(read_questions(folder))


def _lacking(
    benchmark: str, tasks: Sequence[str], given: Given, params: params_module.Params
) -> dict[str, str]:
    """The tasks of a benchmark that the model cannot answer, and why."""
    from stages.predict.served import LACKING

    card = registry.card(benchmark)
    if given.server:
        if params.predict.benchmark(benchmark).temperature:
            return dict.fromkeys(tasks, LACKING["sample"])
        return left_out(card, tasks, LACKING)
    if given.evidence and not Path("data/retrieve", benchmark).is_dir():
        fix = f"run: nightjar rebuild retrieve@{benchmark}"
        if benchmark in params.retrieve.benchmarks:
            raise NightjarError(
                f"the model's prompts have evidence, and that of {benchmark} is missing", given.weights, fix
            )
        return dict.fromkeys(
            tasks, "the model's prompts have evidence, and the project retrieves none for it"
        )
    return {}


def _values(asked: Asked, given: Given, name: str, chosen: Mapping[str, list[str]]) -> dict[str, Any]:
    """The params.yaml of the folder."""
    values = read_yaml(PARAMS_FILE)
    systems = {}
    for one in chosen:
        own = (QUESTIONS / one).as_posix()
        tools = asked.calls != "off" and Path("data/index").is_dir()
        systems[f"{one}-{name}"] = {
            "benchmark": one,
            "system": name,
            "weights": given.weights.as_posix(),
            "evidence": f"data/retrieve/{one}" if given.evidence else own,
            "resource": "data/index" if tools else own,
            "calls": asked.calls,
        }
    for group, empty in _WITHOUT.items():
        values[group] = {**values[group], **empty}
    values["predict"] = {**values["predict"], "systems": systems}
    values["benchmarks"] = {one: values["benchmarks"][one] for one in chosen}
    source = {"source": asked.model}
    values["models"] = {**values["models"], "language_model": source}
    params_module.validate(values)
    return values


def _identity(asked: Asked, plan: Plan) -> str:
    """A digest of all that decides the results, but for the code."""
    folder = Path(asked.model)
    weights = digest_of_weights(folder) if plan.given.server is None and folder.is_dir() else None
    questions = {one: contents(QUESTIONS / one) for one in plan.tasks}
    return digest({"asked": asdict(asked), "weights": weights, "values": plan.values, "questions": questions})


def _record(output: Path, asked: Asked, plan: Plan, identity: str) -> dict[str, Any]:
    """The record of this run in its folder. Raises NightjarError if the folder holds something else."""
    file = output / RECORD
    if file.is_file():
        found = read_object(file, "delete the folder, or name another")
        if found.get("identity") == identity:
            return found
        before = found.get("asked") or {}
        changed = [
            f"{key} {before.get(key)!r}" for key, value in asdict(asked).items() if before.get(key) != value
        ]
        what = f"it holds another run ({', '.join(changed) or 'of other parameters, questions or weights'})"
        raise NightjarError(what, output, "name another folder, or delete this one")
    if any(path.name != LOCK.parts[0] for path in output.iterdir()):
        raise NightjarError("it is not empty and holds no evaluation", output, "name another folder")
    record = {
        "asked": asdict(asked),
        "identity": identity,
        "name": plan.name,
        "tasks": plan.tasks,
        "left_out": plan.left_out,
        "scores": None,
    }
    _write(file, record)
    return record


def _write(file: Path, record: Mapping[str, Any]) -> None:
    write_text(file, json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def _prepare(asked: Asked, plan: Plan, project: Path, output: Path) -> None:
    """Everything that the stages read; what is there already remains."""
    from stages.predict.served import write_record

    for name in READ:
        place = output / name
        if (project / name).exists() and not place.is_symlink():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(project / name, target_is_directory=True)
    (output / METRICS).mkdir(parents=True, exist_ok=True)
    for pattern in FACTS:
        for file in (project / METRICS).glob(f"{pattern}.json"):
            if not (output / METRICS / file.name).exists():
                shutil.copyfile(file, output / METRICS / file.name)
    seed = plan.values["seed"]
    for one, tasks in plan.tasks.items():
        if not (output / QUESTIONS / one).exists():
            write_subset(QUESTIONS / one, output / QUESTIONS / one, tasks, asked.limit, seed)
    if plan.given.server:
        write_record(output / plan.given.weights, plan.given.server)
    _prepare_model(asked, plan, project, output)
    _write_params(output / PARAMS_FILE, plan.values)


def _prepare_model(asked: Asked, plan: Plan, project: Path, output: Path) -> None:
    """The model, and the facts of where it came from, which the report shows."""
    made = make_given_ready(asked.model, output)
    facts = metrics_file("base_model")
    if plan.given.server:
        made = {"source": asked.model}
    elif made is None and (output / MODEL).resolve() == (project / MODEL).resolve() and facts.is_file():
        shutil.copyfile(facts, output / facts)
    if made is not None:
        rows = {"rows_in": 1, "rows_out": 1, "rows_rejected": 0}
        stage = {"stage": "base_model", "inputs": [], "outputs": [MODEL.as_posix()]}
        _write(output / facts, {**stage, **rows, "language_model": made})


def _write_params(file: Path, values: Mapping[str, Any]) -> None:
    from ruamel.yaml import YAML

    text = StringIO()
    YAML(typ="safe", pure=True).dump(dict(values), text)
    write_text(file, text.getvalue())


def _run_stages(plan: Plan, output: Path) -> int:
    """Run the stages that are not done; the exit status of the first that fails, else 0."""
    stages = [("predict", plan.item(one)) for one in plan.tasks]
    stages += [("evaluate", one) for one in plan.tasks]
    for folder, *item in [*stages, ("report",)]:
        name = "@".join((folder, *item))
        if (output / metrics_file(name)).is_file():
            continue
        if status := _run([sys.executable, "-m", f"stages.{folder}", *item], output):
            return status
    return 0


def _run(command: Sequence[str], output: Path) -> int:
    """Run a stage as a group of processes that ends with this one; returns its exit status."""
    environment = {key: value for key, value in os.environ.items() if key not in SECRETS}
    with Child(command, output, environment) as child:
        return child.wait()
