"""An evaluation of any model: a folder of its own, in which the stages predict, evaluate and report run.

The folder has a params.yaml made of the project's, the chosen questions, the model, and links to what the project
made. The project itself is only read. A run that was killed resumes: the stages by their journals, and one whose facts
are there is done.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nightjar.benchmarks import evaluated, registry
from nightjar.benchmarks.evaluated import RECORD
from nightjar.benchmarks.files import QUESTIONS, read_questions
from nightjar.benchmarks.scores import nothing_to_score
from nightjar.benchmarks.subset import left_out, tasks_of, write_subset
from nightjar.core import params as params_module
from nightjar.core.config import PARAMS_FILE, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.files import METRICS, check_folder, folder_output, metrics_file, remove, write_text
from nightjar.core.journal import FOLDER as JOURNALS
from nightjar.core.journal import KEEP, contents, digest
from nightjar.core.json_text import read
from nightjar.lm.weights import digest as digest_of_weights
from pipelines.process import lock
from pipelines.process.child import Child
from pipelines.process.signals import stopped_by_signals
from pipelines.project.environment import without
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


def evaluate(asked: Asked, output: Path) -> tuple[int, dict[str, Any]]:
    """Evaluate a model; returns the exit status of the last stage, and the record of the run.

    "unscored" of the record says which benchmarks have nothing to score, and how to hand their predictions in.

    Raises NightjarError for what cannot be asked of the project or the model, and if `output` holds another run.
    """
    known = evaluated.read(output) if (output / RECORD).is_file() else None
    if not known:
        check_folder(output)
    given = kind_of(asked.model)
    record, values = _plan(asked, given)
    if not known:
        _prepare(asked, given, record, values, output)
    _check_same(record, output)
    with lock.locked(output, LOCK, "an evaluation", fix="wait for it"), stopped_by_signals():
        if asked.limit != evaluated.read(output).asked.get("limit"):
            _ask_more(record, output)
        _write_questions(record, output, values["seed"])
        status = _run_stages(record, output)
    if not status:
        again = f"delete {output / metrics_file('report')} and run again"
        scores = read(output / "data/report/headline.json", again)
        _write(output / RECORD, record := {**record, "scores": scores})
    return status, record | {"unscored": _unscored(record, output)}


def _unscored(record: Mapping[str, Any], output: Path) -> list[str]:
    """What is said of each benchmark none of whose questions has a reference, with the command for its leaderboard."""
    told = []
    for one in record["tasks"]:
        asked, given = output / QUESTIONS / one, output / "data/predict" / one / record["name"]
        if nothing := nothing_to_score(
            registry.card(one), read_questions(asked), f"{given} --questions {asked}"
        ):
            told.append(str(nothing))
    return told


def _plan(asked: Asked, given: Given) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record of the run and its parameters. The record has the tasks of each benchmark, those that are left out
    with the reason, and an identity: a digest of all that decides the results, but for the code.

    Raises NightjarError for unknown or missing benchmarks and tasks, and if no task can be answered.
    """
    params = params_module.load()
    registry.check(params)
    named = list(dict.fromkeys(asked.benchmarks or params.benchmarks))
    if unknown := [one for one in named if one not in params.benchmarks]:
        fix = f"benchmarks are {', '.join(params.benchmarks)}"
        raise NightjarError("no such benchmark in params.yaml", unknown[0], fix)
    tasks = {}
    for one in named:
        if not (QUESTIONS / one).is_dir():
            raise NightjarError("its questions are missing", one, f"run: nightjar rebuild questions@{one}")
        tasks[one] = tasks_of(read_questions(QUESTIONS / one))
    known = [task for own in tasks.values() for task in own]
    if missing := sorted(set(asked.tasks or ()) - set(known)):
        raise NightjarError(
            f"no such task of {', '.join(named)}", missing[0], f"tasks are {', '.join(known)}"
        )
    wanted = {
        one: [it for it in own if asked.tasks is None or it in asked.tasks] for one, own in tasks.items()
    }
    lacking = {one: _lacking(one, own, given, params) for one, own in wanted.items()}
    chosen = {one: [it for it in own if it not in lacking[one]] for one, own in wanted.items()}
    chosen = {one: own for one, own in chosen.items() if own}
    if not chosen:
        reason = next(reason for reasons in lacking.values() for reason in reasons.values())
        fix = "choose other tasks, or another model"
        raise NightjarError(f"no task can be answered: {reason}", asked.model, fix)
    name = name_of(asked.model)
    for one in chosen:
        card = registry.card(one)
        if name in card.baselines(registry.settings(card, params.benchmarks[one].settings())):
            name = f"model_{name}"
    values = _values(asked, given, name, list(chosen))
    folder = Path(asked.model)
    weights = digest_of_weights(folder) if given.server is None and folder.is_dir() else None
    questions = {one: contents(QUESTIONS / one) for one in chosen}
    # Without the limit: answers do not depend on how many are asked.
    told = {"asked": {**asdict(asked), "limit": None}, "weights": weights, "values": values}
    told["questions"] = questions
    record = {
        "asked": asdict(asked),
        "identity": digest(told),
        "name": name,
        "tasks": chosen,
        "left_out": {one: reasons for one, reasons in lacking.items() if reasons},
        "scores": None,
    }
    return record, values


