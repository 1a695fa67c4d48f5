"""What the points of a study made, out of the DVC cache, and how it is scored: by the card of the study's benchmark."""

from __future__ import annotations

import contextlib
import json
import math
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import parse_at
from pipelines.project.stage_name import StageName

if TYPE_CHECKING:
    from nightjar.benchmarks.card import Card
    from nightjar.benchmarks.question import Question
    from nightjar.benchmarks.scores import SystemScores
    from nightjar.statistics import Bootstrap
    from pipelines.study.study import Study

SPLIT, MODEL = "data/split", "models/base/language_model"

# Of a score or a difference in study.json.
_COLUMNS = "track metric baseline n value low high moved p better worse equal"

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Scoring:
    """How the points of a study are scored: the card of its benchmark, and the intervals of the evaluation."""

    card: Card
    bootstrap: Bootstrap

    @classmethod
    def of(cls, study: Study) -> Scoring:
        """By the parameters of the study. Raises NightjarError if there is no such card."""
        from nightjar.benchmarks import registry
        from nightjar.statistics import Bootstrap

        settings = study.settings.evaluate
        bootstrap = Bootstrap(study.settings.seed, settings.bootstrap_samples, settings.confidence)
        return cls(registry.card(study.benchmark), bootstrap)

    def score(self, label: str, made: Artifacts) -> SystemScores:
        """The scores of the answers; those of a question without an answer are as the card says."""
        from nightjar.benchmarks.scores import score

        return score(self.card, label, made.questions, [made.answers.get(it.key) for it in made.questions])

    def overall(self, scores: SystemScores) -> Rows:
        """Its values over all instances of each track, with intervals."""
        from nightjar.benchmarks.aggregate import aggregate

        rows = aggregate(self.card, [scores], self.bootstrap)
        return [_columns(row) for row in rows if row["level"] == "overall"]

    def by_call(self, scores: SystemScores, made: Artifacts) -> Rows:
        """The scores of the answers with and without a call, by track, and the share of answers with one in percent."""
        from nightjar.benchmarks.by_call import split_by_call

        return [
            {
                "track": it.track,
                "metric": it.metric.name,
                "with_call": it.with_call,
                "without_call": it.without_call,
                "share": round(it.share, 4),
                "tools": dict(sorted(it.tools.items())),
            }
            for it in split_by_call(self.card, scores, made.called)
        ]

    def differences(self, scores: SystemScores, base: SystemScores) -> Rows:
        """The paired differences from the scores of another point."""
        from nightjar.benchmarks.aggregate import compare

        pair = [(scores.system, base.system)]
        return [_columns(row) for row in compare(self.card, [base, scores], pair, self.bootstrap)]

    def facts(self) -> dict[str, Any]:
        """What study.json says of it."""
        metrics = [
            {"name": it.name, "title": it.title, "unit": "%" if it.scale == 100 else ""}
            for it in self.card.metrics
        ]
        how = self.bootstrap
        samples = {"confidence": how.confidence, "bootstrap_samples": how.samples, "seed": how.seed}
        average = self.card.average.name if self.card.average else None
        return {"benchmark": self.card.name, "metrics": metrics, "average": average, **samples}

    def published(self, kind: str) -> Rows:
        """What the benchmark's paper gives for this kind of study: systems with their values, by track."""
        return [
            {
                "system": it.system,
                "source": it.source,
                "points": {at: dict(of) for at, of in it.points.items()},
            }
            for it in self.card.curves
            if it.study == kind
        ]


@dataclass(frozen=True)
class Artifacts:
    """What an experiment made: questions, the answers and the tools that they called by their keys, how much it trained
    on, the base model's size.

    Counts are None for a recipe that does not train on a split.
    """

    questions: Sequence[Question]
    answers: Mapping[tuple[str, str], Sequence[str]]
    called: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    train_tasks: int | None = None
    train_instances: int | None = None
    parameters: int | None = None

    @property
    def missing(self) -> int:
        """How many questions have no answer."""
        return len(self.questions) - len(self.answers)

    @property
    def instances(self) -> str:
        """A digest of the questions with their references, to tell whether two points had the same."""
        told = sorted([it.track, *it.key, dict(it.parts), list(it.references)] for it in self.questions)
        return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


