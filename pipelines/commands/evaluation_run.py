"""A run of an evaluation: the stages predict, evaluate and report in this process, with a folder of their own.

The folder gets the chosen questions and what the stages make. Everything else is read in the project, which is not
changed; published files and task files need none (`nightjar.predict.standalone`). A run that was killed resumes: the
stages by their checkpoints, and a stage whose facts are complete is done.
"""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nightjar.benchmarks import evaluation_folder, registry
from nightjar.benchmarks.evaluation_folder import RECORD, write_samples, write_subset
from nightjar.benchmarks.question import QuestionSelection
from nightjar.benchmarks.records import read_questions
from nightjar.benchmarks.scores import nothing_to_score
from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_folder, folder_output, remove, write_text
from nightjar.core.identity import contents, digest
from nightjar.core.json_text import read, recorded
from nightjar.models.directory.weights import weights_digest as digest_of_weights
from nightjar.predict.evaluation_plan import (
    EvaluationPlan,
    EvaluationRequest,
    model_of,
    parameters,
    plan,
    task_source,
    with_system,
)
from nightjar.predict.standalone import questions_of
from pipelines.commands.options import prepare_model, use_device
from pipelines.process import lock
from pipelines.process.signals import stopped_by_signals
from stages._runtime.checkpoint import KEEP
from stages._runtime.stage import Show, StageRun, before_models, carry_out

log = logging.getLogger("nightjar")
# Groups of params.yaml that decide no result.
DRIVERS = {"checks", "rebuild", "shards", "nightly", "server"}


def evaluate(request: EvaluationRequest, output: Path, show: Show | None = None) -> dict[str, Any]:
    """Evaluate a model; returns the record of the run. `show`: as of a `StageRun`.

    "unscored" of the record says which benchmarks have nothing to score, and how to hand their predictions in.

    Raises NightjarError for a request that the project or the model cannot follow, if `output` holds another run, and
    as the stages do.
    """
    resumed = evaluation_folder.read(output) if (output / RECORD).is_file() else None
    if not resumed:
        check_folder(output)
    engine, source = request.engine or {}, task_source(request)
    params = parameters(request, source)
    before_models(params.model_copy(update={"threads": engine.get("threads", params.threads)}))
    model = model_of(request, params, source)
    prepare_model(model.language_model)
    use_device(engine.get("device"))
    with questions_of(source[0], params) if source else nullcontext(paths.QUESTIONS) as questions:
        run = EvaluationRun(
            request, plan(request, model, params, questions, model.base(Path())), questions, output
        )
        record = run.record()
        if not resumed:
            run.prepare(record)
        _check_same(record, output)
        with (
            lock.locked(output, paths.EVALUATE_LOCK, "an evaluation", fix="wait for it"),
            stopped_by_signals(),
        ):
            if request.limit != evaluation_folder.read(output).arguments.get("limit"):
                run.ask_more(record)
            run.write_questions(output)
            run.forget_errors()
            run.run_stages(show)
            for benchmark in run.plan.tasks:
                write_samples(output, benchmark, run.plan.name, output / f"samples_{benchmark}.jsonl")
    again = f"delete {output / paths.metrics_file('report')} and run again"
    scores = read(output / paths.REPORT / "headline.json", again)
    _write(output / RECORD, record := {**record, "scores": scores})
    return record | {"unscored": run.unscored()}


