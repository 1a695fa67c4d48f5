"""The index stage on a small corpus: every word indexed, every document counted, the same bytes twice."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nightjar.core.config import read_yaml
from nightjar.core.contracts import DOCUMENTS, PASSAGES
from nightjar.core.errors import NightjarError
from nightjar.core.identity import contents
from nightjar.core.tables import ArtifactWriter, read_rejected, read_rows
from nightjar.params.search import Index
from nightjar.search.dense import DenseIndex
from nightjar.search.encoder import SentenceEncoder
from nightjar.search.encoders import identity
from nightjar.search.lexical import LexicalIndex
from nightjar.tools.passage_store import PassageSearch
from nightjar.tools.tool import ToolRequest
from stages.index import passage_index as build_module
from stages.index.passage_index import build
from stages.retrieve.retriever import Retriever
from tests.in_process import refused_stage, run_stage
from tests.killing import units_added
from tests.stages.rows import document
from tests.tiny_models import sentence_encoder

ROOT = Path(__file__).parents[3]
INDEX = Index(passage_words=4, dense="flat", lexical="words")
SENTENCES = Index(granularity="sentences", passage_words=100, dense="flat", lexical="published")
TEXTS = {
    "moths": "Nightjars hunt moths at dusk. They fly low over heath and clearings, mouths wide open.",
    "nests": "They build no nest: two eggs lie on the bare ground.",
    "empty": " \n ",
    "short": "Churring",
}


def write_corpus(path: Path, texts: dict[str, str], title: str = "On ") -> None:
    rows = [document(id, text, title and title + id) for id, text in texts.items()]
    with ArtifactWriter(path) as writer:
        writer.write(DOCUMENTS, rows[:2], part="part-0")
        writer.write(DOCUMENTS, rows[2:], part="part-1")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sentence_encoder(tmp_path_factory.mktemp("tiny_encoder"))


@pytest.mark.parametrize("dense", ["flat", "hnsw"])
@pytest.mark.parametrize("per_part", [3, 65_536])
def test_everything_is_indexed(dense: str, per_part: int, encoder: Path, tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus", TEXTS)
    settings = INDEX.model_copy(update={"dense": dense})
    facts = build(tmp_path / "corpus", encoder, tmp_path / "index", settings, 1, per_part=per_part)
    passages = read_rows(tmp_path / "index", PASSAGES)
    assert [row["passage"] for row in passages] == list(range(len(passages)))
    for id, text in TEXTS.items():
        own = [row for row in passages if row["document_id"] == id]
        assert " ".join(row["text"] for row in own).split() == text.split()
        assert all(text[row["start"] :].startswith(row["text"]) for row in own)
        assert all(row["title"] == f"On {id}" for row in own)
    assert (facts.documents, facts.indexed, facts.rejected) == (4, 3, 1)
    assert (facts.passages, facts.words) == (len(passages), sum(len(text.split()) for text in TEXTS.values()))
    assert read_rejected(tmp_path / "index").to_pylist() == [
        {"dataset": "corpus", "file": "a.jsonl", "id": "empty", "reason": "no words", "raw": " \n "}
    ]

    model = SentenceEncoder(encoder)
    vectors = DenseIndex.load(tmp_path / "index" / "dense", identity(model))
    assert facts.encoder == identity(model)
    lexical = LexicalIndex.load(tmp_path / "index" / "lexical")
    assert len(vectors) == len(lexical) == len(passages)
    texts = [f"{row['title']}\n{row['text']}" for row in passages]
    found = vectors.search(model.encode(texts), 1)
    assert found.ids[:, 0].tolist() == list(range(len(texts)))
    assert lexical.search(texts, 1).ids[:, 0].tolist() == list(range(len(texts)))
    assert np.allclose(found.scores, 1)


def test_nothing_is_left_of_a_failure(encoder: Path, tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus", {"a": " ", "b": "", "c": "\n"})
    with pytest.raises(NightjarError, match="no passage can be made"):
        build(tmp_path / "corpus", encoder, tmp_path / "index", INDEX, 1)
    write_corpus(tmp_path / "corpus", {"a": "...", "b": "!", "c": "\n"}, title="")
    with pytest.raises(NightjarError, match="no word to index"):
        build(tmp_path / "corpus", encoder, tmp_path / "index", INDEX, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_repetitions_and_short_pieces_are_dropped_and_counted(encoder: Path, tmp_path: Path) -> None:
    texts = {
        "a": "Nightjars hunt moths. They fly low.\nYes.",
        "b": "They  fly\tlow. No nest is built.",
        "c": "Yes. They fly low.",
        "d": " ",
    }
    write_corpus(tmp_path / "corpus", texts)
    settings = SENTENCES.model_copy(update={"min_words": 2})
    facts = build(tmp_path / "corpus", encoder, tmp_path / "index", settings, 1)
    passages = read_rows(tmp_path / "index", PASSAGES)
    assert [(row["document_id"], row["start"], row["text"]) for row in passages] == [
        ("a", 0, "Nightjars hunt moths."),
        ("a", 22, "They fly low."),
        ("b", 15, "No nest is built."),
    ]
    assert [row["passage"] for row in passages] == [0, 1, 2]
    reasons = {"the same text as an earlier passage": 2, "fewer than index.min_words words": 2}
    assert (facts.pieces, facts.passages, facts.dropped) == (7, 3, reasons)
    assert (facts.documents, facts.indexed, facts.rejected) == (4, 2, 2)
    rejected = {row["id"]: row["reason"] for row in read_rejected(tmp_path / "index").to_pylist()}
    assert rejected == {"c": "no passage of its own that is long enough", "d": "no words"}
    # The title of the document is no part of a sentence.
    lexical = LexicalIndex.load(tmp_path / "index" / "lexical")
    assert lexical.search(["On"], 3).scores.tolist() == [[0, 0, 0]]


def test_a_sentence_of_ten_thousand_words_is_cut(encoder: Path, tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus", {"long": " ".join(map(str, range(10_000)))})
    facts = build(tmp_path / "corpus", encoder, tmp_path / "index", SENTENCES, 1)
    assert (facts.passages, facts.words) == (100, 10_000)
    whole = SENTENCES.model_copy(update={"passage_words": 10_000})
    assert build(tmp_path / "corpus", encoder, tmp_path / "whole", whole, 1).passages == 1


@pytest.mark.parametrize("settings", [INDEX, SENTENCES], ids=["words", "sentences"])
def test_tools_and_evidence_use_the_same_index(settings: Index, encoder: Path, tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus", TEXTS)
    build(tmp_path / "corpus", encoder, tmp_path / "index", settings, 1)
    found = PassageSearch.load(tmp_path / "index").find(ToolRequest("eggs ground.", "a question"), 1)
    assert found[0].title == "On nests" and "ground." in found[0].text
    for kind in ("dense", "bm25", "hybrid"):
        retriever = Retriever(tmp_path / "index", encoder, kind)
        [hits] = retriever.rank(["two eggs on the bare ground."], 2).rankings.lists()
        assert len(hits) >= 1
        assert retriever.passages["document_id"][hits[0][0]].as_py() in TEXTS


def test_as_a_stage_that_was_killed_and_resumes(
    encoder: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_module, "PASSAGES_PER_UNIT", 2)
    values = read_yaml(ROOT / "params.yaml")
    values["index"] |= INDEX.model_dump()
    (workdir / "params.yaml").write_text(json.dumps(values))
    write_corpus(workdir / "data" / "ingest" / "corpus", TEXTS)
    assert "models/base/sentence_encoder: no such model directory" in refused_stage("index")
    (workdir / "models" / "base").mkdir(parents=True)
    (workdir / "models" / "base" / "sentence_encoder").symlink_to(encoder)
    expected = build(workdir / "data/ingest/corpus", encoder, workdir / "expected/index", INDEX, 1)
    with units_added(kill_after=2):
        run_stage("index")
    assert not (workdir / "data/index").exists()
    with units_added() as added:
        done = run_stage("index")
    assert done.returncode == 0, done.stderr
    assert added == list(range(2, -(-expected.passages // 2))) != [], "nothing is encoded twice"
    assert contents(workdir / "data/index") == contents(workdir / "expected/index")
    facts = json.loads((workdir / "data" / "metrics" / "index.json").read_text())
    found = (facts["rows_in"], facts["rows_out"], facts["rows_rejected"], facts["passages"])
    assert found == (4, 3, 1, expected.passages)
    assert (facts["pieces"], facts["dropped"], facts["dense"]) == (expected.passages, {}, "flat")
    assert not (workdir / ".nightjar" / "checkpoints" / "index").exists()
