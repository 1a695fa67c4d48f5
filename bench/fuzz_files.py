"""Files that bench/fuzz.py breaks: small valid files of every kind that Nightjar reads, with what reads them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, date, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.harness import ROOT
from bench.mutate import FuzzedReader, mutate_bytes, mutate_json, mutate_lines, mutate_parquet, mutate_yaml
from nightjar import params
from nightjar.benchmarks import answers_and_references, evaluation_folder
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.registry import load_benchmark
from nightjar.benchmarks.supernatinst.contributor_checks import check_task
from nightjar.benchmarks.task_file import UnreadableFile, read_task
from nightjar.core import contracts, json_text, tables
from nightjar.core.errors import NightjarError
from nightjar.judge import judge_files
from nightjar.judge import sets as judge_sets
from nightjar.params.drivers import Nightly
from nightjar.tools import calculator, syntax
from nightjar.tools.tool_registry import call_text
from pipelines.history import ledger
from pipelines.nightly import nightly_facts
from pipelines.nightly.night import superseded
from pipelines.run import artifact_checks, profiles
from pipelines.run import checks as verify
from stages._runtime import history
from stages.ingest.corpus import ingest_corpus
from stages.ingest.natural_instructions import ingest_natural_instructions
from stages.report.read import facts as report_facts

TASK = {
    **{name: ["A"] for name in ("Contributors", "Source", "URL", "Domains")},
    **{f"{name}_language": ["English"] for name in ("Input", "Output", "Instruction")},
    "Categories": ["Title Generation"],
    "Reasoning": [],
    "Definition": ["Write a title."],
    "Positive Examples": [{"input": "a", "output": "b", "explanation": "c"}],
    "Negative Examples": [],
    "Instances": [{"id": f"t-{n}", "input": f"text {n}", "output": [f"title {n}", "é"]} for n in range(4)],
    "Instance License": ["CC0"],
}
REFERENCES = [
    {"id": f"i{n}", "references": ["one", "two"], "task_id": "t", "task_category": "c", "track": "default"}
    for n in range(4)
]
QUESTIONS = [Question("supernatinst", "t", f"i{n}", {}, ("one", "two"), category="c") for n in range(4)]
JUDGED = [
    {**row, "prediction": "an answer", "input": "text", "definition": ["Do it.", "Well."]}
    for row in REFERENCES
]
PREDICTIONS = [{"id": f"i{n}", "prediction": f"answer {n}"} for n in range(4)]
DOCUMENTS = [
    {"id": f"d{n}", "title": "t", "text": f"text {n}", "url": "http://x/2023/01/30/"} for n in range(4)
]
INSTANCE = {"dataset": "d", "file": "f", "task_id": "part", "index": 0, "input": "x", "outputs": ["y"]}
PLACE = {"task_id": "t", "id": "1", "category": "c"}
EVALUATION = {
    "asked": {"model": "server:http://127.0.0.1:9", "benchmarks": None, "tasks": ["t"], "limit": 2}
    | {"calls": None},
    "identity": "0" * 64,
    "name": "mine",
    "tasks": {"supernatinst": ["t"], "tool_use": []},
    "left_out": {"tool_use": {"wikitext": "a server gives no log-probabilities of a given text"}},
    "scores": [{"benchmark": "supernatinst", "value": 12.5, "low": None}],
}
KEY = {
    "format": "nightjar-judge-key/1",
    "page": "f" * 64,
    "a": "mine",
    "b": "references",
    "seed": 0,
    "items": [{**PLACE, "item": "i0", "left": "a"}, {**PLACE, "id": "2", "item": "i1", "left": "b"}],
    "equal": [{**PLACE, "id": "3"}],
}
ANSWERS = {
    "format": judge_files.ANSWERS_FORMAT,
    "page": "f" * 64,
    "judge": "ann",
    "items": 2,
    "answers": [{"item": "i0", "answer": "left"}, {"item": "i1", "answer": "tie"}],
}
FACTS = {
    "stage": "split",
    "inputs": ["data/ingest"],
    "outputs": ["data/split"],
    **{"rows_in": 5, "rows_out": 4, "rows_rejected": 1},
    "tables": {"data/split": {"test": {"rows": 4, "version": 1}}},
    "versions": {"nightjar": "1"},
}
RAN = {"stage": "split", "seconds": 1.5, "status": "done", "ended": 1, "kind": "rebuild", "commit": "c"}
LOCK = {"pid": 7, "since": "2026-07-01T02:00:00+02:00"}
SETTINGS = (b"seed=7", b"predict.supernatinst.stop=['x', \"y\"]", b"rebuild.memory_classes={small: 1}")
CALLS = (
    b"Calculator((1.5 + 2) * -3 / 4)",
    b"x [Calendar() -> today] y [Calculator(1 / 3) -> 0.33]",
    b"Calendar()",
)
GROUPS = b"nightly:\n  cron: 0 2 * * *\n  stages: [a]\nx: &a [1, 2]\ny: [*a, *a]\n"
PROFILES = (b"seed: 3\nsplit:\n  train_tasks: 5\n", b"extends: sample\nthreads: 2\n")


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _parquet(rows: list[dict[str, Any]], schema: pa.Schema | None = None) -> bytes:
    target = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), target)
    return target.getvalue()


def _ledger_row() -> dict[str, Any]:
    """The row of a nightly run."""
    row: dict[str, Any] = {name: "x" for name in contracts.LEDGER_RUN.schema.names}
    row |= dict.fromkeys(ledger.JSON, '{"a": {"b": [1, "é"]}}')
    moment = datetime(2026, 7, 1, tzinfo=UTC)
    more = {"sequence": 1, "started": moment, "ended": moment, "state": "good", "accepted": True, "seed": 1}
    return row | more | {"changed": ["a"], "files": "{}"}


def _account(path: Path, rows_in: int | None, ingest: Callable[[Path, Path], Any]) -> None:
    """Ingest the folder of `path`; every row is in the tables or among the rejected ones."""
    output = path.parents[1] / "out"
    counts = ingest(path.parent, output)
    rejected = len(tables.read_rejected(output))
    if counts.rows_in != counts.rows_out + rejected or rows_in not in (None, counts.rows_in):
        raise AssertionError(f"{rows_in} rows in, {counts.rows_in} counted, {counts.rows_out} out")


def _task(path: Path) -> None:
    data = path.read_bytes()
    check_task(data, path.stem, None)
    rows: int | None = 1
    with contextlib.suppress(UnreadableFile):
        read = read_task(data, "d", path.name, path.stem)
        rows = len(read.instances) + len(read.refused)
        if rows != len(json.loads(data.decode("utf-8-sig"))["Instances"]):
            raise AssertionError("an instance is neither taken nor refused")
    _account(path, rows, ingest_natural_instructions)


def _corpus(path: Path) -> None:
    rows = sum(bool(line.strip()) for line in path.read_bytes().split(b"\n"))
    _account(path, rows, ingest_corpus)


def _predictions(path: Path) -> None:
    answers = answers_and_references.read_answers(load_benchmark("supernatinst"), path, QUESTIONS)
    if not all(isinstance(text, str) and text.encode() is not None for [text] in filter(None, answers)):
        raise AssertionError("a prediction is no text")


def _references(path: Path) -> None:
    for question in answers_and_references.read_references(load_benchmark("supernatinst"), path):
        json.dumps(question.row(), default=str, ensure_ascii=False).encode()


def _sets(path: Path) -> None:
    """Read the sets of a page for judges: answers, references with inputs and definitions."""
    texts = judge_sets.Texts(path.with_suffix(""), path)  # nothing is ingested
    judge_sets.match((judge_sets.read_set(str(path)), judge_sets.read_set("references")), texts)
    instances = texts.instances(texts.keys())
    parts = [asdict(it) for it in instances] + [asdict(it) for it in texts.tasks(instances).values()]
    json.dumps(parts, ensure_ascii=False).encode()


def _profile(path: Path) -> None:
    for name in ("defaults.yaml", "sample.yaml"):
        if not path.with_name(name).exists():
            path.with_name(name).write_bytes((ROOT / "profiles" / name).read_bytes())
    profiles.checked_text(path.parents[1], path.stem)


def _groups(path: Path) -> None:
    nightly_facts.parameters(path).encode("utf-8", "surrogatepass")
    Nightly.load(path)


def _value(path: Path) -> None:
    """The argument of --set; the message names the option instead of a file."""
    text = path.read_bytes().decode("utf-8", "replace")
    try:
        profiles.checked_text(ROOT, "sample", [text])
    except NightjarError as error:
        if not any(word in str(error) for word in ("--set", "profile sample")):
            raise AssertionError(f"neither option nor profile: {error}") from None
        raise NightjarError(error.what, path, error.fix) from None


def _ledger(path: Path) -> None:
    """An entry is read whole, or named by the check of the ledger and skipped by the rest."""
    root, skipped = path.parents[2], list[str]()
    entries, damage = ledger.entries(root, skipped.append), ledger.check(root)[1]
    list(ledger.good(root))
    if not entries:
        if len(skipped) != 1 or not damage:
            raise AssertionError(f"damage that nobody reports: {skipped} {damage}")
        raise NightjarError(skipped[0], path, "restore it")


def _facts(path: Path) -> None:
    root, name = path.parents[2], path.relative_to(path.parents[2]).as_posix()
    facts, faults = verify.read_facts(root, [name])
    artifact_checks.check_stage([path.parent.name], [], facts, 0, root)
    stage = type("Stage", (), {"metrics": (path.name,)})
    nightly_facts.of_stages(path.parent, [stage])  # type: ignore[list-item]
    report_facts.graph(report_facts.read(path.parent))
    if faults:
        raise NightjarError(faults[name], path, "rebuild it")


def _artifact(path: Path) -> None:
    refused = path.parents[1] / tables.REJECTED_FILE
    if not refused.exists():
        pq.write_table(contracts.REJECTED.schema.empty_table(), refused)
    findings = artifact_checks.check_stage([path.parents[1].name], [], None, 0, path.parents[2])
    for finding in findings:
        json.dumps(finding.as_dict(), ensure_ascii=False)
    if any(finding.blocks for finding in findings):
        raise NightjarError("; ".join(str(finding) for finding in findings)[:500], path, "rebuild it")
    tables.read_rows(path.parents[1], contracts.INSTANCES)


def _records(path: Path) -> None:
    """Nightjar's own records are never in the way: what is broken is passed over."""
    root = path.parents[1]
    for name in ("history.jsonl", "nightly.lock"):
        (root / ".nightjar" / name).write_bytes(path.read_bytes())
    history.expected(root)
    superseded(root, datetime(2026, 6, 30, tzinfo=UTC))
    json_text.recorded(path)


