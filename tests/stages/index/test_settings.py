"""`index.corpus` and `index.dense: none`, as in the profile toolformer, through the stages of a small project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nightjar.core.contracts import DOCUMENTS, PASSAGES
from nightjar.core.tables import ArtifactWriter, read_rows
from nightjar.tools import ToolRequest, make
from tests import shard_project
from tests.in_process import refused_stage, run_stage
from tests.questions import question, write_questions
from tests.stages.rows import document
from tests.tiny_models import sentence_encoder

MOTHS = "Nightjars hunt moths at dusk."


@pytest.fixture()
def project(tmp_path: Path, tiny_model: Path) -> Path:
    """Its own corpus is about pens; what is searched is in data/knowledge."""
    settings = {"corpus": "data/knowledge", "dense": "none"}
    folder = shard_project.make(tmp_path / "project", tiny_model, index=settings)
    with ArtifactWriter(folder / "data/knowledge") as writer:
        writer.write(DOCUMENTS, [document("moths", MOTHS, "Nightjar")])
    sentence_encoder(folder / "models/base/sentence_encoder")
    done = run_stage("index", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_tools_search_another_corpus_of_which_nothing_was_encoded(project: Path) -> None:
    assert sorted(path.name for path in (project / "data/index").iterdir() if path.is_dir()) == [
        "lexical",
        "passages",
    ]
    assert [row["document_id"] for row in read_rows(project / "data/index", PASSAGES)] == ["moths"]
    facts = json.loads((project / "data/metrics/index.json").read_text())
    assert (facts["dense"], facts["encoder"]) == ("none", {})
    assert facts["inputs"][0] == "data/knowledge"
    tool = make("wiki_search", project / "data/index")
    assert tool.run([ToolRequest("moths"), ToolRequest("pens")]) == [f"Nightjar > {MOTHS}", None]
    done = run_stage("augment", "wiki_search", cwd=project)
    assert done.returncode == 0, done.stderr
    facts = json.loads((project / "data/metrics/augment-wiki_search.json").read_text())
    # The documents with calls are those of the project's own corpus.
    assert facts["texts"]["corpus"]["seen"] == 4 and facts["tool"]["version"] == tool.version


@pytest.mark.parametrize("retriever", ["bm25", "dense", "hybrid"])
def test_without_vectors_words_alone_are_searched(project: Path, retriever: str) -> None:
    asked = {"training": "data/split", "passages": 1, "retriever": retriever}
    groups = {"index": {"corpus": "data/knowledge", "dense": "none"}}
    shard_project.configure(project, **groups, retrieve={"benchmarks": {"supernatinst": asked}})
    write_questions(project / "data/questions/supernatinst", [question(shard_project.instance(0, 0))])
    if retriever == "bm25":
        assert run_stage("retrieve", "supernatinst", cwd=project).returncode == 0
    else:
        error = refused_stage("retrieve", "supernatinst", cwd=project)
        assert "no dense index" in error and "index.dense" in error
    assert (project / "data/retrieve/supernatinst").exists() == (retriever == "bm25")
