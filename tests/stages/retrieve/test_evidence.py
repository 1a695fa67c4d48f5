"""The retrieve stage against rankings made from scratch: cosines by numpy, scores by rank_bm25."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rank_bm25 import BM25Okapi
from safetensors.torch import load_file, save_file

from nightjar.core.contracts import DEV, DOCUMENTS, EVIDENCE, TRAIN
from nightjar.core.errors import NightjarError
from nightjar.core.params import Index
from nightjar.core.tables import ArtifactWriter, read_rejected, read_rows
from nightjar.search.encoder import SentenceEncoder
from nightjar.search.lexical import words
from stages.index.build import build
from stages.retrieve import evidence as evidence_module
from stages.retrieve import retriever as retriever_module
from stages.retrieve.evidence import Facts, write_evidence
from stages.retrieve.retriever import Retriever
from tests.in_process import run_stage
from tests.questions import question, write_questions
from tests.tiny_models import sentence_encoder

ROOT = Path(__file__).parents[3]
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


def _row(id: str, input: str, **more: str) -> dict[str, Any]:
    base = {"dataset": "natural_instructions", "file": "t.json", "task_id": "t", "id": id, "index": 0}
    return {**more, **base, "input": input, "outputs": ["SECRET moths"]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with index, split and encoder. Titles are empty, so that what is indexed is the text."""
    root = tmp_path_factory.mktemp("made")
    (root / "encoder").mkdir()
    sentence_encoder(root / "encoder")
    blank = {"dataset": "corpus", "file": "a.jsonl", "title": "", "url": "", "date": None}
    with ArtifactWriter(root / "corpus") as writer:
        writer.write(DOCUMENTS, [{**blank, "id": f"d{i}", "text": text} for i, text in enumerate(TEXTS)])
    build(root / "corpus", root / "encoder", root / "index", INDEX, 1)
    with ArtifactWriter(root / "split") as writer:
        writer.write(TRAIN, [_row(str(i), text) for i, text in enumerate(TRAIN_INPUTS)])
        writer.write(DEV, [_row(f"d{i}", text) for i, text in enumerate(DEV_INPUTS)])
    tests = [question(_row(f"x{i}", text)) for i, text in enumerate(TEST_INPUTS)]
    write_questions(root / "questions", tests)
    return root


def write(retriever: Retriever, made: Path, output: Path, passages: int) -> Facts:
    return write_evidence(retriever, made / "questions", made / "split", output, passages)


def _expected(made: Path, kind: str, query: str) -> list[tuple[int, float]]:
    """The whole ranking of the texts for one query."""
    encoder = SentenceEncoder(made / "encoder")
    cosines = encoder.encode(TEXTS) @ encoder.encode([query])[0]
    dense = sorted(enumerate(cosines.tolist()), key=lambda hit: -hit[1])
    bm25 = BM25Okapi([words(text) for text in TEXTS]).get_scores(words(query)).round(9)
    shared = [i for i, text in enumerate(TEXTS) if set(words(text)) & set(words(query))]
    lexical = sorted(((i, bm25[i]) for i in shared), key=lambda hit: (-hit[1], hit[0]))
    if kind != "hybrid":
        return dense if kind == "dense" else lexical
    ranks = [{number: rank for rank, (number, _) in enumerate(ranking, 1)} for ranking in (dense, lexical)]
    fused = {i: sum(1 / (60 + rank[i]) for rank in ranks if i in rank) for i in range(len(TEXTS))}
    return sorted(fused.items(), key=lambda hit: (-hit[1], hit[0]))


@pytest.mark.parametrize("kind", ["dense", "bm25", "hybrid"])
@pytest.mark.parametrize("per_part", [2, 8192])
def test_evidence(
    kind: str, per_part: int, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence_module, "QUERIES_PER_PART", per_part)
    retriever = Retriever(made / "index", made / "encoder", kind)
    facts = write(retriever, made, tmp_path / "retrieve", 2)
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
    assert facts.evidence == len(rows)


@pytest.mark.parametrize("kind", ["dense", "bm25", "hybrid"])
def test_a_passage_of_the_input_itself_is_no_evidence(kind: str, made: Path) -> None:
    """A corpus made of training inputs holds the input that is asked for."""
    query = f"Read this. {TEXTS[4]} What flies?"
    found = Retriever(made / "index", made / "encoder", kind).rank([query], 2)[0]
    assert _expected(made, kind, query)[0][0] == 4, "it would be the first"
    expected = [number for number, _ in _expected(made, kind, query) if number != 4][:2]
    assert [number for number, _ in found] == expected