def _evaluation(path: Path) -> None:
    """Read an evaluation as a comparison, a report and a run that resumes do."""
    (path.parent / "data/predict/supernatinst/mine").mkdir(parents=True, exist_ok=True)
    record = evaluation_folder.read(path.parent)
    evaluation_folder.predictions(path.parent, "supernatinst").relative_to(
        path.parent / "data/predict/supernatinst"
    )
    for name in (record.identity, record.name, *evaluation_folder.left_out(path.parent)):
        name.encode()


def _tool(path: Path) -> None:
    """A text with calls, which is never refused, or one call without a text."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    syntax.remove(text)
    calls = list(syntax.find(text))
    for call in calls:
        calculator.evaluate(call.call.input)
    calculator.evaluate(text)
    if calls:
        return
    try:
        call_text(text, date(2026, 7, 1))
    except NightjarError as error:
        raise NightjarError(error.what, path, error.fix) from None


def readers() -> list[FuzzedReader]:
    """All of them."""

    def of(
        name: str,
        valid: Any,
        file: str,
        read: Callable[[Path], object],
        share: float = 1.0,
        mutate: Any = None,
    ) -> FuzzedReader:
        """JSON of a dict, JSON Lines of a list of them, else the bytes as they are."""
        if isinstance(valid, dict):
            return FuzzedReader(name, (json.dumps(valid, indent=1).encode(),), mutate_json, file, read, share)
        if isinstance(valid, list):
            return FuzzedReader(name, (_lines(valid),), mutate_lines, file, read, share)
        return FuzzedReader(name, valid if isinstance(valid, tuple) else (valid,), mutate, file, read, share)

    sample, tables_of = (ROOT / "params.yaml").read_bytes(), mutate_parquet
    answered = _parquet([{"task_id": "t", "id": row["id"], "answers": ["x"]} for row in PREDICTIONS])
    instances = _parquet([{**INSTANCE, "id": f"i{n}"} for n in range(3)], contracts.INSTANCES.schema)
    entry = _parquet([_ledger_row()], contracts.LEDGER_RUN.schema)
    key = judge_files.PageKey.model_validate(KEY)
    records = _lines([RAN, RAN]), json.dumps(LOCK).encode()
    return [
        of("task files", TASK, "input/task1.json", _task, 0.5),
        of("documents", DOCUMENTS, "input/d.jsonl", _corpus, 0.5),
        of("predictions", PREDICTIONS, "p.jsonl", _predictions),
        of("predictions, Parquet", answered, "set/predictions/part.parquet",
           lambda path: _predictions(path.parents[1]), mutate=tables_of),
        of("references", REFERENCES, "r.jsonl", _references),
        of("judge's sets", JUDGED, "set.jsonl", _sets),
        of("judge's key", KEY, "page.key.json", lambda path: judge_files.read_key(path).to_json()),
        of("judge's answers", ANSWERS, "answers.json", lambda path: judge_files.read_answers(path, key)),
        of("params.yaml", sample, "params.yaml", params.load, 0.3, mutate_yaml),
        of("drivers' groups", GROUPS, "params.yaml", _groups, mutate=mutate_yaml),
        of("profiles", PROFILES, "profiles/mine.yaml", _profile, 0.1, mutate_yaml),
        of("--set", SETTINGS, "value", _value, 0.1, mutate_bytes),
        of("ledger entries", entry, "ledger/date=2026-07-01/x/run.parquet", _ledger, mutate=tables_of),
        of("facts", FACTS, "data/metrics/split.json", _facts),
        of("artifacts", instances, "data/a/instances/part.parquet", _artifact, mutate=tables_of),
        of("own records", records, ".nightjar/record", _records, mutate=mutate_lines),
        of("evaluation records", EVALUATION, "run/evaluation.json", _evaluation),
        of("tool calls", CALLS, "call", _tool, mutate=mutate_bytes),
    ]  # fmt: skip
