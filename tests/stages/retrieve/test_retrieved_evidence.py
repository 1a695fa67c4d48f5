"""The retrieve stage against rankings made from scratch: cosines by numpy, scores by rank_bm25."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rank_bm25 import BM25Okapi
from safetensors.torch import load_file, save_file

from nightjar.benchmarks import registry
from nightjar.benchmarks.question import Question
from nightjar.core.contracts import DEV, DEV_QUESTIONS, EVIDENCE, QUESTIONS, TRAIN, TRAIN_QUESTIONS
from nightjar.core.errors import NightjarError
from nightjar.core.identity import contents
from nightjar.core.tables import ArtifactWriter, read_rejected, read_rows
from nightjar.params.search import Index, Retrieval
from nightjar.search.encoder import SentenceEncoder
from nightjar.search.rankings import read_rankings
from nightjar.search.words import words
from stages.index.passage_index import build
from stages.retrieve.retrieved_evidence import EvidenceFacts, sources, write_evidence
from stages.retrieve.retriever import Retriever
from tests.in_process import refused_stage, run_stage
from tests.questions import question, write_questions
from tests.stages.rows import instance, write_documents
from tests.tiny_models import sentence_encoder

ROOT = Path(__file__).parents[3]
BENCHMARK = registry.load_benchmark("supernatinst")
INDEX = Index(passage_words=100, dense="flat", lexical="words")
TEXTS = [
    "Nightjars hunt moths at dusk.",
    "Two eggs lie on the bare ground.",
    "The moon lights the heath.",
    "A churring song carries far on a still night.",
    "Moths fly to the light of a lamp.",
    "Cattle were said to lose their milk to the bird.",
]
TRAIN_INPUTS = ["Where do the eggs lie?", "What hunts moths at dusk?", "Where do the eggs lie?"]
DEV_INPUTS = ["Where is the bare ground?"]
TEST_INPUTS = ["moths and light", "??", "the song of a still night"]


def _row(id: str, input: str) -> dict[str, Any]:
    return instance("t", id, input, "SECRET moths")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with index, split and encoder. Titles are empty, so that what is indexed is the text."""
    root = tmp_path_factory.mktemp("made")
    sentence_encoder(root / "encoder")
    write_documents(root / "corpus", TEXTS)
    build(root / "corpus", root / "encoder", root / "index", INDEX, 1)
    with ArtifactWriter(root / "split") as writer:
        writer.write(TRAIN, [_row(str(i), text) for i, text in enumerate(TRAIN_INPUTS)])
        writer.write(DEV, [_row(f"d{i}", text) for i, text in enumerate(DEV_INPUTS)])
    tests = [question(_row(f"x{i}", text)) for i, text in enumerate(TEST_INPUTS)]
    write_questions(root / "questions", tests)
    return root


def wanted(passages: int, **more: Any) -> Retrieval:
    return Retrieval(training="data/split", passages=passages, retriever="dense", **more)


def write(retriever: Retriever, made: Path, output: Path, passages: int, **per_part: int) -> EvidenceFacts:
    sides = sources(BENCHMARK, made / "questions", made / "split")
    return write_evidence(retriever, BENCHMARK, sides, output, wanted(passages), **per_part)


def numbers(retriever: Retriever, texts: list[str], k: int, beside: float = 0) -> list[list[int]]:
    """The passages found for each text, best first."""
    rankings = retriever.rank(texts, k, beside).rankings
    return [[number for number, _ in ranking] for ranking in rankings.lists()]


