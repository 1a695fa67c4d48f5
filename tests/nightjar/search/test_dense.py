"""FAISS against cosines by numpy, all pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from nightjar.core.errors import NightjarError
from nightjar.search.dense import DenseIndex


def _unit(count: int, seed: int, dimension: int = 24) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("queries", [1, 7, 50])  # FAISS takes another path from 20 queries on
def test_flat_is_the_brute_force(queries: int) -> None:
    vectors, wanted = _unit(500, 1), _unit(queries, 2)
    rankings = DenseIndex.build([vectors[:200], vectors[200:200], vectors[200:]]).search(wanted, 10)
    cosines = wanted.astype(np.float64) @ vectors.T.astype(np.float64)
    expected = np.argsort(-cosines, axis=1)[:, :10]
    assert [[number for number, _ in ranking] for ranking in rankings] == expected.tolist()
    scores = np.array([[score for _, score in ranking] for ranking in rankings])
    assert np.allclose(scores, np.take_along_axis(cosines, expected, axis=1), atol=1e-6)


def test_ties_are_in_the_order_of_the_numbers() -> None:
    vectors = np.repeat(_unit(3, 3), 3, axis=0)
    numbers = [number for number, _ in DenseIndex.build([vectors]).search(vectors[3:4], 3)[0]]
    assert numbers == [3, 4, 5]


def test_more_wanted_than_there_are() -> None:
    vectors = _unit(4, 4)
    assert sorted(number for number, _ in DenseIndex.build([vectors]).search(vectors[:1], 9)[0]) == [
        0,
        1,
        2,
        3,
    ]
    assert DenseIndex.build([vectors]).search(vectors[:0], 3) == []


def test_ivf_finds_most_of_what_flat_finds() -> None:
    """Vectors in clumps, as those of texts are."""
    centres, noise = _unit(60, 5), _unit(6000, 6)
    vectors = np.repeat(centres, 100, axis=0) + 0.5 * noise
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    flat, ivf = DenseIndex.build([vectors]), DenseIndex.build([vectors[:4000], vectors[4000:]], "ivf")
    assert len(ivf) == 6000
    pairs = zip(flat.search(vectors[::100], 10), ivf.search(vectors[::100], 10), strict=True)
    found = [len({n for n, _ in a} & {n for n, _ in b}) for a, b in pairs]
    assert sum(found) / (10 * len(found)) > 0.9
    assert ivf.search(vectors[:5], 3) == DenseIndex.build([vectors], "ivf").search(vectors[:5], 3)


def test_ivf_of_few_vectors() -> None:
    vectors = _unit(5, 7)
    assert [ranking[0][0] for ranking in DenseIndex.build([vectors], "ivf").search(vectors, 2)] == [
        0,
        1,
        2,
        3,
        4,
    ]


@pytest.mark.parametrize("kind", ["flat", "ivf"])
def test_saved_and_read_back(kind: str, tmp_path: Path) -> None:
    vectors = _unit(300, 8)
    for name in ("first", "second"):
        DenseIndex.build([vectors], kind).save(tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    loaded = DenseIndex.load(tmp_path / "first")
    assert loaded.search(vectors[:30], 5) == DenseIndex.build([vectors], kind).search(vectors[:30], 5)
    assert (len(loaded), loaded.dimension) == (300, 24)


@pytest.mark.parametrize("kind", ["flat", "ivf"])
def test_errors(kind: str, tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="nothing to index"):
        DenseIndex.build([], kind)
    with pytest.raises(NightjarError, match="no dense index"):
        DenseIndex.load(tmp_path / "absent")
    (tmp_path / "broken").write_bytes(b"not an index")
    with pytest.raises(NightjarError, match="unreadable"):
        DenseIndex.load(tmp_path / "broken")
