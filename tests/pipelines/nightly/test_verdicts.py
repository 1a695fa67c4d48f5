"""Verdicts on a night: which scores may be compared, by which metric, and entries that earlier versions wrote."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.core.contracts import schema
from nightjar.params.drivers import Nightly
from nightjar.statistics.metric import Metric
from pipelines.history import ledger as ledgers
from pipelines.nightly import nightly_facts
from pipelines.nightly import verdicts as nightly_verdicts
from tests.in_process import nightjar
from tests.made_benchmark import changed, made_benchmark
from tests.pipelines.history.test_ledger import STARTED
from tests.pipelines.history.test_ledger import facts as run_facts

__all__ = ["made_benchmark"]

SETTINGS = Nightly(alpha=0.05)
COUNT = 40
# A benchmark whose questions are an input alone.
NAME = "supernatinst"


def rows(metric: str, values: np.ndarray, prefix: str = "question", **names: Any) -> list[dict[str, Any]]:
    """Rows of LEDGER_INSTANCES of one system."""
    key = {"benchmark": NAME, "system": "model", "track": "default", "task_id": "task", **names}
    return [
        key
        | {
            "metric": metric,
            "id": f"i{n:02d}",
            "content": nightly_facts.content({"input": f"{prefix} {n}"}, [f"answer {n}"]),
            "value": float(value),
        }
        for n, value in enumerate(values)
    ]


def stages(**others: Any) -> dict[str, Any]:
    """The facts of stages of this version."""
    params = {
        "seed": 42,
        f"benchmarks.{NAME}.code": "nightjar/benchmarks",
        f"benchmarks.{NAME}.copy_demo": "first",
        f"predict.systems.{NAME}-model.weights": "models/train/model",
    }
    return {
        f"evaluate@{NAME}": {"params": params | others, "benchmarks": [NAME], "card": 1},
        f"predict@{NAME}-model": {"params": {"seed": 42, f"predict.{NAME}.max_calls": 1}, "benchmarks": []},
    }


# What an entry consisted of at commit b2cabc5, written down anew: intervals were never null.
TEXT, NUMBER, COUNTS = pa.string(), pa.float64(), pa.int64()
OLD = {
    "run": schema(
        ("run", TEXT),
        ("sequence", COUNTS),
        ("started ended", pa.timestamp("ms", tz="UTC")),
        ("state message", TEXT),
        ("accepted", pa.bool_()),
        ("against? commit", TEXT),
        ("changed", pa.list_(pa.field("element", TEXT, nullable=False))),
        ("lock_sha256 parameters parameters_sha256", TEXT),
        ("seed?", COUNTS),
        ("versions hardware stages files", TEXT),
    ),
    "scores": schema(
        ("benchmark system track level name metric", TEXT), ("n", COUNTS), ("value low high", NUMBER)
    ),
    "instances": schema(("benchmark system track metric task_id id content?", TEXT), ("value", NUMBER)),
    "verdicts": schema(
        ("benchmark system track metric verdict reason", TEXT),
        ("n", COUNTS),
        ("now? before? value? low? high? p? p_corrected?", NUMBER),
        ("better? worse? equal?", COUNTS),
    ),
}


def old_entry(ledger: Path, scores: dict[str, np.ndarray]) -> Path:
    """An entry with the columns and digests of commit b2cabc5."""
    instances, means, verdicts = [], [], []
    for metric, values in scores.items():
        cell = {"benchmark": NAME, "system": "model", "track": "default", "metric": metric}
        for n, value in enumerate(values):
            text = json.dumps([f"question {n}", [f"answer {n}"]], ensure_ascii=False)
            digest = sha256(text.encode()).hexdigest()[:16]
            instance = {"task_id": "task", "id": f"i{n:02d}", "content": digest, "value": float(value)}
            instances.append(cell | instance)
        mean = 100 * float(values.mean())
        whole = {"level": "overall", "name": "overall", "n": COUNT, "value": mean, "low": mean, "high": mean}
        means.append(cell | whole)
        verdict = {"verdict": "not comparable", "reason": "there is no earlier good run", "n": COUNT}
        verdicts.append(cell | verdict | {"now": mean})
    flat = {f"benchmarks.{NAME}.copy_demo": "first", "seed": 42}
    flat |= {"evaluate.bootstrap_samples": 1000, "evaluate.confidence": 0.95}
    told = {
        f"evaluate@{NAME}": {"params": flat, "benchmarks": [NAME]},
        f"predict@{NAME}-model": {
            "params": {"seed": 42, "threads": 2, f"predict.{NAME}.max_calls": 1},
            "benchmarks": [],
        },
    }
    row = run_facts("20260701T020003Z-1a2b3c", stages=told) | {"sequence": 1, "files": {}}
    row |= {name: json.dumps(row[name]) for name in ("parameters", "versions", "hardware", "stages", "files")}
    folder = ledger / f"date={STARTED:%Y-%m-%d}" / row["run"]
    folder.mkdir(parents=True)
    filled = {"run": [row], "scores": means, "instances": instances, "verdicts": verdicts}
    for name, written in filled.items():
        table = pa.Table.from_pylist(written, schema=OLD[name])
        pq.write_table(table.replace_schema_metadata(None), folder / f"{name}.parquet", store_schema=False)
    hashes = {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}
    manifest = {"run": row["run"], "sequence": 1, "files": hashes, "previous": None}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return folder


def good_run(ledger: Path) -> nightly_verdicts.Reference:
    facts = next(ledgers.good(ledger), None)
    assert facts is not None
    return nightly_verdicts.Reference(facts, ledgers.read(facts, "instances.parquet").to_pylist())


def test_a_night_is_compared_with_an_entry_of_an_earlier_version(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    before = {name: rng.random(COUNT) * 0.5 for name in ("exact_match", "rouge1", "rougeL")}
    old_entry(tmp_path, before)
    assert ledgers.check(tmp_path) == (1, [])
    now = before | {"rougeL": before["rougeL"] + 0.1}
    facts = {"seed": 42, "stages": stages()}
    instances = [row for metric, values in now.items() for row in rows(metric, values)]
    told = nightly_verdicts.verdicts(SETTINGS, facts, instances, good_run(tmp_path))
    assert {row["metric"]: (row["verdict"], row["reason"]) for row in told} == {
        "exact_match": ("unchanged", ""),
        "rouge1": ("unchanged", ""),
        "rougeL": ("better", ""),
    }
    better = next(row for row in told if row["metric"] == "rougeL")
    assert (better["value"], better["better"]) == (pytest.approx(10), COUNT)
    # The next entry goes beside it, and both are read.
    means = [
        {"benchmark": NAME, "system": "model", "track": "default", "level": "overall", "name": "overall"}
        | {"metric": "rougeL", "n": 3, "value": 1.5, "low": None, "high": None}
    ]
    ledgers.append(tmp_path, run_facts("next", stages=stages()), means, instances, told)
    assert ledgers.check(tmp_path) == (2, [])
    assert good_run(tmp_path).facts["run"] == "next"


def earlier(run: str, values: np.ndarray, **params: Any) -> nightly_verdicts.Reference:
    return nightly_verdicts.Reference(
        {"run": run, "accepted": False, "stages": stages(**params)}, rows("rougeL", values)
    )


def declining(nights: int, lost: int = 2) -> list[np.ndarray]:
    """Nights of a model that loses some of 40 answers every night, the latest first."""
    return [np.r_[np.zeros(lost * night), np.ones(COUNT - lost * night)] for night in range(nights)][::-1]


def test_a_slow_decline_is_worse_though_no_step_is() -> None:
    now, *before = declining(8)
    good = [earlier(f"night {n}", values) for n, values in zip(range(6, -1, -1), before, strict=True)]
    facts = {"seed": 42, "stages": stages()}

    def word(runs: list[nightly_verdicts.Reference], present: np.ndarray = now) -> tuple[str, str]:
        (row,) = nightly_verdicts.verdicts(SETTINGS, facts, rows("rougeL", present), good[0], iter(runs))
        return row["verdict"], row["reason"]

    assert word([]) == word(good[:4]) == ("unchanged", "")
    verdict, reason = word(good)
    assert verdict == "worse" and reason.startswith("slow decline since night 0, -35.00 over 8 nights, p 0.0")
    # Nights of other parameters do not count, nor those before one that was accepted, nor what was repaired.
    others = [earlier("other", before[-1], **{f"benchmarks.{NAME}.copy_demo": "last"})] * 3
    assert word([*others, *good])[1] == reason
    kept = good[3]._replace(facts=good[3].facts | {"accepted": True})
    assert word([*good[:3], kept, *good[4:]]) == ("unchanged", "")
    assert word(good, before[-1])[1] == ""


def test_a_slow_decline_of_the_mean_of_tasks_is_worse_though_its_tasks_are_too_few() -> None:
    """Three tasks of 12, 15 and 9 questions, each of which loses an answer a night."""
    sizes, nights = {"svamp": 12, "asdiv": 15, "dateset": 9}, 9

    def night(number: int) -> list[dict[str, Any]]:
        return [
            row
            for task, size in sizes.items()
            for row in rows(
                "accuracy",
                np.r_[np.zeros(number), np.ones(size - number)],
                benchmark="tool_use",
                track=task,
                task_id=task,
            )
        ]

    earlier_runs = [
        nightly_verdicts.Reference({"run": f"night {number}", "accepted": False, "stages": {}}, night(number))
        for number in range(nights)
    ]
    *good, last = earlier_runs

    def verdicts(runs: list[nightly_verdicts.Reference]) -> dict[str, tuple[str, str]]:
        facts = {"seed": 42, "stages": {}}
        told = nightly_verdicts.verdicts(SETTINGS, facts, last.instances, runs[-1], iter(runs[::-1]))
        return {row["track"]: (row["verdict"], row["reason"]) for row in told}

    told = verdicts(good)
    assert {told[task][0] for task in sizes} == {"not comparable"}
    means = [np.mean([100 * (size - number) / size for size in sizes.values()]) for number in range(nights)]
    fall = (nights - 1) * np.polyfit(np.arange(nights), means, 1)[0]
    verdict, reason = told["accuracy"]
    assert verdict == "worse"
    assert reason.startswith(f"slow decline since night 0, {fall:.2f} over {nights} nights, p < 0.0001")
    # Too few nights; and a night without one of the tasks, which has no mean.
    assert verdicts(good[-4:])["accuracy"] == ("unchanged", "")
    without = [row for row in night(2) if row["track"] != "svamp"]
    fewer = [*good[:2], good[2]._replace(instances=without), *good[3:]]
    assert f"over {nights - 1} nights" in verdicts(fewer)["accuracy"][1]


def test_samples_of_two_sizes_are_compared_on_the_questions_of_both() -> None:
    values = np.linspace(0, 1, COUNT)
    found = [stages(), stages()]
    for facts, limit in zip(found, (COUNT, 25), strict=True):
        facts[f"evaluate@{NAME}"]["limit"] = limit
    good = nightly_verdicts.Reference({"stages": found[1]}, rows("rougeL", values)[:25])
    facts = {"seed": 42, "stages": found[0]}
    (row,) = nightly_verdicts.verdicts(SETTINGS, facts, rows("rougeL", values + 0.5), good)
    assert (row["verdict"], row["n"], row["value"]) == ("better", 25, 50)
    # Of two equal samples every question counts.
    facts["stages"][f"evaluate@{NAME}"]["limit"] = 25
    (row,) = nightly_verdicts.verdicts(SETTINGS, facts, rows("rougeL", values + 0.5), good)
    assert row["reason"] == "other instances: 15 new, 0 gone"


def test_the_command_shows_an_old_entry(workdir: Path) -> None:
    old_entry(workdir / "data/ledger", {"rougeL": np.full(COUNT, 0.25)})
    out = nightjar("ledger", "last", "--benchmark", NAME)
    assert "Nightly 20260701T020003Z-1a2b3c: good" in out and "25.00" in out
    told = json.loads(nightjar("ledger", "last", "--json"))
    assert [row["value"] for row in told["scores"]] == [25]


def test_the_digest_of_parts_other_than_an_input_covers_all_of_them() -> None:
    digest = nightly_facts.content
    whole = digest({"question": "q", "choices": ["a", "b"]}, ["a"])
    assert whole == digest({"choices": ["a", "b"], "question": "q"}, ["a"])
    others = [
        digest({"question": "q", "choices": ["b", "a"]}, ["a"]),
        digest({"question": "q"}, ["a"]),
        digest({"question": "q", "choices": ["a", "b"]}, ["b"]),
        digest({"input": "q", "choices": ["a", "b"]}, ["a"]),
        digest("q", ["a"]),
    ]
    assert len({whole, *others}) == 6


def test_what_decides_an_evaluation_is_compared_and_nothing_else() -> None:
    def found(now: dict[str, Any], before: dict[str, Any]) -> str:
        return nightly_verdicts.other_evaluation(now, before, NAME, "model")

    same = stages()
    elsewhere = {
        "threads": 7,
        f"benchmarks.{NAME}.code": "mine",
        f"predict.systems.{NAME}-model.weights": "models/other",
    }
    assert found(same, stages(**elsewhere)) == ""
    told = found(stages(**{f"benchmarks.{NAME}.copy_demo": "random"}), same)
    assert told == f'other parameters: benchmarks.{NAME}.copy_demo "first" → "random"'
    chat = f"predict.systems.{NAME}-model.chat"
    assert found(stages(**{chat: {}}), same) == f"other parameters: {chat} (nothing) → {{}}"
    other_system = same | {f"predict@{NAME}-other": {"params": {"top": 3}, "benchmarks": []}}
    assert found(same, other_system) == ""
    version = json.loads(json.dumps(same))
    version[f"evaluate@{NAME}"]["card"] = 2
    assert found(version, same) == "another version of the benchmark: 1 → 2"
    version[f"evaluate@{NAME}"]["card"] = None
    assert found(version, same) == ""
    assert found(same, {}).startswith("other parameters: ")


def test_the_metrics_are_those_of_the_card_and_means_where_there_is_none(
    made_benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    unjudged = Metric("length", "Length", ("tries",), judged=False)
    card = changed(made_benchmark, metrics=(*made_benchmark.metrics, unjudged))
    monkeypatch.setattr(registry, "load_benchmark", lambda name: card)
    rng = np.random.default_rng(2)
    tries, hits = rng.integers(5, 50, COUNT), rng.random(COUNT) * 100

    def night(factor: float, benchmark: str) -> list[dict[str, Any]]:
        parts = {"hits": factor * hits, "errors": factor * hits, "tries": tries}
        return [row for name, values in parts.items() for row in rows(name, values, benchmark=benchmark)]

    def verdicts(benchmark: str) -> dict[str, tuple[str, float]]:
        facts = {"seed": 1, "stages": {}}
        good = nightly_verdicts.Reference({"stages": {}}, night(1.0, benchmark))
        told = nightly_verdicts.verdicts(SETTINGS, facts, night(0.5, benchmark), good)
        return {row["metric"]: (row["verdict"], row["value"]) for row in told}

    ratio, mean = -50 * hits.sum() / tries.sum(), -0.5 * hits.mean()
    assert verdicts("made") == {
        "ratio": ("worse", pytest.approx(ratio, abs=1e-3)),
        "errors": ("better", pytest.approx(mean, abs=1e-4)),
    }
    percent = ("worse", pytest.approx(100 * mean, abs=1e-3))
    assert verdicts("another") == {"tries": ("unchanged", 0.0), "hits": percent, "errors": percent}
