"""A model on a benchmark's published files or on a task file, from Python: `nightjar.evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from nightjar.benchmarks.aggregate import aggregate
from nightjar.benchmarks.evaluation_folder import write_subset
from nightjar.benchmarks.question import Question, QuestionSelection
from nightjar.benchmarks.scores import nothing_to_score, score
from nightjar.core import paths
from nightjar.core.arguments import AnyPath
from nightjar.predict import predictor
from nightjar.predict.evaluation_plan import (
    EvaluationRequest,
    model_of,
    no_source,
    parameters,
    plan,
    task_source,
)
from nightjar.predict.predictor import FAILURE
from nightjar.predict.standalone import questions_of
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

    Nothing is written but temporary files. `nightjar evaluate` on the command line resumes, and makes a report; it
    refuses the same requests, and messages name its options. Raises NightjarError for a model, data or settings that
    cannot be used, and if the model can answer none of the tasks.
    """
    request = EvaluationRequest(
        model,
        None if benchmark is None else [benchmark],
        None if tasks is None else list(tasks),
        limit,
        calls,
        None if chat is None else dict(chat),
        data=None if data is None else str(data),
        task=None if task is None else str(task),
        settings=None if settings is None else dict(settings),
        allow_outside=allow_outside,
    )
    if (source := task_source(request)) is None:
        raise no_source()
    card, params = source[0], parameters(request, source)
    resolved = model_of(request, params, source)
    with TemporaryDirectory() as folder, questions_of(card, params) as questions_folder:
        prepared, chosen_folder = Path(folder) / paths.LANGUAGE_MODEL.name, Path(folder) / "questions"
        resolved.prepare(prepared)
        base = resolved.base(prepared)
        evaluation = plan(request, resolved, params, questions_folder, base)
        selection = QuestionSelection(evaluation.tasks[card.name], limit, params.seed)
        write_subset(questions_folder / card.name, chosen_folder, selection)
        from nightjar.models import prepare

        prepare(params.seed, params.threads)
        job = evaluation.job(card.name, chosen_folder, base)
        with predictor(job) as answering:
            numbers = range(len(answering.questions))
            rows = {number: row for number, row in answering.answer(numbers) if FAILURE not in row}
            rows = {number: {**answering.about(number), **row} for number, row in rows.items()}
            questions = list(answering.questions)
    if nothing := nothing_to_score(card, questions):
        raise nothing
    answers = [rows[number]["answers"] if number in rows else None for number in numbers]
    scored = score(card, evaluation.name, questions, answers)
    import pandas as pd  # here, not above: it takes long to load

    table = [{key: row[key] for key in _SCORES} for row in aggregate(card, [scored], Bootstrap())]
    instances = pd.DataFrame(_instances(questions, rows)).assign(**scored.parts)
    scores, left_out = pd.DataFrame(table, columns=list(_SCORES)), evaluation.left_out.get(card.name, {})
    return Evaluation(card.name, evaluation.name, scores, instances, left_out)


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