@contextlib.contextmanager
def _files(root: Path, commit: str) -> Iterator[Any]:
    """The files of an experiment as DVC sees them, tracked by Git or kept in the cache."""
    from dvc.repo import Repo

    with Repo(str(root), rev=commit) as repo:
        yield repo.dvcfs


def is_there(root: Path, commit: str, study: Study) -> bool:
    """Whether the experiment's questions, split and predictions are still in the cache."""
    try:
        read(root, commit, study)
    except (NightjarError, OSError):
        return False
    return True


def read(root: Path, commit: str, study: Study, size: bool = False) -> Artifacts:
    """The artifacts of the experiment `commit`; with `size` the number of the base model's parameters.

    Raises NightjarError or OSError for what is not in the cache.
    """
    side = _side(study)
    names = [f"data/questions/{study.benchmark}", f"data/predict/{study.benchmark}/{study.recipe}"]
    with tempfile.TemporaryDirectory() as folder, _files(root, commit) as files:
        for name in [*names, *([SPLIT] if side else [])]:
            Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            files.get(f"/{name}", str(Path(folder, name)), recursive=True)
        trained = tables.part_rows(Path(folder, SPLIT), side) if side else {}
        return Artifacts(
            *_answered(study.benchmark, *(Path(folder, name) for name in names)),
            sum(rows > 0 for rows in trained.values()) if side else None,
            sum(trained.values()) if side else None,
            _parameters(files) if size else None,
        )


def _answered(
    benchmark: str, asked: Path, predicted: Path
) -> tuple[list[Question], dict[tuple[str, str], list[str]], dict[tuple[str, str], frozenset[str]]]:
    """Questions, the answers to them and the tools called, of artifacts of the stages questions and predict."""
    from nightjar.benchmarks.by_call import called
    from nightjar.benchmarks.files import read_questions

    questions = read_questions(asked)
    rows = tables.read_rows(predicted, contracts.PREDICTIONS, ["task_id", "id", "answers", "calls"])
    answers = {(row["task_id"], row["id"]): row["answers"] for row in rows}
    if unknown := answers.keys() - {question.key for question in questions}:
        what = f"{len(unknown)} predictions belong to no question of {benchmark}"
        raise NightjarError(what, predicted, "predict again on the present questions")
    return questions, answers, called(rows)


def _side(study: Study) -> contracts.Table | None:
    """The table of the split that the recipe trains on; None if it trains on something else."""
    train = study.settings.train
    system = study.settings.predict.systems.get(StageName.predict(study.benchmark, study.recipe).item)
    if system is None or (recipe := Path(system.weights).name) not in train.recipes:
        return None
    return {it.name: it for it in (contracts.TRAIN, contracts.SUPERVISED)}.get(train.recipe(recipe).data)


def _parameters(files: Any) -> int | None:
    """The base model's parameters by the headers of its safetensors files; tied weights count once."""
    names = [name for name in files.find(f"/{MODEL}") if name.endswith(".safetensors")]
    count = 0
    for name in names:
        with files.open(name, "rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            header = parse_at(stream.read(length), name, "make the model again")
        count += sum(math.prod(it["shape"]) for key, it in header.items() if key != "__metadata__")
    return count or None


def untuned(root: Path, study: Study, instances: str, scoring: Scoring) -> Rows:
    """The overall scores of the untuned model in the workspace of `root`. None of them if it is not among the systems,
    its predictions are missing or not up to date, or are for other instances than those with the digest `instances`.
    """
    from pipelines.graph import graph as graphs

    of_benchmark = [it for it in study.settings.predict.systems.values() if it.benchmark == study.benchmark]
    system = next((it.system for it in of_benchmark if it.weights == MODEL), None)
    if system is None:
        return []
    asked, predicted = (root / "data" / name / study.benchmark for name in ("questions", "predict"))
    try:
        if graphs.read(root).only([str(StageName.predict(study.benchmark, system))]).changed():
            return []
        made = Artifacts(*_answered(study.benchmark, asked, predicted / system))
    except (NightjarError, OSError):
        return []
    if made.instances != instances or made.missing:
        return []
    return scoring.overall(scoring.score("untuned", made))


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in _COLUMNS.split() if name in row}
