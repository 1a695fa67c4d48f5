"""Overlaps as found by hashes, against a search by hand over tuples of words."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nightjar.benchmarks import registry
from nightjar.core import artifact_rules, tables
from nightjar.core.contracts import (
    DEV,
    DEV_QUESTIONS,
    EVIDENCE,
    EVIDENCE_OVERLAPS,
    OVERLAPS,
    QUESTIONS,
    SUPERVISED,
    TASK_OVERLAPS,
    TRAIN,
    TRAIN_QUESTIONS,
)
from nightjar.core.identity import contents
from stages.contamination.overlaps import OverlapFinder, TrainingText
from stages.contamination.shared_runs import BenchmarkTexts, build
from tests.conftest import ROOT
from tests.in_process import refused_stage, run_stage
from tests.made_benchmark import changed
from tests.questions import row_of
from tests.stages.rows import instance, write_documents

SPLIT, CORPUS, OUTPUT = Path("data/split"), Path("data/ingest/corpus"), Path("data/contamination")
QUESTIONS_OF, RETRIEVED, INDEX = Path("data/questions"), Path("data/retrieve"), Path("data/index")


def by_hand(text: str) -> list[str]:
    text = unicodedata.normalize("NFC", text).lower()
    return "".join(c for c in text if unicodedata.category(c)[0] not in "PS").split()


def grams(text: str, n: int) -> list[tuple[str, ...]]:
    found = by_hand(text)
    return [tuple(found[at : at + n]) for at in range(len(found) - n + 1)]


TEXTS = st.lists(
    st.sampled_from(["a", "B", "c,", "É", "e\u0301", " ", "\n", "- ", "_", "“d”", ""]), max_size=12
).map(" ".join)


@given(
    st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=2)), min_size=1, max_size=5),
    st.lists(st.tuples(st.sampled_from(["train", "corpus"]), TEXTS), max_size=8),
    st.integers(2, 4),
)
@settings(max_examples=150, deadline=None)
def test_overlaps_are_those_by_hand(
    test: list[tuple[str, list[str]]], training: list[tuple[str, str]], n: int
) -> None:
    references = pa.array([row[1] for row in test], pa.list_(pa.string()))
    held = OverlapFinder(pa.array([[row[0]] for row in test], pa.list_(pa.string())), references, n)
    for number, (side, text) in enumerate(training):
        held.add(side, pa.array([text]), [TrainingText(None, str(number), "text")].__getitem__)
    found = {(it.row, it.part, it.side): it for it in held.overlaps()}
    wanted = {}
    for row, (text, outputs) in enumerate(test):
        for part, texts in (("input", [text]), ("reference", outputs)):
            for side in ("train", "corpus"):
                given = [(number, other) for number, (of, other) in enumerate(training) if of == side]
                own = [gram for one in texts for gram in grams(one, n)]
                homes = {gram: next((k for k, t in given if gram in grams(t, n)), None) for gram in own}
                matched = [gram for gram in own if homes[gram] is not None]
                if matched:
                    told = ("ngram", len(own), len(matched), " ".join(matched[0]), str(homes[matched[0]]))
                    wanted[row, part, side] = told
                    continue
                for one in texts:
                    whole = by_hand(one)
                    home = next((k for k, t in given if by_hand(t) == whole), None)
                    if 0 < len(whole) < n and home is not None:
                        wanted.setdefault((row, part, side), ("short", 0, 0, " ".join(whole), str(home)))
    assert {
        key: (it.kind, it.ngrams, it.matched, it.text, it.source.id) for key, it in found.items()
    } == wanted


@given(st.lists(TEXTS, min_size=1, max_size=5), st.lists(TEXTS, max_size=8), st.integers(3, 7))
@settings(max_examples=150, deadline=None)
def test_a_short_input_is_found_inside_a_longer_text(inputs: list[str], training: list[str], n: int) -> None:
    """From two words on, here; a reference is not, because it may be a label."""
    of = pa.list_(pa.string())
    held = OverlapFinder(pa.array([[text] for text in inputs], of), pa.array([], of), n, shortest=2)
    for number, text in enumerate(training):
        held.add("train", pa.array([text]), [TrainingText(None, str(number), "text")].__getitem__)
    found = {
        it.row: it.source.id for it in held.overlaps() if it.kind == "whole" and len(it.text.split()) > 1
    }
    wanted = {}
    for row, text in enumerate(inputs):
        if 2 <= len(own := by_hand(text)) < n:
            homes = [str(k) for k, other in enumerate(training) if tuple(own) in grams(other, len(own))]
            wanted |= {row: homes[0]} if homes else {}
    assert found == wanted


LONG = "one two three four five six seven eight"
STATEMENT = "The tower of Halvern was built by"


def question(benchmark: str, task: str, id: str, parts: dict[str, Any], *references: str) -> dict[str, Any]:
    names = {"benchmark": benchmark, "track": "default", "category": "c", "task_id": task, "id": id}
    return row_of(QUESTIONS, **names, shared="{}", parts=json.dumps(parts), references=list(references))


def passage(id: str, rank: int, text: str, split: str = "test") -> dict[str, Any]:
    place = {"split": split, "task_id": "lama_squad", "id": id, "rank": rank, "passage": rank}
    return row_of(EVIDENCE, **place, document_id=f"doc-{rank}", text=text)


def asked(benchmark: str, *, retrieved: bool = False) -> BenchmarkTexts:
    folder = RETRIEVED / benchmark
    return BenchmarkTexts(
        registry.load_benchmark(benchmark), QUESTIONS_OF / benchmark, folder if retrieved else None
    )


@pytest.fixture()
def made(workdir: Path) -> Path:
    with tables.ArtifactWriter(SPLIT) as writer:
        writer.write(TRAIN, [instance("a", "a1", f"Oh! {LONG}.", "yes"), instance("a", "a2", "x", "No")])
        writer.write(DEV, [])
        writer.write(SUPERVISED, [instance("z", "z9", "Fifteen", "perhaps")])
    with tables.ArtifactWriter(QUESTIONS_OF / "supernatinst") as writer:
        rows = [
            question("supernatinst", "z", "z1", {"input": LONG.title()}, "no"),
            question("supernatinst", "z", "z2", {"input": "nothing of it"}, "yes", f"word {LONG}"),
            question("supernatinst", "z", "z3", {"input": "fifteen!"}, "never"),
        ]
        writer.write(QUESTIONS, rows, part="z")
        writer.write(
            QUESTIONS, [question("supernatinst", "y", "y1", {"input": ""}, "three four five six")], "y"
        )
    with tables.ArtifactWriter(QUESTIONS_OF / "tool_use") as writer:
        rows = [
            question("tool_use", "lama_squad", "1", {"text": STATEMENT}, "Emma Cossar"),
            question("tool_use", "lama_squad", "2", {"text": "The Swan Tower is made of"}, "green sandstone"),
            question("tool_use", "lama_squad", "3", {"text": "The bridge of Eastholm is made of"}, "wood"),
        ]
        writer.write(QUESTIONS, rows)
    with tables.ArtifactWriter(QUESTIONS_OF / "classification") as writer:
        parts = {"text": f"{STATEMENT} whom?", "choices": ["acceptable", "unacceptable"]}
        writer.write(QUESTIONS, [question("classification", "cola", "1", parts, "acceptable")])
        training = question("classification", "cola", "t", {"text": f"Ah: {STATEMENT} whom"}, "acceptable")
        writer.write(TRAIN_QUESTIONS, [training])
        writer.write(DEV_QUESTIONS, [])
    with tables.ArtifactWriter(RETRIEVED / "tool_use") as writer:
        rows = [
            passage("1", 2, f"{STATEMENT} Emma Cossar, in 1963."),
            passage("1", 1, "Emma Cossar was born in Velbridge."),
            passage("2", 3, "Wood and green, sandstone.", "train"),
            passage("2", 3, "A green-sandstone wall"),
        ]
        writer.write(EVIDENCE, rows)
    write_documents(
        CORPUS, {"doc-1": f"A story: {LONG[:-6]}", "doc-2": f"So {STATEMENT.lower()} Emma Cossar"}
    )
    return workdir


def test_the_artifact(made: Path) -> None:
    facts = build([asked("supernatinst")], SPLIT, CORPUS, INDEX, OUTPUT, 5)
    rows = tables.read_rows(OUTPUT, OVERLAPS)
    assert [(it["task_id"], it["id"], it["part"], it["side"], it["kind"]) for it in rows] == [
        ("z", "z1", "input", "corpus", "ngram"),
        ("z", "z1", "input", "train", "ngram"),
        ("z", "z1", "reference", "train", "short"),
        ("z", "z2", "reference", "corpus", "ngram"),
        ("z", "z2", "reference", "train", "ngram"),
        ("z", "z3", "input", "supervised", "short"),
    ]
    first = rows[0]
    assert (first["ngrams"], first["matched"], first["text"]) == (4, 3, "one two three four five")
    assert (first["source_task_id"], first["source_id"], first["source_part"]) == (None, "doc-1", "text")
    assert (rows[2]["source_task_id"], rows[2]["source_id"], rows[2]["source_part"]) == ("a", "a2", "output")
    told = {(row["task_id"], row["side"]): row for row in tables.read_rows(OUTPUT, TASK_OVERLAPS)}
    assert len(told) == 12
    of_z = told["z", "any"]
    assert (of_z["instances"], of_z["by_input"], of_z["by_reference"], of_z["overlapping"]) == (3, 1, 1, 2)
    assert (of_z["mostly"], of_z["short"], round(of_z["share"], 3)) == (1, 1, 0.667)
    assert (told["z", "supervised"]["overlapping"], told["z", "supervised"]["short"]) == (0, 1)
    assert told["y", "any"]["share"] == 0
    sides = facts["benchmarks"]["supernatinst"]["sides"]
    assert sides["any"]["overlapping"] == 2 and facts["texts"]["train"] == 4
    assert facts["benchmarks"]["supernatinst"]["evidence"] is None
    assert artifact_rules.check(OUTPUT) == []


def test_every_benchmark_is_held_against_all_that_is_trained_on(made: Path) -> None:
    of = [asked("supernatinst"), asked("tool_use"), asked("classification")]
    facts = build(of, SPLIT, CORPUS, INDEX, OUTPUT, 13)
    rows = [
        row for row in tables.read_rows(OUTPUT, OVERLAPS) if row["part"] == "input" and row["kind"] != "short"
    ]
    told = [
        (row["benchmark"], row["id"], row["side"], row["source_task_id"], row["source_id"]) for row in rows
    ]
    assert told == [
        ("supernatinst", "z1", "train", "a", "a1"),
        ("tool_use", "1", "corpus", None, "doc-2"),
        ("tool_use", "1", "questions", "classification/cola", "t"),
        ("classification", "1", "questions", "classification/cola", "t"),
    ]
    counted = {name: it["sides"]["any"]["overlapping"] for name, it in facts["benchmarks"].items()}
    assert counted == {"supernatinst": 1, "tool_use": 1, "classification": 1}


def test_a_card_need_not_say_by_what_evidence_is_searched(made: Path) -> None:
    one = asked("supernatinst")
    card = changed(one.card, query=lambda parts: str(parts["question"]))
    facts = build([dataclasses.replace(one, card=card)], SPLIT, CORPUS, INDEX, OUTPUT, 13)
    assert facts["benchmarks"]["supernatinst"]["sides"]["train"]["overlapping"] == 1


def test_passages_that_have_the_question_or_a_reference(made: Path) -> None:
    of = [asked("supernatinst"), asked("tool_use", retrieved=True)]
    facts = build(of, SPLIT, CORPUS, INDEX, OUTPUT, 13)
    rows = tables.read_rows(OUTPUT, EVIDENCE_OVERLAPS)
    told = [(row["id"], row["passages"], row["question_rank"], row["reference_rank"]) for row in rows]
    assert told == [("1", 2, 2, 1), ("2", 1, None, None)], "no passages for the third"
    counts = {"question": 1, "question_first": 0, "reference": 1, "reference_first": 1}
    assert facts["benchmarks"]["tool_use"]["evidence"] == {"questions": 2, **counts}
    assert facts["benchmarks"]["supernatinst"]["evidence"] is None


def test_no_test_instances(made: Path) -> None:
    with tables.ArtifactWriter(SPLIT) as writer:
        for table in (TRAIN, DEV, SUPERVISED):
            writer.write(table, [])
    with tables.ArtifactWriter(QUESTIONS_OF / "supernatinst") as writer:
        writer.write(QUESTIONS, [])
    facts = build([asked("supernatinst")], SPLIT, CORPUS, INDEX, OUTPUT, 13)
    assert facts["benchmarks"]["supernatinst"]["questions"] == 0
    assert tables.read_rows(OUTPUT, TASK_OVERLAPS) == []


def test_the_stage(made: Path) -> None:
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["benchmarks"] = {name: params["benchmarks"][name] for name in ("supernatinst", "tool_use")}
    for group in ("retrieve", "rerank", "consistency"):
        own = params[group]["benchmarks"]
        params[group]["benchmarks"] = {name: own[name] for name in own if name == "tool_use"}
    params["predict"]["systems"] = {}
    Path("params.yaml").write_text(yaml.safe_dump(params))
    done = run_stage("contamination")
    assert done.returncode == 0, done.stderr
    assert "supernatinst: 1 of 4 test questions share 13 words in a row" in done.stderr
    assert "tool_use: 1 of 3 test questions" in done.stderr
    assert "1 have a reference in their retrieved passages" in done.stderr
    before = contents(OUTPUT)
    command = [sys.executable, "-m", "stages.contamination"]  # sets have another order in another process
    assert subprocess.run(command).returncode == 0
    assert contents(OUTPUT) == before
    (QUESTIONS_OF / "supernatinst/questions/z.parquet").unlink()
    (QUESTIONS_OF / "supernatinst/questions/y.parquet").unlink()
    refused_stage("contamination")
