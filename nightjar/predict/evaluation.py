"""A model on a benchmark's published files or on a task file, from Python: `nightjar.evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from nightjar.benchmarks import registry
from nightjar.benchmarks.aggregate import aggregate
from nightjar.benchmarks.evaluation import tasks_left_out, tasks_of, write_subset
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.records import read_questions
from nightjar.benchmarks.scores import nothing_to_score, score
from nightjar.core import paths
from nightjar.core.arguments import AnyPath, as_optional_path
from nightjar.core.errors import NightjarError
from nightjar.models.backends import backend
from nightjar.params import validate
from nightjar.params.groups import ALL_TOOLS
from nightjar.params.profiles import put
from nightjar.predict import Job, predictor
from nightjar.predict.predictor import FAILURE, lacking
from nightjar.predict.resolved_model import resolve, system_name
from nightjar.predict.standalone import questions_of, values_for
from nightjar.statistics import Bootstrap

if TYPE_CHECKING:
    import pandas as pd

_SCORES = ("track", "level", "name", "metric", "n", "value", "low", "high")


@dataclass(frozen=True)
class Evaluation:
    """The outcome of `evaluate`.

    `scores` has a row for each track, level (overall, category, task) and metric: its value, the number of instances n,
    and the ends of its 95% interval (None below 20 instances), in the metric's unit. `instances` has a row a question:
    its ids, prompt, answers, references, calls and the parts of its metrics. Both are pandas data frames. `left_out`
    has the tasks that the model cannot answer, and why.
    """

    benchmark: str
    model: str
    scores: pd.DataFrame
    instances: pd.DataFrame
    left_out: Mapping[str, str]


def evaluate(
    model: str,
    benchmark: str | None = None,
    data: AnyPath | None = None,
    *,
    task: AnyPath | None = None,
    allow_outside: bool = False,
    tasks: Sequence[str] | None = None,
    limit: int | None = None,
    calls: str | None = None,
    chat: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Answer the questions of a benchmark's published files with a model, and score the answers.

    `model` is any source of `nightjar evaluate`. `benchmark` with `data`, the folder of its files or one of them; or
    `task`, a task file, whose data are in its folder unless `allow_outside`. `tasks` are some of the benchmark's, of
    each at most `limit` questions, drawn by the seed.
    `calls`: "on", "disabled" or "off". `chat`: the settings of a chat template or a chat server, {} for their defaults.
    `settings` change parameters by their dotted keys, such as {"predict.defaults.batch_size": 32}.

    Nothing is written but temporary files. `nightjar evaluate` on the command line resumes, and makes a report. Raises
    NightjarError for a model, data or settings that cannot be used, and if the model can answer none of the tasks.
    """
    data, task = as_optional_path(data, "data"), as_optional_path(task, "task")
    card = registry.select(benchmark, data, task, allow_outside=allow_outside)
    task_source = card.task_source
    values = values_for(card, data or (task_source.data if task_source else Path()))
    put(values, settings or {}, "settings", "params.yaml has every key")
    source, name = resolve(model), system_name(model)
    if chat is not None or (source.remote and "chat" in backend(model).can):
        name = f"{name}_chat"
    if source.remote and not paths.LANGUAGE_MODEL.is_dir():
        source = replace(source, language_model=values["models"]["language_model"]["source"])
    none = paths.NONE.as_posix()
    system: dict[str, Any] = {
        "benchmark": card.name,
        "system": name,
        "kind": "model",
        "weights": source.weights,
    }
    system |= {"evidence": none, "tools": ALL_TOOLS, "index": none, "calls": calls}
    system["chat"] = None if chat is None else dict(chat)
    values["predict"]["systems"] = {f"{card.name}-{name}": system}
    params = validate(values, "settings")
    with TemporaryDirectory() as folder, questions_of(card, params) as own_questions:
        place = Path(folder) / paths.LANGUAGE_MODEL.name
        source.prepare(place)
        base = source.base(place)
        all_tasks = tasks_of(read_questions(own_questions / card.name))
        if unknown := sorted(set(tasks or ()) - set(all_tasks)):
            raise NightjarError(
                f"no such task of {card.name}", unknown[0], f"tasks are {', '.join(all_tasks)}"
            )
        requested_tasks = [it for it in all_tasks if tasks is None or it in tasks]
        kinds = [card.task(it).kind for it in requested_tasks]
        left_out = tasks_left_out(
            card, requested_tasks, lacking(backend(source.weights, base), kinds, source.weights)
        )
        if not (chosen := [it for it in requested_tasks if it not in left_out]):
            reason = next(iter(left_out.values()))
            raise NightjarError(f"no task can be answered: {reason}", model, "choose another model")
        write_subset(own_questions / card.name, Path(folder) / "questions", chosen, limit, params.seed)
        from nightjar.models import prepare

        prepare(params.seed, params.threads)
        job = Job(params, f"{card.name}-{name}", Path(folder) / "questions", base)
        with predictor(job) as answering:
            numbers = range(len(answering.questions))
            rows = {number: row for number, row in answering.answer(numbers) if FAILURE not in row}
            rows = {number: {**answering.about(number), **row} for number, row in rows.items()}
            questions = list(answering.questions)
    if nothing := nothing_to_score(card, questions):
        raise nothing
    answers = [rows[number]["answers"] if number in rows else None for number in numbers]
    scored = score(card, name, questions, answers)
    import pandas as pd  # here, not above: it takes long to load

    table = [{key: row[key] for key in _SCORES} for row in aggregate(card, [scored], Bootstrap())]
    instances = pd.DataFrame(_instances(questions, rows)).assign(**scored.parts)
    return Evaluation(card.name, name, pd.DataFrame(table, columns=list(_SCORES)), instances, left_out)


def _instances(questions: Sequence[Question], rows: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "task_id": one.task_id,
            "id": one.id,
            "track": one.track,
            "category": one.category,
            "prompt": rows.get(number, {}).get("prompt"),
            "answers": rows.get(number, {}).get("answers", []),
            "references": list(one.references),
            "calls": rows.get(number, {}).get("calls", []),
        }
        for number, one in enumerate(questions)
    ]
