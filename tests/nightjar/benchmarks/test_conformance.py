"""Each benchmark with files of its own: rows of the sample become questions, prompts, files and scores."""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.aggregate import estimate
from nightjar.benchmarks.answers_and_references import read_references, write_references
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.evaluation_folder import tasks_of, write_subset
from nightjar.benchmarks.question import Question, QuestionSelection, Sources, questions_of
from nightjar.benchmarks.question_artifact import write_questions
from nightjar.benchmarks.question_registry import load_question_set
from nightjar.benchmarks.question_set import check_settings
from nightjar.benchmarks.records import read_questions
from nightjar.benchmarks.scores import score
from nightjar.core import contracts
from nightjar.core.errors import NightjarError
from nightjar.core.tables import read_rejected, read_rows
from stages.ingest.datasets import ingest
from tests.conftest import ROOT

# The questions of supernatinst are made of a split.
NAMES = [name for name in registry.OWN if load_question_set(name).loads_files and name != "supernatinst"]
# The setting that limits the questions, and settings under which each question is one of the sample's files.
LIMITS = dict.fromkeys(("protoqa", "reading"), "questions")
SETTINGS: dict[str, dict[str, Any]] = {
    "tool_use": {"dateset_questions": 0},
    "protoqa": {"evaluated": "dev.sample"},
}


class Ingested(NamedTuple):
    """A benchmark, the artifact of its sample, and the questions that are made of it."""

    benchmark: Benchmark
    artifact: Path
    questions: list[Question]

    def ask(self, seed: int = 1, **values: Any) -> list[Question]:
        """Make the questions under these settings."""
        settings = check_settings(self.benchmark, SETTINGS.get(self.benchmark.name, {}) | values)
        return list(self.benchmark.questions(Sources(self.artifact, self.artifact), settings, seed))