def _expected(made: Path, kind: str, query: str, texts: Sequence[str] = TEXTS) -> list[tuple[int, float]]:
    """The whole ranking of the texts for one query."""
    encoder = SentenceEncoder(made / "encoder")
    cosines = encoder.encode(texts) @ encoder.encode([query])[0]
    dense = sorted(enumerate(cosines.tolist()), key=lambda hit: -hit[1])
    bm25 = BM25Okapi([words(text) for text in texts]).get_scores(words(query)).round(9)
    shared = [i for i, text in enumerate(texts) if set(words(text)) & set(words(query))]
    lexical = sorted(((i, bm25[i]) for i in shared), key=lambda hit: (-hit[1], hit[0]))
    if kind != "hybrid":
        return dense if kind == "dense" else lexical
    ranks = [{number: rank for rank, (number, _) in enumerate(ranking, 1)} for ranking in (dense, lexical)]
    fused = {i: sum(1 / (60 + rank[i]) for rank in ranks if i in rank) for i in range(len(texts))}
    return sorted(fused.items(), key=lambda hit: (-hit[1], hit[0]))


@pytest.mark.parametrize("kind", ["dense", "bm25", "hybrid"])
@pytest.mark.parametrize("per_part", [2, 8192])
def test_evidence(kind: str, per_part: int, made: Path, tmp_path: Path) -> None:
    retriever = Retriever(made / "index", made / "encoder", kind)
    facts = write(retriever, made, tmp_path / "retrieve", 2, per_part=per_part)
    rows = read_rows(tmp_path / "retrieve", EVIDENCE)
    inputs = {("train", str(i)): text for i, text in enumerate(TRAIN_INPUTS)}
    inputs |= {("dev", f"d{i}"): text for i, text in enumerate(DEV_INPUTS)}
    inputs |= {("test", f"x{i}"): text for i, text in enumerate(TEST_INPUTS)}
    for (split, id), query in inputs.items():
        own = sorted(
            (row for row in rows if (row["split"], row["id"]) == (split, id)), key=lambda row: row["rank"]
        )
        expected = _expected(made, kind, query)[:2]
        assert [row["rank"] for row in own] == list(range(1, len(expected) + 1))
        assert [row["passage"] for row in own] == [number for number, _ in expected]
        assert np.allclose([row["score"] for row in own], [score for _, score in expected], atol=1e-5)
        assert [(row["text"], row["document_id"]) for row in own] == [
            (TEXTS[n], f"d{n}") for n, _ in expected
        ]
    rejected = read_rejected(tmp_path / "retrieve").to_pylist()
    assert [row["id"] for row in rejected] == (["x1"] if kind == "bm25" else [])
    assert (facts.queries, facts.answered + facts.rejected, facts.rejected) == (7, 7, len(rejected))
    assert facts.rows == len(rows)


@pytest.mark.parametrize("kind", ["dense", "bm25", "hybrid"])
def test_a_passage_of_the_input_itself_is_no_evidence(kind: str, made: Path) -> None:
    """A corpus made of training inputs holds the input that is asked for."""
    query = f"Read this. {TEXTS[4]} What flies?"
    (found,) = numbers(Retriever(made / "index", made / "encoder", kind), [query], 2)
    assert _expected(made, kind, query)[0][0] == 4, "it would be the first"
    expected = [number for number, _ in _expected(made, kind, query) if number != 4][:2]
    assert found == expected


@pytest.mark.parametrize("kind", ["dense", "bm25"])
def test_a_long_input_has_as_many_passages_as_any_other(kind: str, made: Path) -> None:
    """The first passages down to the usual depth are all its own."""
    query = f"{TEXTS[4]} {TEXTS[0]} {TEXTS[2]}"
    found = numbers(Retriever(made / "index", made / "encoder", kind), [query, "the moon"], 2)
    for ranking, text in zip(found, (query, "the moon"), strict=True):
        expected = [number for number, _ in _expected(made, kind, text) if TEXTS[number] not in text]
        assert ranking == expected[:2]


