"""Extractive readers against transformers' own tokenizer and model, and a search through every span."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForQuestionAnswering,
    AutoTokenizer,
    BertConfig,
    BertModel,
    RobertaConfig,
    RobertaModel,
    XLMConfig,
    XLMForQuestionAnsweringSimple,
    XLNetConfig,
    XLNetModel,
)

from nightjar.core.errors import NightjarError
from nightjar.models.directory.weights import is_extractive, write_checksums
from nightjar.models.extractive_reader import (
    LONGEST,
    LONGEST_ANSWER,
    STRIDE,
    ExtractiveReader,
    load_extractive_reader,
    titled_passage,
)
from tests import made_tokenizers, tiny_models

LONG = " ".join(f"word{number}" for number in range(150))
ASKED = [
    ("Where was Ada born?", "Ada > Ada was born in Norwood in 1874."),
    ("Who?", "x"),
    ("What follows? " * 40, LONG),
    ("Where?", LONG),
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    tiny_models.sentence_encoder(folder)
    write_checksums(folder)
    return folder


@pytest.fixture(scope="module")
def folder(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model for question answering with the encoder's weights and a random head."""
    made = tmp_path_factory.mktemp("reader")
    torch.manual_seed(0)
    reader = load_extractive_reader(encoder, fresh=True)
    reader.model.qa_outputs.weight.data *= 50
    reader.model.save_pretrained(made)
    for file in encoder.glob("tokenizer*"):
        (made / file.name).write_bytes(file.read_bytes())
    write_checksums(made)
    return made


@pytest.fixture(scope="module")
def reader(folder: Path) -> ExtractiveReader:
    return load_extractive_reader(folder)


def plain(folder: Path, question: str, passage: str) -> tuple[str, float]:
    """The best span by transformers' tokenizer and one pass a window, every span compared."""
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    model = AutoModelForQuestionAnswering.from_pretrained(str(folder)).eval()
    ids = tokenizer(question, add_special_tokens=False)["input_ids"][:64]
    text = tokenizer(passage, add_special_tokens=False, return_offsets_mapping=True)
    ends = tokenizer("a", "b")["input_ids"]
    around = len(ends) - 2
    room = LONGEST - len(ids) - around
    best, first = ("", -float("inf")), 0
    while True:
        own = text["input_ids"][first : first + room]
        # The tiny tokenizer puts nothing around its texts.
        whole = torch.tensor([[*ids, *own]])
        types = torch.tensor([[0] * len(ids) + [1] * len(own)])
        with torch.no_grad():
            made = model(input_ids=whole, token_type_ids=types)
        start, end = made.start_logits[0], made.end_logits[0]
        for one in range(len(own)):
            for last in range(one, min(one + LONGEST_ANSWER, len(own))):
                score = float(start[len(ids) + one] + end[len(ids) + last] - start[0] - end[0])
                if score > best[1]:
                    offsets = text["offset_mapping"][first : first + room]
                    best = passage[offsets[one][0] : offsets[last][1]], score
        if first + room >= len(text["input_ids"]):
            return best
        first += room - min(STRIDE, room // 2)


def test_the_best_span_is_that_of_a_search_through_all(folder: Path, reader: ExtractiveReader) -> None:
    found = reader.spans(ASKED)
    for (question, passage), span in zip(ASKED, found, strict=True):
        text, score = plain(folder, question, passage)
        assert span.text == text.strip() and span.score == pytest.approx(score, abs=1e-4)


def test_windows_cover_the_passage_and_find_an_answer(reader: ExtractiveReader) -> None:
    windows = reader.windows("Where?", LONG)
    assert len(windows) > 1 and all(len(one.ids) <= LONGEST for one in windows)
    start = LONG.index("word120")
    inside = [one.tokens(start, start + 7) for one in windows]
    assert any(inside) and not all(inside)
    for window, tokens in zip(windows, inside, strict=True):
        if tokens:
            first, last = (place - window.places.start for place in tokens)
            assert LONG[window.offsets[first][0] : window.offsets[last][1]].strip() == "word120"


def test_an_empty_passage_has_no_span(reader: ExtractiveReader) -> None:
    assert [span.text for span in reader.spans([("Who?", ""), ("Who?", "a")])] == ["", "a"]
    assert reader.spans([]) == []


def test_which_models_point_at_answers(encoder: Path, folder: Path, tmp_path: Path) -> None:
    assert is_extractive(folder) and not is_extractive(encoder) and not is_extractive(tmp_path)
    with pytest.raises(NightjarError, match=r"tensors missing: qa_outputs"):
        load_extractive_reader(encoder)


def test_a_fresh_head_keeps_the_encoder(encoder: Path) -> None:
    plain, fresh = load_extractive_reader(encoder, fresh=True), load_extractive_reader(encoder, fresh=True)
    own, other = plain.model.base_model.state_dict(), fresh.model.base_model.state_dict()
    assert own.keys() == other.keys() and all(torch.equal(own[name], other[name]) for name in own)
    assert not torch.equal(plain.model.qa_outputs.weight, fresh.model.qa_outputs.weight)


def test_how_a_passage_is_shown() -> None:
    assert (
        titled_passage(" Ada ", "A painter.") == "Ada > A painter."
        and titled_passage("", "A painter.") == "A painter."
    )


SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}


