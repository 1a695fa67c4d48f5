"""A prediction is followed to the raw line: line number, hash, evidence, artifacts."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.question import Record
from nightjar.benchmarks.question_artifact import record_row
from nightjar.core import contracts
from nightjar.core.errors import NightjarError
from nightjar.core.tables import ArtifactWriter, write_file
from pipelines.versions.trace import trace
from tests.in_process import nightjar
from tests.questions import question, row_of, write_questions

PROMPTS = {"untuned": "the prompt", "combined": "the prompt with words 1"}
IDS = ["task1-0", "é:1", "task1-2"]


def instance(task_id: str, id: str) -> dict[str, Any]:
    about = {"file": f"{task_id}.json", "task_id": task_id, "id": id}
    return row_of(contracts.INSTANCES, dataset="tasks", input=f"input of {id}", outputs=["yes"], **about)


def prediction(system: str, task_id: str, id: str, benchmark: str = "made") -> dict[str, Any]:
    return row_of(
        contracts.PREDICTIONS,
        **{"benchmark": benchmark, "system": system, "track": "default", "category": "c"},
        **{"task_id": task_id, "id": id, "answers": [f"{system} says"], "prompt": PROMPTS[system]},
        prompt_sha256=hashlib.sha256(b"the prompt").hexdigest(),
        model_sha256="1" * 64,
        adapter_sha256="2" * 64 if system == "combined" else None,
    )


def write_prediction(system: str, task_id: str, id: str, benchmark: str = "made") -> None:
    with ArtifactWriter(Path("data/predict", benchmark, system)) as writer:
        writer.write(contracts.PREDICTIONS, [prediction(system, task_id, id, benchmark)])


def write_documents(*documents: tuple[str, str, str], to: str = "data/ingest/corpus", **more: str) -> None:
    """The documents (file, id, text) of a corpus."""
    with ArtifactWriter(Path(to)) as writer:
        rows = [
            row_of(contracts.DOCUMENTS, dataset="corpus", file=file, id=id, title="T", text=text) | more
            for file, id, text in documents
        ]
        writer.write(contracts.DOCUMENTS, rows)


def params(**ingest: str) -> str:
    """params.yaml of the project: where the datasets lie, and what the benchmark and its systems read."""
    systems = {
        f"made-{system}": {"weights": weights, "evidence": evidence}
        for system, weights, evidence in (
            ("untuned", "models/base/language_model", "data/questions/made"),
            ("combined", "models/train/mine", "data/found"),
        )
    }
    group = {"data": "data/ingest/tasks", "split": "data/split"}
    paths = {name: {"path": path} for name, path in ({"tasks": "raw"} | ingest).items()}
    return json.dumps({"ingest": paths, "benchmarks": {"made": group}, "predict": {"systems": systems}})


@pytest.fixture()
def project(workdir: Path) -> Path:
    rows = [instance("task1", id) for id in IDS] + [instance("task2", "task1-0")]
    Path("raw").mkdir()
    for task in ("task1", "task2"):
        own = [{"id": row["id"], "input": row["input"]} for row in rows if row["task_id"] == task]
        Path("raw", f"{task}.json").write_text(json.dumps({"Instances": own}, indent=1))
    Path("params.yaml").write_text(params())
    with ArtifactWriter(Path("data/ingest/tasks")) as writer:
        for task in ("task1", "task2"):
            writer.write(contracts.INSTANCES, [row for row in rows if row["task_id"] == task], part=task)
    write_questions(Path("data/questions/made"), (question(row, benchmark="made") for row in rows))
    for system in ("untuned", "combined"):
        with ArtifactWriter(Path(f"data/predict/made/{system}")) as writer:
            writer.write(
                contracts.PREDICTIONS, [prediction(system, row["task_id"], row["id"]) for row in rows]
            )
    with ArtifactWriter(Path("data/found")) as writer:
        found = [
            row_of(contracts.EVIDENCE, split=split, task_id="task1", id="task1-2", rank=rank, passage=rank)
            | {"document_id": f"d{rank}", "title": "T", "text": f"words {rank}\n", "score": 1.0 / rank}
            for split in ("train", "test")
            for rank in (2, 1)
        ]
        writer.write(contracts.EVIDENCE, found)
    Path("dvc.lock").write_text(
        "stages:\n  split:\n    outs: [{path: data/split, md5: aaa.dir}]\n"
        "  ingest@tasks:\n    deps: [{path: raw, md5: bbb.dir}]\n"
    )
    return workdir


def line_of(path: Path, id: str) -> int:
    """The line of the id, found the slow way."""
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if line.strip() == f'"id": {json.dumps(id)},':
            return number
    raise AssertionError


@pytest.mark.parametrize(
    ("name", "id"),
    [("task1:task1-0", "task1-0"), ("é:1", "é:1"), ("task1:é:1", "é:1"), ("task1-2", "task1-2")],
)
def test_from_the_prediction_to_the_line(project: Path, name: str, id: str) -> None:
    found = trace(Path(), name)
    raw = Path("raw/task1.json")
    assert (found["task_id"], found["id"]) == ("task1", id)
    assert [row["system"] for row in found["predictions"]] == ["combined", "untuned"]
    assert [row["system"] for row in trace(Path(), name, "untuned")["predictions"]] == ["untuned"]
    assert found["benchmark"] == "made" and found["question"]["parts"] == {"input": f"input of {id}"}
    digest = hashlib.sha256(raw.read_bytes()).hexdigest()
    assert found["raw"] == {"path": "raw/task1.json", "line": line_of(raw, id), "sha256": digest}
    assert [row["rank"] for row in found["evidence"]] == ([1, 2] if id == "task1-2" else [])
    assert found["artifacts"] == {
        "data/split": {"stage": "split", "hash": "aaa.dir"},
        "raw": {"stage": "ingest@tasks", "hash": "bbb.dir"},
    }
    json.dumps(found)


def test_models_prompts_and_evidence_carry_their_hashes(project: Path) -> None:
    Path("docs").mkdir()
    Path("docs/d1.md").write_text("words 1")
    write_documents(("d1.md", "d1", "words 1"))
    Path("params.yaml").write_text(params(corpus="docs"))
    outs = ["models/base/language_model", "models/train/mine", "data/index", "data/found", "data/split"]
    outs += ["data/ingest/corpus", "data/ingest/tasks", "data/questions/made", "data/predict/made/combined"]
    lock = {f"s{n}": {"outs": [{"path": path, "md5": f"{n}.dir"}]} for n, path in enumerate(outs)}
    lock["s0"]["deps"] = [{"path": path, "md5": f"{path}.dir"} for path in ("docs", "raw")]
    Path("dvc.lock").write_text(json.dumps({"stages": lock}))
    found = trace(Path(), "task1-2")
    assert found["artifacts"].keys() == {*outs, "docs", "raw"}
    assert found["artifacts"]["models/train/mine"] == {"stage": "s1", "hash": "1.dir"}
    first, second = found["evidence"]
    assert (first["systems"], second["systems"]) == (["combined"], [])
    digest = hashlib.sha256(b"words 1").hexdigest()
    assert first["raw"] == {"path": "docs/d1.md", "line": 1, "sha256": digest}
    assert second["raw"] is None  # its document is not in the corpus any more
    assert {row["system"]: row["prompt_intact"] for row in found["predictions"]} == {
        "untuned": True,
        "combined": False,
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["task1-2", "other"], "no prediction of the system other has that id"),
        (["task1-0"], "2 tasks have that id; give one as task1:task1-0"),
        (["{}"], "no prediction has that id"),
        (["task9:task1-0"], "task9:task1-0: no prediction has that id"),
    ],
)
def test_an_id_that_is_not_one_prediction_is_refused(project: Path, words: list[str], message: str) -> None:
    with pytest.raises(NightjarError, match=message):
        trace(Path(), *words)


def test_the_seconds_of_an_answer_are_told_where_they_are_known(project: Path) -> None:
    times = {("task1", "task1-0"): 0.5, ("task2", "task1-0"): 2.0}
    timings = [
        {"system": "combined", "task_id": task_id, "id": id, "seconds": seconds}
        for (task_id, id), seconds in times.items()
    ]
    write_file(Path(".nightjar/timings/predict-made-combined.parquet"), contracts.TIMINGS, timings)

    def seconds(name: str) -> dict[str, float | None]:
        return {row["system"]: row["seconds"] for row in trace(Path(), name)["predictions"]}

    assert seconds("task1:task1-0") == {"combined": 0.5, "untuned": None}
    assert seconds("task2:task1-0") == {"combined": 2.0, "untuned": None}
    assert seconds("task1-2") == {"combined": None, "untuned": None}


def test_evidence_from_training_inputs_leads_to_the_task_file(project: Path) -> None:
    write_documents(("task1.json", "d1", "words 1"), dataset="tasks")
    Path("params.yaml").write_text(params(corpus="data/split"))
    digest = hashlib.sha256(Path("raw/task1.json").read_bytes()).hexdigest()
    raw = trace(Path(), "task1-2")["evidence"][0]["raw"]
    assert raw == {"path": "raw/task1.json", "line": None, "sha256": digest}


def test_a_raw_file_that_changed_or_is_gone_is_said(project: Path) -> None:
    Path("raw/task1.json").write_text("{}")
    assert trace(Path(), "task1-2")["raw"]["note"] == "the id is not in the file"
    Path("raw/task1.json").unlink()
    found = trace(Path(), "task1-2")["raw"]
    assert (found["note"], found["line"], found["sha256"]) == ("the file is gone", None, None)


def test_an_artifact_that_was_not_checked_out_is_named_with_the_command(project: Path) -> None:
    shutil.rmtree(project / "data/questions/made")
    with (project / "dvc.lock").open("a") as lock:
        lock.write("  questions@made:\n    outs: [{path: data/questions/made, md5: ccc.dir}]\n")
    fix = "data/questions/made: not in the workspace; get it with: dvc checkout data/questions/made"
    with pytest.raises(NightjarError, match=fix):
        trace(project, "task1:task1-0")


def test_a_benchmark_of_records_is_followed_to_its_own_file(project: Path) -> None:
    """Another benchmark has a question of the same id, made of rows that its card read."""
    row = {"dataset": "other", "file": "dev.jsonl", "task_id": "task1", "id": "task1-2", "input": "?"}
    row |= {"outputs": ["no"]}
    Path("more").mkdir()
    Path("more/dev.jsonl").write_text('{"id": "task1-1"}\n{"id": "task1-2"}\n')
    settings = json.loads(params(other="more"))
    settings["benchmarks"]["second"] = dict.fromkeys(("data", "split"), "data/ingest/other")
    Path("params.yaml").write_text(json.dumps(settings))
    record = {"category": "", "parts": "{}", "references": ["no"], "day": None}
    record |= {key: row[key] for key in ("dataset", "file", "task_id", "id")}
    with ArtifactWriter(Path("data/ingest/other")) as writer:
        writer.write(contracts.RECORDS, [record])
    write_questions(Path("data/questions/second"), [question(row, benchmark="second")])
    write_prediction("untuned", "task1", "task1-2", "second")
    with pytest.raises(NightjarError, match="task1-2: 2 benchmarks have that id; give --benchmark made"):
        trace(Path(), "task1-2")
    assert len(trace(Path(), "task1-2", benchmark="made")["predictions"]) == 2
    found = trace(Path(), "task1-2", benchmark="second")
    assert (found["benchmark"], found["question"]["references"], found["evidence"]) == ("second", ["no"], [])
    assert (found["raw"]["path"], found["raw"]["line"]) == ("more/dev.jsonl", 2)
    with pytest.raises(NightjarError, match="no predictions of the benchmark third yet"):
        trace(Path(), "task1-2", benchmark="third")
    shutil.rmtree("data/ingest/other/records")
    with ArtifactWriter(Path("data/ingest/other")) as writer:
        writer.write(contracts.RECORDS, [record | {"id": "older"}])
    with pytest.raises(
        NightjarError, match="data/ingest/other: no such row; it is older than the prediction"
    ):
        trace(Path(), "task1-2", benchmark="second")


def rank_passages(benchmark: str = "made") -> None:
    """Two rankings of three passages for one question, and the labels of the first two of each."""
    key = {"task_id": "task1", "id": "task1-2"}
    orders = {"retrieve": [7, 3, 5], "rerank": [5, 7]}
    for stage, passages in orders.items():
        scores = [1.0 / rank for rank in range(1, len(passages) + 1)]
        ranking = {**key, "passages": passages, "scores": scores}
        with ArtifactWriter(Path("data", stage, benchmark)) as writer:
            rows = [{"split": split, **ranking} for split in ("test", "train")]
            writer.write(contracts.RANKINGS, rows)
    with ArtifactWriter(Path("data/index")) as writer:
        passage = {"title": "T", "start": 0}
        rows = [{"passage": n, "document_id": f"d{n}", "text": f"passage {n}", **passage} for n in range(9)]
        writer.write(contracts.PASSAGES, rows)
    with ArtifactWriter(Path("data/consistency", benchmark)) as writer:
        labels = {3: "no", 5: "yes", 7: "yes"}
        rows = [
            {"benchmark": benchmark, **key, "ranking": stage, "passages": passages[:2], "consistent": 0.5}
            | {"labels": [labels[n] for n in passages[:2]]}
            for stage, passages in orders.items()
        ]
        writer.write(contracts.CONSISTENCY, rows)


def test_a_passage_is_followed_through_reranking_to_its_line(project: Path) -> None:
    rank_passages()
    Path("docs").mkdir()
    lines = [json.dumps({"id": f"d{n}", "text": f"passage {n}"}) for n in range(9)]
    Path("docs/all.jsonl").write_text("\n".join(lines))
    write_documents(*(("all.jsonl", f"d{n}", f"passage {n}") for n in range(9)))
    Path("params.yaml").write_text(params(corpus="docs"))
    found = [row for row in trace(Path(), "task1-2")["evidence"] if "before" in row]
    assert [(row["artifact"], row["rank"], row["passage"]) for row in found] == [
        ("data/retrieve/made", 1, 7),
        ("data/retrieve/made", 2, 3),
        ("data/retrieve/made", 3, 5),
        ("data/rerank/made", 1, 5),
        ("data/rerank/made", 2, 7),
    ]
    assert [row["before"] for row in found] == [
        *[None] * 3,
        {"rank": 3, "score": 1 / 3},
        {"rank": 1, "score": 1.0},
    ]
    assert [(row["label"], row["consistent"]) for row in found[:3]] == [
        ("yes", True),
        ("no", False),
        (None, None),
    ]
    for row in found:
        text = Path("docs/all.jsonl").read_text().splitlines()[row["raw"]["line"] - 1]
        assert json.loads(text)["text"] == row["text"] == f"passage {row['passage']}"
    out = nightjar("trace", "task1-2", "--benchmark", "made")
    assert out.startswith("task1-2 of task1 (made, c, default)\n")
    for told in (
        "combined: 'combined says'",
        'references: ["yes"]',
        "── 1: d1",
        "model 11111111, adapter 22222222; ",
        "── raw/task1.json:",
        "── 1 of data/rerank/made, before 3 (0.333), yes: consistent: d5 'T' (score 1.000)",
    ):
        assert told in out
    assert max(map(len, re.findall(r"\b[0-9a-f]{8,}\b", out))) == 8
    assert "1" * 64 in nightjar("trace", "task1-2", "--benchmark", "made", "--full")


def test_passages_of_another_corpus_are_not_those_of_the_first(project: Path) -> None:
    """`nightjar ingest` writes a corpus to any folder, with the same dataset name; both have documents of these ids."""
    rank_passages()
    Path("dvc.lock").write_text(
        "stages:\n  index:\n    deps: [{path: data/wiki, md5: aaa.dir}]\n"
        "  ingest@corpus:\n    deps: [{path: docs, md5: bbb.dir}]\n"
        "    outs: [{path: data/ingest/corpus, md5: ccc.dir}]\n"
    )
    Path("docs").mkdir()
    Path("docs/all.txt").write_text("passage 3")
    for folder in ("data/wiki", "data/ingest/corpus"):
        write_documents(*(("all.txt", f"d{n}", f"passage {n}") for n in range(9)), to=folder)
    found = {}
    for corpus in ("data/wiki", "data/ingest/corpus"):
        Path("params.yaml").write_text(
            json.dumps(json.loads(params(corpus="docs")) | {"index": {"corpus": corpus}})
        )
        found[corpus] = trace(Path(), "task1-2")
    raw = {
        corpus: {str(it["raw"] and it["raw"]["path"]) for it in one["evidence"] if "before" in it}
        for corpus, one in found.items()
    }
    # No setting names the files of the other corpus.
    assert raw == {"data/wiki": {"None"}, "data/ingest/corpus": {"docs/all.txt"}}
    assert found["data/wiki"]["artifacts"].keys() == {"data/wiki"}
    assert found["data/ingest/corpus"]["artifacts"].keys() == {"docs", "data/ingest/corpus"}


def test_an_id_that_names_its_line(project: Path) -> None:
    row = instance("task1", "task1-2") | {"id": "task1.json:2"}
    write_questions(Path("data/questions/made"), [question(row, benchmark="made")])
    with ArtifactWriter(Path("data/ingest/tasks")) as writer:
        writer.write(contracts.INSTANCES, [row])
    write_prediction("untuned", "task1", "task1.json:2")
    assert trace(Path(), "task1.json:2", "untuned")["raw"]["line"] == 2


def test_a_question_of_no_dataset_has_no_raw_file(project: Path) -> None:
    row = instance("task1", "task1-2") | {"dataset": "", "file": ""}
    write_questions(Path("data/questions/made"), [question(row, benchmark="made")])
    nothing = dict.fromkeys(("path", "line", "sha256"))
    assert trace(Path(), "task1-2")["raw"] == nothing | {"note": "the question names no dataset"}


@pytest.mark.parametrize("folder", [True, False])
def test_a_record_names_its_line(project: Path, folder: bool) -> None:
    """The id is not in the file, or on another line; `ingest` may name the file itself."""
    Path("more").mkdir()
    Path("more/dev.jsonl").write_text('{"n": "task1-2"}\n{}\n{}\n')
    Path("params.yaml").write_text(params(tasks="more" if folder else "more/dev.jsonl"))
    record = Record("task1", "task1-2", "dev.jsonl", {}, ("no",), line=3)
    row = record_row("tasks", record)
    with ArtifactWriter(Path("data/ingest/tasks")) as writer:
        writer.write(contracts.RECORDS, [row])
    asked = {**row, "input": "?", "outputs": ["no"]}
    write_questions(Path("data/questions/made"), [question(asked, benchmark="made")])
    write_prediction("untuned", "task1", "task1-2")
    found = trace(Path(), "task1-2", "untuned")["raw"]
    assert (found["path"], found["line"]) == ("more/dev.jsonl", 3)
    Path("more/dev.jsonl").write_text("{}\n")
    found = trace(Path(), "task1-2", "untuned")["raw"]
    assert (found["line"], found["note"]) == (None, "the file has 1 lines, not 3")
