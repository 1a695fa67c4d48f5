"""Broken files against everything that reads files from outside: it takes them, or refuses them in one line.

python -m bench.fuzz [--cases 100000] [--seed 1] [--reader NAME]...

Each reader gets mutations of small valid files (bench/mutate.py). It may return, or raise NightjarError with one
line that names the file; anything else is a fault, as is a row that is lost between what goes in and what comes out.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench import fuzz_cards, fuzz_models, fuzz_servers, mutate
from bench import valid_files as valid
from bench.mutate import Reader
from nightjar import params
from nightjar.benchmarks import evaluated, files
from nightjar.benchmarks.registry import card
from nightjar.core import checks, contracts, json_text, tables
from nightjar.core.errors import NightjarError
from nightjar.judge import files as judge_files
from nightjar.judge import sets as judge_sets
from nightjar.params.drivers import load_nightly
from nightjar.tools import calculator, syntax
from nightjar.tools.run import call_text
from pipelines.history import ledger, scores
from pipelines.nightly import facts as nightly_facts
from pipelines.nightly.run import made_up_for
from pipelines.run import checks as verify
from pipelines.run import profiles
from stages._runtime import history
from stages.ingest.accounts import UnreadableFile
from stages.ingest.checks import check_task
from stages.ingest.corpus import ingest_corpus
from stages.ingest.natural_instructions import ingest_natural_instructions
from stages.ingest.task_file import read_task
from stages.report.read import facts as report_facts

ROOT = Path(__file__).parents[1]
CARD = card("supernatinst")
LONGEST_LINE = 2000


@dataclass
class Result:
    """What came of the cases of one reader; `faults` are (case, what was wrong)."""

    accepted: int = 0
    refused: int = 0
    slowest: float = 0.0
    faults: list[tuple[int, str]] = field(default_factory=list)


def run(reader: Reader, cases: int, seed: int, folder: Path) -> Result:
    """Give the reader that many broken files, one after the other, in `folder`."""
    result = Result()
    path = folder / reader.file
    path.parent.mkdir(parents=True, exist_ok=True)
    for case in range(cases):
        data = broken(reader, seed, case)
        path.write_bytes(data)
        began = time.process_time()
        try:
            reader.read(path)
            result.accepted += 1
        except NightjarError as error:
            line = str(error)
            named = any(Path(part).stem in line for part in Path(reader.file).parts)
            if "\n" in line or len(line) > LONGEST_LINE or not named:
                result.faults.append((case, f"not one line that names the file: {line[:300]!r}"))
            result.refused += 1
        except Exception as error:
            result.faults.append((case, f"{type(error).__name__}: {str(error)[:300]}"))
        result.slowest = max(result.slowest, time.process_time() - began)
    return result


def broken(reader: Reader, seed: int, case: int) -> bytes:
    """The bytes of one case; the first cases are the valid files themselves."""
    if case < len(reader.seeds):
        return reader.seeds[case]
    rng = random.Random(f"{seed} {reader.name} {case}")
    return reader.mutate(rng.choice(reader.seeds), rng)


def _account(path: Path, rows_in: int | None, ingest: Callable[[Path, Path], Any]) -> None:
    """Ingest the folder of `path`; every row is in the tables or among the rejected ones."""
    output = path.parents[1] / "out"
    told = ingest(path.parent, output)
    rejected = len(tables.read_rejected(output))
    if told.rows_in != told.rows_out + rejected or rows_in not in (None, told.rows_in):
        raise AssertionError(f"{rows_in} rows went in, {told.rows_in} were counted, {told.rows_out} came out")


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
    given = files.read_answers(CARD, path, valid.QUESTIONS)
    if not all(isinstance(text, str) and text.encode() is not None for [text] in filter(None, given)):
        raise AssertionError("a prediction is no text")


def _references(path: Path) -> None:
    for question in files.read_references(CARD, path):
        json.dumps(question.row(), default=str, ensure_ascii=False).encode()


def _sets(path: Path) -> None:
    """What a page for judges is made of: answers, references with inputs and definitions."""
    texts = judge_sets.Texts(path.with_suffix(""), path)  # nothing is ingested
    judge_sets.match((judge_sets.read_set(str(path)), judge_sets.read_set("references")), texts)
    found = texts.instances(texts.keys())
    parts = [asdict(it) for it in found] + [asdict(it) for it in texts.tasks(found).values()]
    for part in parts:
        json.dumps(part, ensure_ascii=False).encode()


def _key(path: Path) -> None:
    judge_files.read_key(path).to_json()


def _answers(path: Path) -> None:
    judge_files.read_answers(path, judge_files.Key.model_validate(valid.KEY))


def _profile(path: Path) -> None:
    base = path.with_name("sample.yaml")
    if not base.exists():
        base.write_bytes((ROOT / "profiles/sample.yaml").read_bytes())
    profiles.apply(path.parents[1], path.stem, write=False)


def _groups(path: Path) -> None:
    nightly_facts.parameters(path).encode("utf-8", "surrogatepass")
    load_nightly(path)


def _ledger(path: Path) -> None:
    """An entry is read whole, or named by the check of the ledger and skipped by the rest."""
    root, skipped = path.parents[2], list[str]()
    known, damage = ledger.entries(root, skipped.append), ledger.check(root)[1]
    list(ledger.good(root))
    if not known:
        if len(skipped) != 1 or not damage:
            raise AssertionError(f"damage that nobody reports: {skipped} {damage}")
        raise NightjarError(skipped[0], path, "restore it")


def _facts(path: Path) -> None:
    root, name = path.parents[2], path.relative_to(path.parents[2]).as_posix()
    known, faults = verify.read_facts(root, [name])
    checks.check_stage([path.parent.name], [], known, 0, root)
    stage = type("Stage", (), {"metrics": (path.name,)})
    nightly_facts.of_stages(path.parent, [stage])  # type: ignore[list-item]
    report_facts.edges(report_facts.read(path.parent))
    if faults:
        raise NightjarError(faults[name], path, "rebuild it")


def _artifact(path: Path) -> None:
    refused = path.parents[1] / tables.REJECTED_FILE
    if not refused.exists():
        pq.write_table(contracts.REJECTED.schema.empty_table(), refused)
    found = checks.check_stage([path.parents[1].name], [], None, 0, path.parents[2])
    for it in found:
        json.dumps(it.as_dict(), ensure_ascii=False)
    if any(it.blocks for it in found):
        raise NightjarError("; ".join(str(it) for it in found)[:500], path, "rebuild it")
    tables.read_rows(path.parents[1], contracts.INSTANCES)


def _kept(path: Path) -> None:
    """Nightjar's own records are never in the way: what is broken is passed over."""
    root = path.parents[1]
    for name in ("history.jsonl", "scores.jsonl", "nightly.lock"):
        (root / ".nightjar" / name).write_bytes(path.read_bytes())
    history.expected(root)
    scores.history(root)
    made_up_for(root, datetime(2026, 6, 30, tzinfo=UTC))
    json_text.recorded(path)


