"""The stage on a small project: a tool with a resource of its own, its facts, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nightjar.core import contracts, tables
from nightjar.core.config import read_yaml
from nightjar.search.lexical import LexicalIndex
from stages._runtime.held_out import held_out
from tests import shard_project
from tests.conftest import ROOT
from tests.in_process import run_stage
from tests.stages.rows import write_passages


@pytest.fixture()
def project(tmp_path: Path, tiny_model: Path) -> Path:
    """With an index of two passages, and a low bar for calls: the tiny model writes nonsense."""
    folder = shard_project.make(tmp_path / "project", tiny_model)
    texts = ["A box holds 12 pens.", "Pens are sold in rows of 4."]
    LexicalIndex.write(texts, write_passages(folder / "data/index", texts) / "lexical")
    return folder


def test_the_search_reads_its_index_and_says_which(project: Path) -> None:
    done = run_stage("augment", "wiki_search", cwd=project)
    assert done.returncode == 0, done.stderr
    rows = tables.read_rows(project / "data/augment/wiki_search", contracts.CANDIDATES)
    facts = json.loads((project / "data/metrics/augment-wiki_search.json").read_text())
    assert facts["tool"]["name"] == "WikiSearch" and len(facts["tool"]["version"]) == 18
    assert facts["inputs"] == ["data/ingest/corpus", "data/split", "models/base/language_model", "data/index"]
    assert facts["candidates"] == {"malformed": len(rows)} and rows
    assert facts["problems"] == {}
    # Four documents, each with the blank and the first letter of its first word, "A".
    assert facts["positions_left_out"] == 4 * 2
    assert min(row["offset"] for row in rows if row["source"] == "corpus") > 1
    assert {row["source"] for row in rows} == {"corpus", "train"}
    assert facts["texts"] == {
        "corpus": {"seen": 4, "suited": 4, "chosen": 4},
        "train": {"seen": 18, "suited": 18, "chosen": 8},
        "annotated": 12,
        "refused": {},
        "windows": 12,
    }
    assert facts["tokens_computed"] > 0
    # In the order of the texts, whatever their batches.
    order = [(row["source"], row["id"], row["target"], row["token"]) for row in rows]
    assert [one[:3] for one in order] == sorted((one[:3] for one in order), key=lambda one: one[:2])


def test_the_published_form_leaves_no_place_out(project: Path) -> None:
    shard_project.configure(project, augment={"before_first_word": True})
    assert run_stage("augment", "calculator", cwd=project).returncode == 0
    facts = json.loads((project / "data/metrics/augment-calculator.json").read_text())
    assert facts["positions_left_out"] == 0


def test_a_listed_tool_calls_before_names_and_numbers_alone(project: Path) -> None:
    shard_project.configure(project, augment={"before_names": ["calculator"]})
    assert run_stage("augment", "calculator", cwd=project).returncode == 0
    texts = {
        row["id"]: f" {row['text'].strip()}"
        for row in tables.read_rows(project / "data/ingest/corpus", contracts.DOCUMENTS)
    }
    rows = tables.read_rows(project / "data/augment/calculator", contracts.CANDIDATES)
    words = [texts[row["id"]][row["offset"] :].split()[0] for row in rows if row["source"] == "corpus"]
    assert words and all(word[0].isdigit() or word[0].isupper() for word in words)


def test_no_calls_are_sampled_for_documents_that_are_held_out(project: Path) -> None:
    shard_project.configure(project, augment={"held_out_documents": 1})
    assert run_stage("augment", "wiki_search", cwd=project).returncode == 0
    documents = {row["id"] for row in tables.read_rows(project / "data/ingest/corpus", contracts.DOCUMENTS)}
    rows = tables.read_rows(project / "data/augment/wiki_search", contracts.CANDIDATES)
    held = held_out(documents, 1, 42)
    assert {row["id"] for row in rows if row["source"] == "corpus"} == documents - held
    facts = json.loads((project / "data/metrics/augment-wiki_search.json").read_text())
    assert facts["texts"]["corpus"] == {"seen": 3, "suited": 3, "chosen": 3}


def test_long_texts_are_annotated_in_windows_and_texts_with_calls_refused(project: Path) -> None:
    # At so many places of each text that the later windows have some.
    calculator = {"sampling_threshold": 0.0, "positions": 40, "samples": 1, "filter_threshold": 0.5}
    none = {"code": "data/none", "resource": "data/none"}
    shard_project.configure(
        project, augment={"max_text_tokens": 30, "tools": {"calculator": calculator | none}}
    )
    documents = tables.read_rows(project / "data/ingest/corpus", contracts.DOCUMENTS)
    documents[1]["text"] = "It is [Calculator(1 + 2)] 3, of 4 and 12."
    with tables.ArtifactWriter(project / "data/ingest/corpus") as writer:
        writer.write(contracts.DOCUMENTS, documents)
    assert run_stage("augment", "calculator", cwd=project).returncode == 0
    facts = json.loads((project / "data/metrics/augment-calculator.json").read_text())
    assert facts["texts"]["refused"] == {"already contains a call": 1}
    assert facts["texts"]["annotated"] == 11 and facts["texts"]["windows"] > 11
    rows = tables.read_rows(project / "data/augment/calculator", contracts.CANDIDATES)
    assert documents[1]["id"] not in {row["id"] for row in rows}
    assert max(row["token"] for row in rows if row["source"] == "corpus") > 30


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("calendar", "'calendar' is not allowed; give one of wiki_search"),
        ("wiki_search", "no lexical index"),
        ("telephone", "'telephone' is not allowed; give one of wiki_search"),
    ],
)
def test_what_it_refuses_is_one_line_and_needs_no_torch(project: Path, tool: str, told: str) -> None:
    values = read_yaml(project / "params.yaml")
    own = values["augment"]["tools"]["wiki_search"]
    values["augment"]["tools"] = {"wiki_search": own | {"resource": "data/split"}}
    (project / "params.yaml").write_text(json.dumps(values))
    line = f"import sys, runpy; sys.modules['torch'] = None; sys.argv = ['augment', {tool!r}]; "
    line += "runpy.run_module('stages.augment', run_name='__main__')"
    words = [sys.executable, "-c", line]
    done = subprocess.run(words, cwd=project, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert told in done.stderr
