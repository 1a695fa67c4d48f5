"""The ids of a reader: what is cut of an input, and the targets of a task."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from nightjar.core.errors import NightjarError
from nightjar.models.reader.reader_tokens import LONGEST_QUESTION, PADDED, ReaderTokenizer

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", *"abcdefgh"]


@pytest.fixture()
def tokens(tmp_path: Path) -> ReaderTokenizer:
    """Words of one letter, with BERT's special tokens."""
    backend = Tokenizer(
        models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    named = {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]", "pad_token": "[PAD]"}
    PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", **named).save_pretrained(tmp_path)
    return ReaderTokenizer(tmp_path)


def words(ids: list[int]) -> str:
    return " ".join(WORDS[one] for one in ids)


def test_the_passage_is_cut_and_the_question_is_not(tokens: ReaderTokenizer) -> None:
    question = "g h <extra_id_0>"
    text = f"a b c d e f {question}"
    assert words(tokens.input(text, question, 20)) == "[CLS] a b c d e f g h [MASK] [SEP]"
    assert words(tokens.input(text, question, 8)) == "[CLS] a b c g h [MASK] [SEP]"
    assert words(tokens.input(text, question, 5)) == "[CLS] g h [MASK] [SEP]"
    assert words(tokens.input(text, question, 3)) == "[CLS] g h [MASK] [SEP]"


def test_demonstrations_after_the_question_are_cut(tokens: ReaderTokenizer) -> None:
    question = "<extra_id_0> g"
    assert words(tokens.input(f"{question} a b c d", question, 7)) == "[CLS] [MASK] g a b c [SEP]"
    assert words(tokens.input(f"{question} a b c d", question, 2)) == "[CLS] [MASK] g [SEP]"


def test_only_an_endless_question_loses_its_middle(tokens: ReaderTokenizer) -> None:
    question = f"{'a ' * 5000}{'b ' * 5000}<extra_id_0>"
    found = words(tokens.input(f"c d {question}", question, 128)).split()
    assert len(found) == LONGEST_QUESTION
    assert found[:2] == ["[CLS]", "a"] and found[-3:] == ["b", "[MASK]", "[SEP]"]


def test_targets_share_what_the_decoder_reads_before(tokens: ReaderTokenizer) -> None:
    texts = {"one": "<extra_id_0> a <extra_id_1>", "two": "<extra_id_0> b c <extra_id_1>"}
    targets = tokens.targets(texts, tokens.start)
    assert targets.names == ("one", "two")
    assert words(targets.before[1].tolist()) == "[CLS] [MASK] b c"
    assert words(targets.before[0].tolist()[:3]) == "[CLS] [MASK] a"
    ids = targets.vocabulary.tolist()
    written = [[ids[place] for place in row if place != PADDED] for row in targets.places.tolist()]
    assert [words(row) for row in written] == ["[MASK] a [SEP]", "[MASK] b c [SEP]"]


def test_targets_that_cannot_be_told_apart_are_refused(tokens: ReaderTokenizer) -> None:
    with pytest.raises(NightjarError, match="two answers have the same target"):
        tokens.targets({"one": "x", "two": "y"}, 1)
    with pytest.raises(NightjarError, match="more than 64 tokens"):
        tokens.targets({"one": "a " * 70, "two": "b"}, 1)


def test_a_folder_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="cannot load this tokenizer"):
        ReaderTokenizer(tmp_path)
