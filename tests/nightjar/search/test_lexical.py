"""BM25 against rank_bm25's BM25Okapi, score by score, and against its full ranking."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from nightjar.core.errors import NightjarError
from nightjar.search.lexical import LexicalIndex, words

# Few words, so that some stand in more than half of the passages, where the two idfs part.
TEXTS = st.lists(st.text(st.sampled_from("abcde "), max_size=12), min_size=1, max_size=8)


def _ranked(scores: np.ndarray, candidates: list[int], k: int) -> list[int]:
    return sorted(candidates, key=lambda number: (-scores[number], number))[:k]


@given(TEXTS, st.text(st.sampled_from("abcdefg "), max_size=12))
def test_scores_of_any_texts(texts: list[str], query: str) -> None:
    tokens = [words(text) for text in texts]
    assume(any(tokens))
    expected = BM25Okapi(tokens).get_scores(words(query))
    assert np.allclose(LexicalIndex.build(texts).scores(query), expected, rtol=0, atol=1e-9)


@pytest.fixture(params=["sample", "real"])
def lines(request: pytest.FixtureRequest) -> list[str]:
    """Texts in natural language: the sample's in every clone, and real ones where they are at hand."""
    if request.param == "sample":
        file = request.getfixturevalue("sample") / "corpus" / "documents.jsonl"
        texts = (json.loads(line)["text"] for line in file.read_text("utf-8").splitlines())
        return [sentence for text in texts for sentence in text.split(". ")]
    file = request.getfixturevalue("real_data") / "classification" / "subj.objective"
    return file.read_text(encoding="latin-1").splitlines()


def test_scores_and_rankings_of_texts(lines: list[str]) -> None:
    texts, queries = lines[:1000], lines[1000:1020]
    assert len(texts) == 1000 and len(queries) == 20
    reference, index = BM25Okapi([words(text) for text in texts]), LexicalIndex.build(texts)
    for query, ranking in zip(queries, index.search(queries, 50), strict=True):
        expected = reference.get_scores(words(query))
        assert np.allclose(index.scores(query), expected, rtol=0, atol=1e-9)
        shared = [number for number, text in enumerate(texts) if set(words(text)) & set(words(query))]
        # Rounded, as equal scores that were added up in another order differ in the last bit.
        assert [number for number, _ in ranking] == _ranked(expected.round(9), shared, 50)
        assert np.allclose([score for _, score in ranking], [expected[number] for number, _ in ranking])


def test_words() -> None:
    assert words("The DON'T-do_it 3.5% Zürich, ИЗ 南京") == [
        "the",
        "don",
        "t",
        "do_it",
        "3",
        "5",
        "zürich",
        "из",
        "南京",
    ]
    assert words(" -- ") == []


def test_only_passages_that_share_a_word() -> None:
    index = LexicalIndex.build(["the cat", "the dog", "", "a bird"])
    assert [number for number, _ in index.search(["dog the"], 9)[0]] == [1, 0]
    assert index.search(["fish", "", "..."], 9) == [[], [], []]
    assert index.search([], 9) == []


def test_ties_are_in_the_order_of_the_numbers() -> None:
    index = LexicalIndex.build(["x y", "y z", "y z", "x y", "w"])
    assert [number for number, _ in index.search(["y"], 3)[0]] == [0, 1, 2]


def test_saved_without_pickle_and_read_back(tmp_path: Path) -> None:
    texts = ["Nightjars hunt moths", "moths fly — by night", "the night is long", "naïve 南京"]
    index = LexicalIndex.build(texts)
    for name in ("first", "second"):
        LexicalIndex.build(texts).save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert {Path(name).suffix for name in files} == {".npy", ".json"}
    for name in files:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
        if name.endswith(".npy"):
            assert np.load(tmp_path / "first" / name, allow_pickle=False).dtype != object
    loaded = LexicalIndex.load(tmp_path / "first")
    queries = ["night moths", "naïve", "nothing"]
    assert loaded.search(queries, 3) == index.search(queries, 3)
    assert len(loaded) == 4


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no word"):
        LexicalIndex.build(["", "..."])
    with pytest.raises(NightjarError, match="no lexical index"):
        LexicalIndex.load(tmp_path)
    LexicalIndex.build(["a b"]).save(tmp_path)
    objects = np.array([{}], dtype=object)
    np.save(tmp_path / "data.csc.index.npy", objects, allow_pickle=True)
    with pytest.raises(NightjarError, match="unreadable"):
        LexicalIndex.load(tmp_path)
