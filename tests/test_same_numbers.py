"""The same answers have the same interval and the same p wherever they are compared."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.aggregate import aggregate, compare
from nightjar.benchmarks.answers_and_references import read_references
from nightjar.benchmarks.evaluation_folder import ledger_rows
from nightjar.benchmarks.file_scoring import compare_files, score_files
from nightjar.benchmarks.scores import SystemScores, score
from nightjar.core import contracts, tables
from nightjar.params.drivers import Nightly
from nightjar.statistics import Bootstrap
from pipelines.nightly.verdicts import Reference, verdicts
from stages.report import comparison

BENCHMARK = registry.load_benchmark("supernatinst")
WORDS = [
    "a",
    "bird",
    "crossed",
    "the",
    "river",
    "before",
    "dawn",
    "and",
    "nobody",
    "saw",
    "it",
    "come",
    "back",
]
NAMES = ("value", "low", "high", "p")


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def answers(count: int, kept: float, source: random.Random) -> list[str]:
    """Answers that are right, or keep a share of the reference's words."""
    found = (
        [word for word in WORDS if right or source.random() < kept]
        for right in (source.random() < kept - 0.3 for _ in range(count))
    )
    return [" ".join(words or WORDS[:1]) for words in found]


def write(root: Path, one: SystemScores, questions: list[Any]) -> list[dict[str, Any]]:
    """The artifacts that `compare --against` reads; returns the rows of scores as in the ledger."""
    asked = [
        {
            "benchmark": BENCHMARK.name,
            "dataset": BENCHMARK.name,
            "file": "f",
            "track": it.track,
            "category": it.category,
        }
        | {"task_id": it.task_id, "id": it.id, "shared": "{}", "day": None}
        | {"parts": json.dumps(dict(it.parts)), "references": list(it.references)}
        for it in questions
    ]
    for stage, table, written in (
        ("questions", contracts.QUESTIONS, asked),
        ("evaluate", contracts.INSTANCE_SCORES, list(one.rows(BENCHMARK.name))),
    ):
        with tables.ArtifactWriter(root / stage / BENCHMARK.name) as writer:
            writer.write(table, written)
    return ledger_rows(root / "evaluate" / BENCHMARK.name)


@pytest.mark.parametrize(("count", "kept"), [(48, (0.75, 0.68)), (24, (0.75, 0.65)), (24, (0.4, 0.9))])
def test_one_comparison_has_one_p(workdir: Path, count: int, kept: tuple[float, float]) -> None:
    source = random.Random(count)
    texts = {name: answers(count, share, source) for name, share in zip("ab", kept, strict=True)}
    ids = [f"t-{place:02}" for place in range(count)]
    asked = [
        {"id": id, "references": [" ".join(WORDS)], "task_id": "t", "task_category": "Title Generation"}
        for id in ids
    ]
    references = lines(Path("references.jsonl"), asked)
    shuffled = source.sample(list(enumerate(ids)), count)
    for name, given in texts.items():
        lines(Path(f"{name}.jsonl"), [{"id": id, "prediction": given[at]} for at, id in shuffled])
    a, b = Path("a.jsonl"), Path("b.jsonl")
    questions = list(read_references(BENCHMARK, references))
    scores = {
        name: score(BENCHMARK, name, questions, [[it] for it in given]) for name, given in texts.items()
    }

    command = compare_files(BENCHMARK.name, a, b, references)["metrics"]
    turned = compare_files(BENCHMARK.name, b, a, references)["metrics"]
    table = compare(BENCHMARK, list(scores.values()), [("a", "b")], Bootstrap())
    report = {row["metric"]: row for row in table if row["level"] == "overall"}
    same = [replace(one, system="model") for one in scores.values()]
    now, before = (write(Path(name), one, questions) for name, one in zip("ab", same, strict=True))
    versions = {row["metric"]: row for row in comparison.compare(Path("a"), Path("b"))["numbers"]}
    stages = {"run": "earlier", "stages": {}, "accepted": False}
    content = {"content": None}
    good = Reference(stages, [row | content for row in before])
    night = {
        row["metric"]: row
        for row in verdicts(Nightly(), stages, [row | content for row in now], good, [good])
    }
    for metric in ("rougeL", "exact_match"):
        expected = [command[metric][name] for name in NAMES]
        assert None not in expected and 0 < expected[-1] <= 1
        for found in (report, versions, night):
            assert [found[metric][name] for name in NAMES] == expected
        value, low, high, p = expected
        mirrored = [turned[metric][name] for name in NAMES]
        assert mirrored == pytest.approx([-value, -high, -low, p], abs=1e-9)

    told = score_files(BENCHMARK.name, a, references)
    cells = {
        row["metric"]: row
        for row in aggregate(BENCHMARK, [scores["a"]], Bootstrap())
        if row["level"] == "overall"
    }
    for metric, ends in told["intervals"]["metrics"].items():
        assert ends == [cells[metric]["low"], cells[metric]["high"]]
