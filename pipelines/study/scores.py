"""What the points of a study made, out of the DVC cache, and their scores by the card of the benchmark: study.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.lm.weights import parameters
from pipelines.project.stage_name import StageName
from pipelines.versions.files import provided

if TYPE_CHECKING:
    from nightjar.benchmarks.card import Card
    from nightjar.benchmarks.question import Question
    from nightjar.benchmarks.scores import SystemScores
    from pipelines.study.study import Study

SPLIT, MODEL = "data/split", "models/base/language_model"

# task_id and id of a question.
Key = tuple[str, str]
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Artifacts:
    """What an experiment made: questions, the answers and the tools that they called by their keys, and for study.json
    how much it trained on and the size of its base model; None where that does not apply.
    """

    questions: Sequence[Question]
    answers: Mapping[Key, list[str]]
    called: Mapping[Key, frozenset[str]] = field(default_factory=dict)
    sizes: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        """How many questions have no answer."""
        return len(self.questions) - len(self.answers)

    @property
    def instances(self) -> str:
        """A digest of the questions with their references: points with the same digest had the same questions."""
        rows = sorted([it.track, *it.key, dict(it.parts), list(it.references)] for it in self.questions)
        return sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def collect(
    root: Path, study: Study, commits: Mapping[str, str], failed: Mapping[str, str]
) -> dict[str, Any]:
    """Everything that the table shows, for study.json. Points without an experiment are marked as failed or missing.

    Raises NightjarError if two points were tested on different instances.
    """
    from nightjar.benchmarks import registry
    from nightjar.benchmarks.aggregate import aggregate, compare
    from nightjar.benchmarks.scores import score
    from nightjar.statistics import Bootstrap

    card, bootstrap = registry.card(study.benchmark), Bootstrap()
    done = [it for it in study.points if it.name in commits]
    made = {it.label: read(root, commits[it.name], study, size=study.kind == "models") for it in done}
    first = next(iter(made.values()), None)
    for label, one in made.items():
        if first and one.instances != first.instances:
            what = f"{label} was tested on other instances than the points before it"
            raise NightjarError(what, f"study {study.kind}", "compare only what shares a test set")
    scored = {
        label: score(card, label, it.questions, [it.answers.get(one.key) for one in it.questions])
        for label, it in made.items()
    }
    rows = [row for row in aggregate(card, list(scored.values()), bootstrap) if row["level"] == "overall"]
    pairs = [(it.label, it.against) for it in done if it.against in made]
    differences = compare(card, list(scored.values()), pairs, bootstrap)
    points = []
    for point in study.points:
        label, missing = point.label, "failed" if point.label in failed else "missing"
        entry: dict[str, Any] = {
            "value": label,
            "axes": list(point.axes),
            "settings": dict(point.settings),
            "experiment": point.name,
            "against": point.against,
            "state": "done" if label in made else missing,
            "error": failed.get(label),
            "scores": [row for row in rows if row["system"] == label],
            "calls": _by_call(card, scored[label], made[label]) if label in made else [],
            "differences": [row for row in differences if row["system"] == label],
        }
        if label in made:
            entry |= {"commit": commits[point.name], "missing_predictions": made[label].missing}
            entry |= made[label].sizes
        points.append(entry)
    curves = [one for one in card.curves if one.study == study.kind]
    return {
        "study": study.kind,
        "benchmark": card.name,
        "recipe": study.recipe,
        "target": study.target,
        "commit": study.start.commit,
        "changed_files": list(study.start.changed),
        "metrics": [
            {"name": it.name, "title": it.title, "unit": "%" if it.scale == 100 else ""}
            for it in card.metrics
        ],
        "tracks": dict(card.tracks),
        "average": card.average.name if card.average else None,
        "confidence": bootstrap.confidence,
        "bootstrap_samples": bootstrap.samples,
        "seed": study.settings.seed,
        "test_instances": {"n": len(first.questions), "sha256": first.instances} if first else None,
        "published": [{"system": it.system, "source": it.source, "points": it.points} for it in curves],
        "points": points,
    }


def _by_call(card: Card, scores: SystemScores, made: Artifacts) -> Rows:
    """The scores of the answers with and without a call, by track, and the share of answers with one in percent."""
    from nightjar.benchmarks.by_call import split_by_call

    names = ("track", "with_call", "without_call")
    return [
        {name: getattr(it, name) for name in names}
        | {"metric": it.metric.name, "share": round(it.share, 4), "tools": dict(sorted(it.tools.items()))}
        for it in split_by_call(card, scores, made.called)
    ]


def is_there(root: Path, commit: str, study: Study) -> bool:
    """Whether the experiment's questions, split and predictions are still in the cache."""
    try:
        with provided(root, commit, _names(study)):
            return True
    except (NightjarError, OSError):
        return False


def read(root: Path, commit: str, study: Study, size: bool = False) -> Artifacts:
    """The artifacts of the experiment `commit`; with `size` the number of the base model's parameters.

    Raises NightjarError for what is not in the cache.
    """
    from nightjar.benchmarks.by_call import called
    from nightjar.benchmarks.files import read_questions

    side = _side(study)
    with provided(root, commit, [*_names(study), *([MODEL] if size else [])]) as folder:
        trained = tables.part_rows(folder / SPLIT, side) if side else {}
        sizes = {
            "train_tasks": sum(rows > 0 for rows in trained.values()) if side else None,
            "train_instances": sum(trained.values()) if side else None,
            "parameters": (parameters(folder / MODEL) or None) if size else None,
        }
        questions = read_questions(folder / "data/questions" / study.benchmark)
        predicted = folder / "data/predict" / study.benchmark / study.recipe
        rows = tables.read_rows(predicted, contracts.PREDICTIONS, ["task_id", "id", "answers", "calls"])
    answers = {(row["task_id"], row["id"]): row["answers"] for row in rows}
    if unknown := answers.keys() - {question.key for question in questions}:
        what = f"{len(unknown)} predictions belong to no question of {study.benchmark}"
        raise NightjarError(what, commit, "predict again on the present questions")
    return Artifacts(questions, answers, called(rows), sizes)


def _names(study: Study) -> list[str]:
    names = [f"data/questions/{study.benchmark}", f"data/predict/{study.benchmark}/{study.recipe}"]
    return [*names, SPLIT] if _side(study) else names


def _side(study: Study) -> contracts.Table | None:
    """The table of the split that the recipe trains on; None if it trains on something else."""
    train = study.settings.train
    system = study.settings.predict.systems.get(StageName.predict(study.benchmark, study.recipe).item)
    if system is None or (recipe := Path(system.weights).name) not in train.recipes:
        return None
    return {it.name: it for it in (contracts.TRAIN, contracts.SUPERVISED)}.get(train.recipe(recipe).data)