@pytest.fixture(scope="module", params=NAMES)
def ingested(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ingested:
    name = request.param
    folder, source = tmp_path_factory.mktemp(name), ROOT / "data/sample" / name
    if name == "reading":  # MLQA is in the form of SQuAD
        source = folder / "source"
        source.mkdir()
        shutil.copy(ROOT / "data/sample/tool_use/mlqa/test-context-en-question-en.json", source / "dev.json")
    statistics = ingest(name, source, folder / "artifact")
    assert statistics.rows_in == statistics.rows_out + statistics.rows_rejected
    assert statistics.rows_out == len(list(read_rows(folder / "artifact", contracts.RECORDS)))
    assert statistics.rows_rejected == read_rejected(folder / "artifact").num_rows
    without_questions = Ingested(registry.load_benchmark(name), folder / "artifact", [])
    return without_questions._replace(questions=without_questions.ask())


def test_questions_are_whole_and_the_same_in_every_run(ingested: Ingested) -> None:
    benchmark, questions = ingested.benchmark, ingested.questions
    assert questions and questions == ingested.ask()
    assert max(Counter(question.key for question in questions).values()) == 1
    assert questions_of(question.row() for question in questions) == questions
    for question in questions:
        assert question.benchmark == benchmark.name and question.dataset == benchmark.name
        assert question.file and question.references
        assert question.track in (question.task_id, "default")
        assert benchmark.query(question.parts).strip() and benchmark.display_text(question.parts).strip()


def test_a_limit_draws_some_of_each_task_and_a_larger_one_draws_those_too(ingested: Ingested) -> None:
    limit = LIMITS.get(ingested.benchmark.name, "questions_per_task")
    sizes = Counter(question.task_id for question in ingested.questions)
    before: set[tuple[str, str]] = set()
    for most in (1, 2, 4):
        drawn = ingested.ask(**{limit: most})
        assert Counter(question.task_id for question in drawn) == {
            task: min(most, size) for task, size in sizes.items()
        }
        keys = {question.key for question in drawn}
        assert before < keys and drawn == [it for it in ingested.questions if it.key in keys]
        before = keys
    others = [{it.key for it in ingested.ask(seed, **{limit: 1})} for seed in range(2, 8)]
    assert any(keys != others[0] for keys in others)


@pytest.mark.parametrize(
    "values",
    [{"size": 1}, {"tasks": ["none"]}, {"tasks": []}, {"questions": 0}, {"questions_per_task": 0}],
    ids=str,
)
def test_settings_that_are_refused(ingested: Ingested, values: dict[str, Any]) -> None:
    with pytest.raises(NightjarError, match=f"benchmarks.{ingested.benchmark.name}"):
        ingested.ask(**values)


def test_some_tasks_alone_are_asked(ingested: Ingested, tmp_path: Path) -> None:
    tasks = tasks_of(ingested.questions)
    settings = check_settings(ingested.benchmark, SETTINGS.get(ingested.benchmark.name, {}))
    sources = Sources(ingested.artifact, ingested.artifact)
    write_questions(ingested.benchmark, sources, settings, 1, tmp_path / "all")
    assert sorted(read_questions(tmp_path / "all")) == sorted(ingested.questions)
    write_subset(tmp_path / "all", tmp_path / "last", QuestionSelection([tasks[-1]], 2, 1))
    subset = read_questions(tmp_path / "last")
    assert tasks_of(subset) == [tasks[-1]] and 1 <= len(subset) <= 2
    if "tasks" in ingested.benchmark.Settings.model_fields:
        assert tasks_of(ingested.ask(tasks=[tasks[-1]])) == [tasks[-1]]


def test_written_references_are_the_questions(ingested: Ingested, tmp_path: Path) -> None:
    benchmark = ingested.benchmark
    settings = check_settings(benchmark, SETTINGS.get(benchmark.name, {}))
    sources = Sources(ingested.artifact, ingested.artifact)
    write_questions(benchmark, sources, settings, 1, tmp_path / "questions", training=False)
    assert write_references(benchmark, tmp_path / "r.jsonl", tmp_path / "questions") == len(
        ingested.questions
    )
    # The benchmark's own format, if it has one, has the parts that count and no task.
    own_format = bool(benchmark.readers)
    read = read_references(benchmark, tmp_path / "r.jsonl")
    by_key = {(own_format or question.task_id, question.id): question for question in read}
    for question in ingested.questions:
        other = by_key[own_format or question.task_id, question.id]
        assert other.references == question.references
        assert not own_format or other.parts["clusters"] == question.parts["clusters"]
    written = (tmp_path / "r.jsonl").read_bytes()
    (tmp_path / "r.jsonl").write_bytes(written[: len(written) - 9])
    with pytest.raises(NightjarError, match=r"r\.jsonl:\d+: "):
        read_references(benchmark, tmp_path / "r.jsonl")


def perfect(benchmark: Benchmark, question: Question) -> list[str]:
    """Answer with the reference, with the best list where lists are ranked, and with a likely text."""
    kind = benchmark.task(question.task_id).kind
    return ["0 2"] if kind == "perplexity" else list(question.references)[: None if kind == "sample" else 1]


def test_the_reference_scores_best_and_every_score_is_in_its_range(ingested: Ingested) -> None:
    benchmark = ingested.benchmark
    answers: list[list[str]] = [perfect(benchmark, question) for question in ingested.questions]
    wrong = [
        ["9 2"] if benchmark.task(question.task_id).kind == "perplexity" else ["qzx"]
        for question in ingested.questions
    ]
    best, worst = (score(benchmark, "x", ingested.questions, given) for given in (answers, wrong))
    for track, metric in itertools.product(best.tracks(), benchmark.metrics):
        places = [place for place, key in enumerate(best.keys) if key.track == track]
        if not len(best.of(metric, places)):
            continue
        values = [estimate(metric, scores.of(metric, places)) for scores in (best, worst)]
        low, high = metric.range
        assert all(low <= value <= high for value in values), (track, metric.name)
        if metric.judged:
            assert (values[0] >= values[1]) if metric.higher_is_better else (values[0] <= values[1])
        if metric.right:
            assert values == [high, low], (track, metric.name)