def test_the_same_bytes_twice(made: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        retriever = Retriever(made / "index", made / "encoder", "hybrid")
        write(retriever, made, tmp_path / name / "retrieve", 3)
    assert contents(tmp_path / "first/retrieve") == contents(tmp_path / "second/retrieve")


@pytest.mark.parametrize("kind", ["dense", "hybrid"])
def test_another_encoder_of_the_same_dimension_is_refused(kind: str, made: Path, tmp_path: Path) -> None:
    """Its vectors have the right length, but mean something else."""
    other = shutil.copytree(made / "encoder", tmp_path / "encoder")
    weights = load_file(other / "model.safetensors")
    save_file(
        {name: -tensor for name, tensor in weights.items()}, other / "model.safetensors", {"format": "pt"}
    )
    with pytest.raises(NightjarError, match=r"built with another encoder \(sha256 ") as caught:
        Retriever(made / "index", other, kind)
    assert "rebuild index" in caught.value.fix
    # Another greatest length cuts other texts.
    shutil.copyfile(made / "encoder" / "model.safetensors", other / "model.safetensors")
    (other / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    with pytest.raises(NightjarError, match=r"built with another encoder \(max_length 512, here 8\)"):
        Retriever(made / "index", other, kind)


def test_bm25_needs_neither_encoder_nor_large_libraries(made: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from stages.retrieve.retriever import Retriever\n"
        "print(Retriever(Path(sys.argv[1]), Path('no encoder'), 'bm25').rank(['moths'], 1).rankings.ids.tolist())\n"
        "print(sorted({'torch', 'transformers', 'faiss'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(made / "index")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[[0]]\n[]\n", "")


def test_the_published_lexical_mode_is_kept_with_the_index(made: Path, tmp_path: Path) -> None:
    settings = INDEX.model_copy(update={"lexical": "published"})
    build(made / "corpus", made / "encoder", tmp_path / "index", settings, 1)
    scores = BM25Okapi([text.split(" ") for text in TEXTS]).get_scores(["Moths"])
    expected = np.argsort(scores.round(9), kind="stable")[::-1]
    (found,) = numbers(Retriever(tmp_path / "index", made / "encoder", "bm25"), ["Moths"], 6)
    assert found == expected.tolist()


def test_vectors_of_another_index_are_refused(made: Path, tmp_path: Path) -> None:
    write_documents(tmp_path / "corpus", ["one two three"])
    short = INDEX.model_copy(update={"passage_words": 1})
    build(tmp_path / "corpus", made / "encoder", tmp_path / "index", short, 1)
    shutil.rmtree(tmp_path / "index" / "dense")
    shutil.copytree(made / "index" / "dense", tmp_path / "index" / "dense")
    with pytest.raises(NightjarError, match="do not match"):
        Retriever(tmp_path / "index", made / "encoder", "hybrid")


def test_as_a_stage(made: Path, workdir: Path) -> None:
    (workdir / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    links = {"models/base/sentence_encoder": "encoder", "data/split": "split"}
    for place, name in (links | {"data/questions/supernatinst": "questions"}).items():
        (workdir / place).parent.mkdir(parents=True, exist_ok=True)
        (workdir / place).symlink_to(made / name)
    refused_stage("retrieve", "sonnets")
    assert "data/index/passages: no such table" in refused_stage("retrieve", "supernatinst")
    (workdir / "data" / "index").symlink_to(made / "index")
    done = run_stage("retrieve", "supernatinst")
    assert done.returncode == 0, done.stderr
    facts = json.loads((workdir / "data" / "metrics" / "retrieve-supernatinst.json").read_text())
    assert (facts["rows_in"], facts["rows_out"], facts["rows_rejected"]) == (7, 7, 0)


# A corpus with sentences of the benchmark: one is equal but for case and blanks, one has its label beside it, and one
# is a part of a test sentence.
ASKED = {"train": "The plot is thin.", "dev": "I laughed a lot.", "test": "a warm,  funny film about Loss"}
CORPUS = [
    "A warm, funny film about loss",
    "1\ta warm , funny film about loss",
    "funny film",
    "A warm coat and a funny hat.",
    "The plot is thin. Negative",
    "Nothing of this is in a question: the plot thickens.",
]


@pytest.fixture(scope="module")
def leaking(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("leaking")
    write_documents(root / "corpus", CORPUS)
    build(root / "corpus", made / "encoder", root / "index", INDEX, 1)
    with ArtifactWriter(root / "questions") as writer:
        for side, table in (("train", TRAIN_QUESTIONS), ("dev", DEV_QUESTIONS), ("test", QUESTIONS)):
            one = Question("classification", "sst2", f"{side}-1", {"text": ASKED[side]}, ("positive",))
            writer.write(table, [one.row()])
    return root


@pytest.mark.parametrize("kind", ["dense", "bm25", "hybrid"])
def test_no_label_leaks_from_a_corpus_with_the_test_sentences(
    kind: str, made: Path, leaking: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    card = registry.load_benchmark("classification")
    retriever = Retriever(leaking / "index", made / "encoder", kind)
    sides = sources(card, leaking / "questions", None)
    with caplog.at_level(logging.WARNING, "nightjar"):
        facts = write_evidence(retriever, card, sides, tmp_path / "out", wanted(50))
    assert [record.getMessage() for record in caplog.records] == [
        "retrieve: 50 passages are wanted, the index has 6: no text gets more",
        "retrieve: passages that are equal to test texts, and left out there: 1",
    ]
    # Passages 0 to 2 belong to the test question, 4 to the training question.
    assert (facts.queries, facts.answered, facts.rejected, facts.rows) == (3, 3, 0, 3)
    assert (facts.left_out, facts.equal_to_test) == (4, 1)
    found = {side: read_rankings(tmp_path / "out", side)["sst2", f"{side}-1"] for side in ASKED}  # type: ignore[arg-type]
    own = {"train": {4}, "dev": set(), "test": {0, 1, 2}}
    for side, query in ASKED.items():
        ranking = _expected(made, kind, query, CORPUS)
        expected = [number for number, _ in ranking if number not in own[side]]
        assert found[side][0].tolist() == expected
        assert np.all(np.diff(found[side][1]) <= 0)


def test_a_passage_that_contains_the_text_is_evidence_elsewhere(made: Path) -> None:
    """A passage that says more than a question does may be its answer; only `beside` leaves it out."""
    retriever = Retriever(made / "index", made / "encoder", "bm25")
    assert numbers(retriever, ["lights the heath"], 9)[0][0] == 2
    assert 2 not in numbers(retriever, ["lights the heath"], 9, beside=2)[0]
    assert 2 in numbers(retriever, ["lights the heath"], 9, beside=1)[0]


@pytest.mark.parametrize(("leaves_out", "kept"), [("own", {1, 3, 4, 5}), ("containing", {3, 4, 5})])
def test_a_natural_passage_of_a_short_phrase_is_kept(
    leaves_out: str, kept: set[int], made: Path, leaking: Path, tmp_path: Path
) -> None:
    """Sentences contain a phrase of two or three words by chance."""
    phrase = Question("classification", "mpqa", "1", {"text": "a warm, funny film"}, ("positive",))
    with ArtifactWriter(tmp_path / "questions") as writer:
        writer.write(QUESTIONS, [phrase.row()])
        for table in (TRAIN_QUESTIONS, DEV_QUESTIONS):
            writer.write(table, [])
    retriever = Retriever(leaking / "index", made / "encoder", "dense")
    card = registry.load_benchmark("classification")
    settings = wanted(50, leaves_out=leaves_out)
    write_evidence(retriever, card, sources(card, tmp_path / "questions", None), tmp_path / "out", settings)
    numbers, _ = read_rankings(tmp_path / "out", "test")["mpqa", "1"]
    # Passage 2 is a part of the phrase. Passage 0 is the phrase and two words more, passage 1 has three more.
    assert set(numbers.tolist()) == kept