@dataclass(frozen=True)
class EvaluationRun:
    """The run of a plan in the folder `output`; `questions` has a folder with all questions of each benchmark."""

    request: EvaluationRequest
    plan: EvaluationPlan
    questions: Path
    output: Path

    def record(self) -> dict[str, Any]:
        """Return the record of the run: the request, the tasks of each benchmark, and those that are left out.

        Its identity is a digest of all that decides the results, but for the code.
        """
        model, decisive = self.plan.model, self.request.decisive
        folders = [] if model.remote else [model.adapter, Path(model.language_model)]
        params = with_system(self.plan.params, decisive, model, self.plan.name, list(self.plan.tasks))
        identity = {
            "asked": asdict(decisive),
            "weights": [digest_of_weights(folder) for folder in folders if folder and folder.is_dir()],
            "params": params.model_dump(mode="json", exclude=DRIVERS),
            "questions": {benchmark: contents(self.questions / benchmark) for benchmark in self.plan.tasks},
        }
        return {
            "asked": asdict(self.request),
            "identity": digest(identity),
            "name": self.plan.name,
            "tasks": self.plan.tasks,
            "left_out": self.plan.left_out,
            "scores": None,
        }

    def prepare(self, record: Mapping[str, Any]) -> None:
        """Make the folder with the questions, and the model where it needs to be made ready, whole or not at all."""
        model = self.plan.model
        with folder_output(self.output) as folder:
            (folder / paths.METRICS).mkdir(parents=True)
            self.write_questions(folder)
            (folder / paths.CHECKPOINTS).mkdir(parents=True)
            (folder / paths.CHECKPOINTS / KEEP).touch()  # a run with a larger limit finds the answers
            facts = model.prepare(folder / paths.LANGUAGE_MODEL)
            if not model.remote:
                self._check_model(folder / paths.LANGUAGE_MODEL)
            if facts or model.remote:  # the report shows where the model came from
                rows = {"rows_in": 1, "rows_out": 1, "rows_rejected": 0}
                stage = {"stage": "base_model", "inputs": [], "outputs": [paths.LANGUAGE_MODEL.as_posix()]}
                origin = {"source": self.request.model} if model.remote else facts
                _write(folder / paths.metrics_file("base_model"), {**stage, **rows, "language_model": origin})
            _write(folder / RECORD, record)

    def _check_model(self, prepared: Path) -> None:
        """Load the model as the stage predict will, so that a model is refused before the folder is complete."""
        from nightjar.models.engine.loading import load, prepare

        params, model = self.plan.params, self.plan.model
        prepare(params.seed, params.threads)
        for precision in sorted({params.predict.benchmark(name).precision for name in self.plan.tasks}):
            load(model.base(prepared), precision, model.adapter)
            gc.collect()  # before the model is loaded again

    def write_questions(self, folder: Path) -> None:
        """Write the chosen questions of each benchmark to the folder of the run, unless they are complete."""
        limit, seed = self.request.limit, self.plan.params.seed
        for benchmark, tasks in self.plan.tasks.items():
            chosen = folder / paths.QUESTIONS / benchmark
            if not chosen.is_dir():
                write_subset(self.questions / benchmark, chosen, QuestionSelection(tasks, limit, seed))

    def ask_more(self, record: Mapping[str, Any]) -> None:
        """Let the stages run again on more questions. Killed at any point, this run resumes, or the one before it."""
        for stage in self._stages():
            (self.output / paths.metrics_file(stage)).unlink(missing_ok=True)
        for benchmark in self.plan.tasks:
            remove(self.output / paths.QUESTIONS / benchmark)
        _write(self.output / RECORD, record)

    def forget_errors(self) -> None:
        """Let the stages run again where an answer was an error; the other answers are recorded."""
        from stages.predict.__main__ import ERRORS

        for benchmark in self.plan.tasks:
            predict = f"predict@{benchmark}-{self.plan.name}"
            if errors := recorded(self.output / paths.metrics_file(predict)).get(ERRORS):
                log.info("%s: questions whose answer was an error are asked again: %s", benchmark, errors)
                for stage in (f"evaluate@{benchmark}", "report", predict):
                    (self.output / paths.metrics_file(stage)).unlink(missing_ok=True)

    def _stages(self) -> list[str]:
        predict = [f"predict@{benchmark}-{self.plan.name}" for benchmark in self.plan.tasks]
        return [*predict, *(f"evaluate@{benchmark}" for benchmark in self.plan.tasks), "report"]

    def run_stages(self, show: Show | None) -> None:
        """Run the stages that are not done."""
        from stages.evaluate import __main__ as evaluate
        from stages.predict import __main__ as predict
        from stages.report import __main__ as report

        base, tokens = self.plan.model.base(self.output / paths.LANGUAGE_MODEL), self.output / "tokens.json"
        answer = partial(predict.run, base=base, tokens=tokens)
        runs: Mapping[str, tuple[Callable[[StageRun], None], tuple[str, ...]]] = {
            "predict": (answer, predict.PACKAGES),
            "evaluate": (partial(evaluate.run, systems=[self.plan.name]), evaluate.PACKAGES),
            "report": (report.run, report.PACKAGES),
        }
        for name in self._stages():
            kind = name.partition("@")[0]
            if not (self.output / paths.metrics_file(name)).is_file():
                run, packages = runs[kind]
                if show:
                    show(name.partition("-")[0], 0, None)
                stage = StageRun(name, self.plan.params, folder=self.output, show=show)
                carry_out(stage, run, packages, models=kind == "predict")
                gc.collect()  # the model of this stage, before the next one is loaded

    def unscored(self) -> list[str]:
        """Return a line for each benchmark without any reference, with the command for its leaderboard."""
        lines = []
        for benchmark in self.plan.tasks:
            questions = self.output / paths.QUESTIONS / benchmark
            answers = self.output / paths.PREDICTIONS / benchmark / self.plan.name
            where = f"{answers} --questions {questions}"
            if nothing := nothing_to_score(
                registry.load_benchmark(benchmark), read_questions(questions), where
            ):
                lines.append(str(nothing))
        return lines


def _check_same(record: Mapping[str, Any], output: Path) -> None:
    """Raise NightjarError if the folder has another run, or one with a larger limit."""
    present = evaluation_folder.read(output)
    limit, before = record["asked"]["limit"], present.arguments.get("limit")
    fewer = limit is not None and (not isinstance(before, int) or limit < before)
    if present.identity != record["identity"] or fewer:
        changed = [
            f"{key} {present.arguments.get(key)!r}"
            for key, value in record["asked"].items()
            if present.arguments.get(key) != value
        ]
        what = f"it holds another run ({', '.join(changed) or 'of other parameters, questions or weights'})"
        raise NightjarError(what, output, "name another folder, or delete this one")


def _write(file: Path, values: Mapping[str, Any]) -> None:
    write_text(file, json.dumps(values, indent=2, ensure_ascii=False) + "\n")