def saved(model: Any, folder: Path) -> ExtractiveReader:
    """A fresh reader of an encoder with the tiny tokenizer, unless the folder has one."""
    model.save_pretrained(folder)
    if not (folder / "tokenizer.json").exists():
        tiny_models._tokenizer(folder)
    write_checksums(folder)
    return load_extractive_reader(folder, fresh=True)


@pytest.mark.parametrize(
    ("model", "longest"),
    [
        (lambda: BertModel(BertConfig(vocab_size=400, max_position_embeddings=40, **SIZES)), 40),
        (
            lambda: XLNetModel(XLNetConfig(vocab_size=400, d_model=32, n_layer=2, n_head=4, d_inner=48)),
            LONGEST,
        ),
    ],
    ids=["few positions", "relative positions"],
)
def test_a_question_leaves_room_for_the_passage(model: Any, longest: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    reader = saved(model(), tmp_path)
    windows = reader.windows("What follows? " * 40, LONG)
    assert max(len(one.ids) for one in windows) == longest and all(one.places for one in windows)
    ends = [one.offsets[-1][1] for one in windows]
    assert ends == sorted(set(ends)) and ends[-1] == len(LONG)
    assert reader.spans([("What follows? " * 40, LONG)])[0].text


def test_roberta(tmp_path: Path) -> None:
    """Four special tokens around a pair, no types, blanks in the tokens, and positions after that of the padding."""
    vocabulary = made_tokenizers.roberta(tmp_path)
    config = RobertaConfig(vocab_size=vocabulary, max_position_embeddings=130, type_vocab_size=1, **SIZES)
    torch.manual_seed(0)
    reader = saved(RobertaModel(config, add_pooling_layer=False), tmp_path)
    (window,) = reader.windows("Where?", "Ada was born in Norwood")
    asked = len(window.ids) - len(window.places) - 4
    assert window.ids[0] == 0 and window.ids[asked + 1 : asked + 3] == [2, 2] and window.ids[-1] == 2
    spans = [window.offsets[place - window.places.start] for place in window.tokens(16, 23)]
    assert (spans[0][0], spans[-1][1]) == (15, 23)
    assert max(len(one.ids) for one in reader.windows("Where?", LONG)) == 128
    assert reader.spans([("Where?", LONG)])[0].text
    answers = [span.text for span in reader.spans([("Where?", " a" * n) for n in range(1, 9)])]
    assert answers == [text.strip() for text in answers]


def test_a_model_of_xlm_points_at_answers_too(tmp_path: Path) -> None:
    config = XLMConfig(vocab_size=400, emb_dim=32, n_layers=2, n_heads=4, pad_index=0)
    XLMForQuestionAnsweringSimple(config).save_pretrained(tmp_path)
    assert is_extractive(tmp_path)
