"""Question answering: what the model reads, and what it is not asked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
import torch

from nightjar.core.errors import NightjarError
from nightjar.models import extractive_reader
from nightjar.models.engine.loading import load
from nightjar.search.lexical import LexicalIndex
from nightjar.tools import Call, Text, Toolbox, ToolRequest, make
from nightjar.tools.line_generation import generate_lines
from nightjar.tools.passage_store import PassageSearch
from nightjar.tools.question_answering import HEAD, LONGEST, QuestionAnswering, prompt
from nightjar.tools.reader import Reader
from tests import tiny_models
from tests.nightjar.tools.test_wiki_search import corpus


def passages(*rows: tuple[str, str]) -> PassageSearch:
    table = pa.Table.from_pylist(
        [{"document_id": title, "title": title, "text": text} for title, text in rows]
    )
    return PassageSearch(table, LexicalIndex.build(f"{title}\n{text}" for title, text in rows), "1")


def test_what_the_model_reads() -> None:
    found = [("Best", "The best\npassage."), ("", "The next " + "word " * 200)]
    generate_lines = prompt("Which is\nbest?", found).split("\n")
    assert generate_lines[0].startswith("Passage: The next word") and len(generate_lines[0].split()) == 101
    assert generate_lines[1:] == ["Passage: Best > The best passage.", "Question: Which is best?", "Answer:"]
    assert HEAD.endswith("\n\n") and HEAD.count("Passage: ") == HEAD.count("Question: ") == HEAD.count(
        "Answer: "
    )


def test_results(tiny_model: Path, tmp_path: Path) -> None:
    settings = {"model": str(tiny_model), "passages": 2}
    tool = make("question_answering", corpus(tmp_path / "corpus"), settings)
    assert tool.suits(Text("anything"), 0.5)
    shown = "The harbour museum opened in 1994."
    questions = ("Where is the harbour?", "zzz", "x" * (LONGEST + 1), "")
    asked = [ToolRequest(question) for question in questions]
    answers = tool.run([*asked, ToolRequest("harbour", text=shown)])
    assert answers[1:4] == [None] * 3
    lm = load(tiny_model)
    # The tiny model answers nonsense: what it was given decides.
    best = [("Harbour", shown), ("Harbour", "Boats lie in the harbour.")]
    assert answers[0] == generate_lines(lm, HEAD, [prompt("Where is the harbour?", best)], 16)[0]
    assert answers[4] == generate_lines(lm, HEAD, [prompt("harbour", best[1:])], 16)[0]
    assert "too long" in tool.why(asked[2])
    (boxed,) = Toolbox([tool]).run([Call("QA", "Where is the harbour?")])
    assert boxed == " ".join((answers[0] or "").split())


def test_the_version_follows_the_model_and_the_settings(tiny_model: Path) -> None:
    reader = Reader(str(tiny_model), HEAD)
    versions = {QuestionAnswering(passages(("a", "b")), reader, most).version for most in (1, 2)}
    assert len(versions) == 2 and all(reader.sha256[:16] in version for version in versions)


def test_an_extractive_model_points_at_the_answer(tmp_path: Path) -> None:
    encoder, folder = tmp_path / "encoder", tmp_path / "reader"
    encoder.mkdir()
    tiny_models.sentence_encoder(encoder)
    torch.manual_seed(0)
    reader = extractive_reader.load_extractive_reader(encoder, fresh=True)
    reader.model.save_pretrained(folder)
    for file in encoder.glob("tokenizer*"):
        shutil.copy(file, folder)
    settings = {"model": str(folder), "passages": 2}
    tool = make("question_answering", corpus(tmp_path / "corpus"), settings)
    asked = [
        ToolRequest("Where is the harbour?"),
        ToolRequest("zzz"),
        ToolRequest("x" * (LONGEST + 1)),
        ToolRequest("the museum"),
    ]
    texts = ["The harbour museum opened in 1994.", "Boats lie in the harbour."]
    found = reader.spans([(asked[0].input, f"Harbour > {text}") for text in texts])
    best = max(found, key=lambda span: span.score)
    answers = tool.run(asked)
    assert answers[:3] == [best.text if best.score > 0 else None, None, None]
    assert extractive_reader.load_extractive_reader(folder).sha256[:16] in tool.version
    # It declines unless the score is above the threshold.
    for threshold, answer in ((best.score - 0.01, best.text), (best.score + 0.01, None)):
        declining = make(
            "question_answering", corpus(tmp_path / "corpus"), settings | {"threshold": threshold}
        )
        assert declining.run(asked[:1]) == [answer] and declining.version != tool.version


def test_a_language_model_has_no_threshold(tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="a language model has no threshold"):
        make("question_answering", corpus(tmp_path), {"model": str(tiny_model), "threshold": 1.0})
