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
from nightjar.search import lexical, postings
from nightjar.search.lexical import LexicalIndex, Mode, blank_separated
from nightjar.search.words import words

# Few words, so that some stand in more than half of the passages, where the two idfs part.
TEXTS = st.lists(st.text(st.sampled_from("abcde "), max_size=12), min_size=1, max_size=8)


def _ranked(scores: np.ndarray, candidates: list[int], k: int) -> list[int]:
    return sorted(candidates, key=lambda number: (-scores[number], number))[:k]


@given(TEXTS, st.text(st.sampled_from("aAbc. \n"), max_size=12), st.integers(1, 9))
def test_the_published_mode_is_rank_bm25_on_blank_separated_words(
    texts: list[str], query: str, k: int
) -> None:
    expected = BM25Okapi([text.split(" ") for text in texts]).get_scores(query.split(" "))
    index = LexicalIndex.build(texts, "published")
    ids, scores = index.search([query, ""], k)
    # The order of rank_bm25's get_top_n. Rounded: equal scores added up in another order differ in the last bit.
    best = np.argsort(expected.round(9), kind="stable")[::-1][:k]
    assert ids[0, : len(best)].tolist() == best.tolist() and (ids[0, len(best) :] == -1).all()
    assert np.allclose(scores[0, : len(best)], expected[best], rtol=0, atol=1e-9)


def test_words_of_the_published_mode() -> None:
    assert blank_separated("The  DON'T\n3.5% Zürich, ") == ["The", "", "DON'T\n3.5%", "Zürich,", ""]
    index = LexicalIndex.build(["The cat", "the cat", "the dog"], "published")
    assert index.search(["The", "dog", "bird"], 3).ids.tolist() == [[0, 2, 1], [2, 1, 0], [2, 1, 0]]
    assert LexicalIndex.build(["", " "], "published").search(["x"], 2).ids.tolist() == [[1, 0]]


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
    for query, ranking in zip(queries, index.search(queries, 50).lists(), strict=True):
        expected = reference.get_scores(words(query))
        shared = [number for number, text in enumerate(texts) if set(words(text)) & set(words(query))]
        # Rounded, as equal scores that were added up in another order differ in the last bit.
        assert [number for number, _ in ranking] == _ranked(expected.round(9), shared, 50)
        assert np.allclose([score for _, score in ranking], [expected[number] for number, _ in ranking])


def test_queries_are_split_as_passages_are() -> None:
    index = LexicalIndex.build(["कुतुब कुतुब", "किताब", "Cafe\u0301", "Köln"])
    rankings = index.search(["किताब", "café", "ko\u0308ln", "cafe", "क"], 4).lists()
    assert [[number for number, _ in ranking] for ranking in rankings] == [[1], [2], [3], [], []]


def test_only_passages_that_share_a_word() -> None:
    index = LexicalIndex.build(["the cat", "the dog", "", "a bird"])
    ids, scores = index.search(["dog the"], 9)
    assert (ids.shape, ids.dtype, scores.shape, scores.dtype) == ((1, 9), np.int64, (1, 9), np.float64)
    assert ids[0].tolist() == [1, 0, -1, -1, -1, -1, -1, -1, -1]
    assert np.isneginf(scores[0, 2:]).all() and np.isfinite(scores[0, :2]).all()
    assert index.search(["fish", "", "..."], 9).lists() == [[], [], []]
    assert index.search([], 9).ids.shape == (0, 9)


@pytest.mark.parametrize("mode", ["words", "published"])
def test_saved_without_pickle_and_read_back(mode: Mode, tmp_path: Path) -> None:
    texts = ["Nightjars hunt moths", "moths fly —  by night", "the night\nis long", "naïve 南京", ""]
    index = LexicalIndex.build(texts, mode)
    for name in ("first", "second"):
        LexicalIndex.write(texts, tmp_path / name, mode)
    files = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert {Path(name).suffix for name in files} == {".npy", ".json"}
    for name in files:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
        if name.endswith(".npy"):
            assert np.load(tmp_path / "first" / name, allow_pickle=False).dtype != object
    loaded = LexicalIndex.load(tmp_path / "first")
    queries = ["night moths", "naïve", "nothing", "Nightjars", "night\nis "]
    assert loaded.search(queries, 5).lists() == index.search(queries, 5).lists()
    assert (len(loaded), loaded.mode) == (5, mode)


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no word"):
        LexicalIndex.build(["", "..."])
    with pytest.raises(NightjarError, match="no lexical index"):
        LexicalIndex.load(tmp_path)
    LexicalIndex.write(["a b"], tmp_path)
    (tmp_path / "mode.json").write_text('{"mode": "letters"}')
    with pytest.raises(NightjarError, match="no record of how this lexical index splits"):
        LexicalIndex.load(tmp_path)


@pytest.mark.parametrize("damage", ["objects", "shorter", "cut off", "another type"])
def test_a_damaged_index_is_one_line(damage: str, tmp_path: Path) -> None:
    LexicalIndex.write(["a b", "c", "d", "e"], tmp_path)
    for file in sorted(tmp_path.glob("*.npy")):
        whole = file.read_bytes()
        values = np.load(file)
        other = np.zeros(values.shape, np.float16)
        if damage == "cut off":
            file.write_bytes(whole[:20])
        elif damage == "objects":
            np.save(file, np.array([{}], dtype=object), allow_pickle=True)
        elif len(values) or damage == "another type":
            np.save(file, values[:-1] if damage == "shorter" else other)
        else:
            continue
        with pytest.raises(NightjarError, match="unreadable lexical index"):
            LexicalIndex.load(tmp_path)
        file.write_bytes(whole)
    assert LexicalIndex.load(tmp_path).search(["c"], 1).ids.tolist() == [[1]]


@pytest.mark.parametrize("mode", ["words", "published"])
@given(st.lists(st.text(st.sampled_from("abcdefgh "), max_size=9), min_size=8, max_size=40), st.data())
def test_windows_and_blocks_change_no_ranking(mode: Mode, texts: list[str], data: st.DataObject) -> None:
    """Windows of passages, blocks of words and runs on disk that are smaller than the texts, against the formula."""
    split = words if mode == "words" else blank_separated
    assume(any(split(text) for text in texts))
    query, k = data.draw(st.text(st.sampled_from("abcdefgh "), max_size=9)), data.draw(st.integers(1, 6))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical, "WINDOW", data.draw(st.integers(3, 9)))
        patch.setattr(lexical, "OFTEN", data.draw(st.integers(0, 8)))
        patch.setattr(lexical, "FEW", data.draw(st.integers(0, 4)))
        patch.setattr(postings, "BLOCK", data.draw(st.integers(1, 30)))
        ranking = LexicalIndex.build(texts, mode).search([query], k).lists()[0]
    scores = BM25Okapi([split(text) for text in texts]).get_scores(split(query)).round(9)
    shared = [
        n for n, text in enumerate(texts) if mode == "published" or set(split(text)) & set(split(query))
    ]
    best = sorted(shared, key=lambda n: (-scores[n], -n if mode == "published" else n))[:k]
    assert [number for number, _ in ranking] == best
    assert [score for _, score in ranking] == pytest.approx(scores[best].tolist(), abs=1e-9)