def _lacking(
    benchmark: str, tasks: Sequence[str], given: Given, params: params_module.Params
) -> dict[str, str]:
    """The tasks of a benchmark that the model cannot answer, and why."""
    from stages.predict.served import LACKING

    if given.server:
        if params.predict.benchmark(benchmark).temperature:
            return dict.fromkeys(tasks, LACKING["sample"])
        return left_out(registry.card(benchmark), tasks, LACKING)
    if not given.evidence or Path("data/retrieve", benchmark).is_dir():
        return {}
    if benchmark in params.retrieve.benchmarks:
        what = f"the model's prompts have evidence, and that of {benchmark} is missing"
        raise NightjarError(what, given.weights, f"run: nightjar rebuild retrieve@{benchmark}")
    return dict.fromkeys(tasks, "the model's prompts have evidence, and the project retrieves none for it")


def _values(asked: Asked, given: Given, name: str, benchmarks: Sequence[str]) -> dict[str, Any]:
    """The params.yaml of the folder."""
    values = read_yaml(PARAMS_FILE)
    systems = {}
    for one in benchmarks:
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
    overlay = {**_WITHOUT, "predict": {"systems": systems}}
    overlay["models"] = {"language_model": {"source": asked.model}}
    for group, own in overlay.items():
        values[group] = {**values[group], **own}
    values["benchmarks"] = {one: values["benchmarks"][one] for one in benchmarks}
    params_module.validate(values)
    return values


def _check_same(record: Mapping[str, Any], output: Path) -> None:
    """Raise NightjarError if the folder holds something else than this run."""
    found = evaluated.read(output)
    limit, before = record["asked"]["limit"], found.asked.get("limit")
    fewer = limit is not None and (not isinstance(before, int) or limit < before)
    if found.identity != record["identity"] or fewer:
        changed = [
            f"{key} {found.asked.get(key)!r}"
            for key, value in record["asked"].items()
            if found.asked.get(key) != value
        ]
        what = f"it holds another run ({', '.join(changed) or 'of other parameters, questions or weights'})"
        raise NightjarError(what, output, "name another folder, or delete this one")


def _prepare(
    asked: Asked, given: Given, record: Mapping[str, Any], values: Mapping[str, Any], output: Path
) -> None:
    """Make the folder with everything that the stages read, whole or not at all."""
    from stages.predict.served import write_record

    with folder_output(output) as made:
        (made / METRICS).mkdir(parents=True)
        for name in READ:
            if Path(name).exists():
                (made / name).parent.mkdir(parents=True, exist_ok=True)
                (made / name).symlink_to(Path(name).absolute(), target_is_directory=True)
        for file in (file for pattern in FACTS for file in METRICS.glob(f"{pattern}.json")):
            shutil.copyfile(file, made / file)
        _write_questions(record, made, values["seed"])
        (made / JOURNALS).mkdir(parents=True)
        (made / JOURNALS / KEEP).touch()  # a run with a larger limit finds the answers
        if given.server:
            write_record(made / given.weights, given.server)
        _prepare_model(asked, given, made)
        _write(made / PARAMS_FILE, values)  # JSON is YAML
        _write(made / RECORD, record)


def _write_questions(record: Mapping[str, Any], output: Path, seed: int) -> None:
    """Write the chosen questions of each benchmark, unless they are there."""
    for one, tasks in record["tasks"].items():
        if not (output / QUESTIONS / one).is_dir():
            write_subset(QUESTIONS / one, output / QUESTIONS / one, tasks, record["asked"]["limit"], seed)


def _ask_more(record: Mapping[str, Any], output: Path) -> None:
    """Let the stages run again on more questions. Killed at any point, it is resumed, or the run before it is."""
    for stage in _stages(record):
        (output / metrics_file(stage)).unlink(missing_ok=True)
    for one in record["tasks"]:
        remove(output / QUESTIONS / one)
    _write(output / RECORD, record)


def _prepare_model(asked: Asked, given: Given, made: Path) -> None:
    """The model, and the facts of where it came from, which the report shows."""
    source = make_given_ready(asked.model, made)
    facts = metrics_file("base_model")
    if given.server:
        source = {"source": asked.model}
    elif source is None and (made / MODEL).resolve() == MODEL.resolve() and facts.is_file():
        shutil.copyfile(facts, made / facts)
    if source is not None:
        rows = {"rows_in": 1, "rows_out": 1, "rows_rejected": 0}
        stage = {"stage": "base_model", "inputs": [], "outputs": [MODEL.as_posix()]}
        _write(made / facts, {**stage, **rows, "language_model": source})


def _write(file: Path, values: Mapping[str, Any]) -> None:
    write_text(file, json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def _stages(record: Mapping[str, Any]) -> list[str]:
    """The names of the stages of a run, in their order."""
    predict = [f"predict@{one}-{record['name']}" for one in record["tasks"]]
    return [*predict, *(f"evaluate@{one}" for one in record["tasks"]), "report"]


def _run_stages(record: Mapping[str, Any], output: Path) -> int:
    """Run the stages that are not done; the exit status of the first that fails, else 0."""
    for stage in _stages(record):
        folder, _, item = stage.partition("@")
        command = [sys.executable, "-m", f"stages.{folder}", *([item] if item else [])]
        if not (output / metrics_file(stage)).is_file() and (status := _run(command, output)):
            return status
    return 0


def _run(command: Sequence[str], output: Path) -> int:
    """Run a stage as a group of processes that ends with this one; returns its exit status."""
    with Child(command, output, without()) as child:
        return child.wait()