@pytest.mark.parametrize("kind", ["dense", "bm25"])
def test_a_long_input_has_as_many_passages_as_any_other(
    kind: str, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first passages down to the usual depth are all its own."""
    monkeypatch.setattr(retriever_module, "DEPTH", 1)
    query = f"{TEXTS[4]} {TEXTS[0]} {TEXTS[2]}"
    found = Retriever(made / "index", made / "encoder", kind).rank([query, "the moon"], 2)
    for ranking, text in zip(found, (query, "the moon"), strict=True):
        expected = [number for number, _ in _expected(made, kind, text) if TEXTS[number] not in text]
        assert [number for number, _ in ranking] == expected[:2]


def test_the_same_bytes_twice(made: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        retriever = Retriever(made / "index", made / "encoder", "hybrid")
        write(retriever, made, tmp_path / name, 3)
    for path in (tmp_path / "first").rglob("*.parquet"):
        assert path.read_bytes() == (tmp_path / "second" / path.relative_to(tmp_path / "first")).read_bytes()


def test_references_play_no_part(made: Path) -> None:
    """The answer to the second training instance names moths; no query but the inputs is ever asked."""
    asked: list[str] = []
    retriever = Retriever(made / "index", made / "encoder", "bm25")
    rank = retriever.rank
    retriever.rank = lambda texts, k: (asked.extend(texts), rank(texts, k))[1]  # type: ignore[method-assign,func-returns-value]
    write(retriever, made, made / "asked", 1)
    assert asked == TRAIN_INPUTS + DEV_INPUTS + TEST_INPUTS


def test_questions_alone(made: Path, tmp_path: Path) -> None:
    retriever = Retriever(made / "index", made / "encoder", "dense")
    facts = write_evidence(retriever, made / "questions", None, tmp_path / "out", 1)
    assert facts.queries == len(TEST_INPUTS)
    assert {row["split"] for row in read_rows(tmp_path / "out", EVIDENCE)} == {"test"}


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
    assert "\n" not in str(caught.value) and "rebuild index" in caught.value.fix
    # Another greatest length cuts other texts.
    shutil.copyfile(made / "encoder" / "model.safetensors", other / "model.safetensors")
    (other / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    with pytest.raises(NightjarError, match=r"built with another encoder \(max_length 512, here 8\)"):
        Retriever(made / "index", other, kind)


def test_bm25_needs_neither_encoder_nor_large_libraries(made: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from stages.retrieve.retriever import Retriever\n"
        "print(Retriever(Path(sys.argv[1]), Path('no encoder'), 'bm25').rank(['moths'], 1)[0][0][0])\n"
        "print(sorted({'torch', 'transformers', 'faiss'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(made / "index")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("0\n[]\n", "")


def test_the_published_lexical_mode_is_kept_with_the_index(made: Path, tmp_path: Path) -> None:
    settings = INDEX.model_copy(update={"lexical": "published"})
    build(made / "corpus", made / "encoder", tmp_path / "index", settings, 1)
    scores = BM25Okapi([text.split(" ") for text in TEXTS]).get_scores(["Moths"])
    expected = np.argsort(scores.round(9), kind="stable")[::-1]
    found = Retriever(tmp_path / "index", made / "encoder", "bm25").rank(["Moths"], 6)[0]
    assert [number for number, _ in found] == expected.tolist()


def test_errors(made: Path, tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no such table"):
        Retriever(tmp_path, made / "encoder", "dense")
    blank = {"dataset": "corpus", "file": "a.jsonl", "title": "", "url": "", "date": None}
    with ArtifactWriter(tmp_path / "corpus") as writer:
        writer.write(DOCUMENTS, [{**blank, "id": "d", "text": "one two three"}])
    short = INDEX.model_copy(update={"passage_words": 1})
    build(tmp_path / "corpus", made / "encoder", tmp_path / "index", short, 1)
    shutil.rmtree(tmp_path / "index" / "dense")
    shutil.copytree(made / "index" / "dense", tmp_path / "index" / "dense")
    with pytest.raises(NightjarError, match="do not fit"):
        Retriever(tmp_path / "index", made / "encoder", "hybrid")


def test_as_a_stage(made: Path, workdir: Path) -> None:
    (workdir / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    (workdir / "models" / "base").mkdir(parents=True)
    (workdir / "data").mkdir()
    (workdir / "models" / "base" / "sentence_encoder").symlink_to(made / "encoder")
    (workdir / "data" / "split").symlink_to(made / "split")
    (workdir / "data" / "questions").mkdir()
    (workdir / "data" / "questions" / "supernatinst").symlink_to(made / "questions")
    assert run_stage("retrieve", "sonnets").returncode == 2
    failed = run_stage("retrieve", "supernatinst")
    assert failed.returncode == 2
    assert (
        failed.stderr
        == "nightjar: data/index/passages: no such table; run the stage that makes it: nightjar rebuild\n"
    )
    (workdir / "data" / "index").symlink_to(made / "index")
    done = run_stage("retrieve", "supernatinst")
    assert done.returncode == 0, done.stderr
    facts = json.loads((workdir / "data" / "metrics" / "retrieve-supernatinst.json").read_text())
    assert (facts["rows_in"], facts["rows_out"], facts["rows_rejected"]) == (7, 7, 0)