def _evaluation(path: Path) -> None:
    """What a comparison, a report and a run that resumes read of an evaluation."""
    (path.parent / "data/predict/supernatinst/mine").mkdir(parents=True, exist_ok=True)
    record = evaluated.read(path.parent)
    evaluated.predictions(path.parent, "supernatinst").relative_to(path.parent / "data/predict/supernatinst")
    for name in (record.identity, record.name, *evaluated.left_out(path.parent)):
        name.encode()


def _tool(path: Path) -> None:
    """A text with calls, which is never refused, or one call without a text."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    syntax.remove(text)
    calls = list(syntax.find(text))
    for found in calls:
        calculator.evaluate(found.call.input)
    calculator.evaluate(text)
    if calls:
        return
    try:
        call_text(text, date(2026, 7, 1))
    except NightjarError as error:
        raise NightjarError(error.what, path, error.fix) from None


def readers() -> list[Reader]:
    """All of them."""
    sample = (ROOT / "params.yaml").read_bytes()
    task, jsons, lines = json.dumps(valid.TASK).encode(), mutate.mutate_json, mutate.mutate_lines
    rows = [{"task_id": "t", "id": row["id"], "answers": ["x"]} for row in valid.PREDICTIONS]
    given = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), given)
    told = {
        "stage": "split",
        "seconds": 1.5,
        "status": "done",
        "ended": 1,
        "kind": "rebuild",
        "commit": "c",
        "rows": [],
    }
    settings = (b"seed=7", b"predict.supernatinst.stop=['x', \"y\"]", b"rebuild.memory_classes={small: 1}")
    calls = (
        b"Calculator((1.5 + 2) * -3 / 4)",
        b"x [Calendar() -> today] y [Calculator(1 / 3) -> 0.33]",
        b"Calendar()",
    )
    return [
        Reader("task files", (task,), jsons, "input/task1.json", _task, 0.5),
        Reader("documents", (valid.lines(*valid.DOCUMENTS),), lines, "input/d.jsonl", _corpus, 0.5),
        Reader("predictions", (valid.lines(*valid.PREDICTIONS),), lines, "p.jsonl", _predictions),
        Reader("predictions, Parquet", (given.getvalue(),), mutate.mutate_parquet, "set/predictions/part.parquet",
               lambda path: _predictions(path.parents[1])),
        Reader("references", (valid.lines(*valid.REFERENCES),), lines, "r.jsonl", _references),
        Reader("judge's sets", (valid.lines(*valid.JUDGED),), lines, "set.jsonl", _sets),
        Reader("judge's key", (json.dumps(valid.KEY).encode(),), jsons, "page.key.json", _key),
        Reader("judge's answers", (json.dumps(valid.ANSWERS, indent=1).encode(),), jsons, "answers.json", _answers),
        Reader("params.yaml", (sample,), mutate.mutate_yaml, "params.yaml", params.load, 0.3),
        Reader("drivers' groups", (b"nightly:\n  cron: 0 2 * * *\n  stages: [a]\nx: &a [1, 2]\ny: [*a, *a]\n",),
               mutate.mutate_yaml, "params.yaml", _groups),
        Reader("profiles", (b"seed: 3\nsplit:\n  train_tasks: 5\n", b"extends: sample\nthreads: 2\n"),
               mutate.mutate_yaml, "profiles/mine.yaml", _profile, 0.1),
        Reader("--set", settings, mutate.mutate_bytes, "value", _value, 0.1),
        Reader("ledger entries", (valid.parquet([valid.ledger_row()], contracts.LEDGER_RUN),), mutate.mutate_parquet,
               "ledger/date=2026-07-01/x/run.parquet", _ledger),
        Reader("facts", (json.dumps(valid.FACTS, indent=1).encode(),), jsons, "data/metrics/split.json", _facts),
        Reader("artifacts", (valid.parquet(valid.INSTANCES, contracts.INSTANCES),), mutate.mutate_parquet,
               "data/a/instances/part.parquet", _artifact),
        Reader("own records", (valid.lines(told, told), json.dumps({"pid": 7,
               "since": "2026-07-01T02:00:00+02:00"}).encode()), lines, ".nightjar/record", _kept),
        Reader("evaluation records", (json.dumps(valid.EVALUATION, indent=2).encode(),), jsons, "run/evaluation.json",
               _evaluation),
        Reader("tool calls", calls, mutate.mutate_bytes, "call", _tool),
        *fuzz_servers.readers(),
        *fuzz_cards.readers(),
        *fuzz_models.readers(),
    ]  # fmt: skip


def _value(path: Path) -> None:
    """The argument of --set; the message names the option instead of a file."""
    text = path.read_bytes().decode("utf-8", "replace")
    try:
        profiles.apply(ROOT, "sample", [text], write=False)
    except NightjarError as error:
        if not any(word in str(error) for word in ("--set", "profile sample")):
            raise AssertionError(f"neither option nor profile: {error}") from None
        raise NightjarError(error.what, path, error.fix) from None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000, help="of all readers together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", action="append", help="only this one; may be repeated")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)
    chosen = [reader for reader in readers() if not asked.reader or reader.name in asked.reader]
    if not chosen:
        parser.error(f"no such reader; there are: {', '.join(reader.name for reader in readers())}")
    whole = sum(reader.share for reader in chosen)
    faults: list[str] = []
    print("| reader | cases | accepted | refused | faults | slowest, ms |\n|---|---:|---:|---:|---:|---:|")
    for reader in chosen:
        cases = round(asked.cases * reader.share / whole)
        with tempfile.TemporaryDirectory() as folder:
            found = run(reader, cases, asked.seed, Path(folder))
        counts = f"{cases:,} | {found.accepted:,} | {found.refused:,} | {len(found.faults)}"
        print(f"| {reader.name} | {counts} | {1000 * found.slowest:.0f} |", flush=True)
        faults += [f"{reader.name}, case {case}: {what}" for case, what in found.faults]
    print("\n".join(faults[:100]), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
