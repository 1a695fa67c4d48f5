"""FAISS against cosines by numpy, all pairs; and what a saved index knows of itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nightjar.core.errors import NightjarError
from nightjar.search.dense import DenseIndex

ENCODER = {"sha256": "a" * 64, "pooling": "mean", "normalised": True, "dimension": 24}


def _unit(count: int, seed: int, dimension: int = 24) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("queries", [1, 4, 5, 50])  # from 5 queries on, a matrix product is used
def test_flat_is_the_brute_force(queries: int) -> None:
    vectors, wanted = _unit(500, 1), _unit(queries, 2)
    index = DenseIndex.build([vectors[:200], vectors[200:200], vectors[200:]])
    ids, scores = index.search(wanted, 10)
    cosines = wanted.astype(np.float64) @ vectors.T.astype(np.float64)
    expected = np.argsort(-cosines, axis=1)[:, :10]
    assert (ids.dtype, scores.dtype) == (np.int64, np.float32)
    assert np.array_equal(ids, expected)
    assert np.allclose(scores, np.take_along_axis(cosines, expected, axis=1), atol=1e-6)


@pytest.mark.parametrize("dimension", [24, 384])
@pytest.mark.parametrize("k", [1, 5, 120])  # FAISS collects 100 results and more in another way
def test_ties_are_in_the_order_of_the_numbers(dimension: int, k: int) -> None:
    """Each vector occurs ten times, anywhere: a matrix product alone gives some of the ten another last bit."""
    base, rng = _unit(300, 3, dimension), np.random.default_rng(4)
    own = rng.permutation(np.tile(np.arange(300), 10))
    index, queries = DenseIndex.build([base[own]]), base[:200]
    found = index.search(queries, k).ids
    exact = (queries.astype(np.float64) @ base.T.astype(np.float64))[:, own]
    expected = np.lexsort((np.broadcast_to(np.arange(3000), exact.shape), -exact))[:, :k]
    assert np.array_equal(found, expected)
    assert all(np.array_equal(index.search(queries[row : row + 1], k).ids[0], found[row]) for row in (0, 99))


def test_more_wanted_than_there_are() -> None:
    vectors = _unit(4, 4)
    ids, scores = DenseIndex.build([vectors]).search(np.repeat(vectors[:1], 9, axis=0), 6)
    assert ids.shape == scores.shape == (9, 6)
    assert sorted(ids[0, :4].tolist()) == [0, 1, 2, 3]
    assert (ids[:, 4:] == -1).all() and (scores[:, 4:] == -np.inf).all()
    nothing = DenseIndex.build([vectors]).search(vectors[:0], 3)
    assert nothing.ids.shape == nothing.scores.shape == (0, 3)


def test_ivf_finds_most_of_what_flat_finds() -> None:
    """Vectors in clumps, as those of texts are."""
    centres, noise = _unit(60, 5), _unit(6000, 6)
    vectors = np.repeat(centres, 100, axis=0) + 0.5 * noise
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    flat, ivf = DenseIndex.build([vectors]), DenseIndex.build([vectors[:4000], vectors[4000:]], "ivf")
    assert len(ivf) == 6000
    pairs = zip(flat.search(vectors[::100], 10).ids, ivf.search(vectors[::100], 10).ids, strict=True)
    found = [len({*a.tolist()} & {*b.tolist()}) for a, b in pairs]
    assert sum(found) / (10 * len(found)) > 0.9
    again = DenseIndex.build([vectors], "ivf").search(vectors[:5], 3)
    assert ivf.search(vectors[:5], 3).lists() == again.lists()
    # Cells that hold fewer vectors than wanted leave the rest of the row empty.
    ids, scores = ivf.search(vectors[:5], 5000)
    assert np.array_equal(ids < 0, np.isneginf(scores)) and (ids < 0).any()


def test_ivf_of_few_vectors() -> None:
    vectors = _unit(5, 7)
    assert DenseIndex.build([vectors], "ivf").search(vectors, 2).ids[:, 0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", ["flat", "ivf"])
def test_saved_and_read_back(kind: str, tmp_path: Path) -> None:
    vectors = _unit(300, 8)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        DenseIndex.build([vectors], kind).save(tmp_path / name, ENCODER)
    for file in (tmp_path / "first").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes()
    loaded = DenseIndex.load(tmp_path / "first", ENCODER)
    again = DenseIndex.build([vectors], kind).search(vectors[:30], 5)
    assert loaded.search(vectors[:30], 5).lists() == again.lists()
    assert (len(loaded), loaded.dimension) == (300, 24)


def _edit(folder: Path, **changes: Any) -> None:
    file = folder / "index.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.mark.parametrize(
    ("change", "encoder", "message"),
    [
        (
            lambda folder: None,
            {**ENCODER, "sha256": "b" * 64},
            "another encoder .*sha256 aaaaaaaaaaaa…, here bbbb",
        ),
        (
            lambda folder: None,
            {**ENCODER, "pooling": "first"},
            r"another encoder \(pooling mean, here first\)",
        ),
        (lambda folder: None, {**ENCODER, "more": 1}, r"another encoder \(more not given, here 1\)"),
        (lambda folder: None, {}, "another encoder"),
        (lambda folder: _edit(folder, encoder=None), ENCODER, "no record of the encoder"),
        (lambda folder: (folder / "index.json").unlink(), ENCODER, "no record of the encoder"),
        (lambda folder: (folder / "index.json").write_text("{"), ENCODER, "no record of the encoder"),
        (
            lambda folder: _edit(folder, faiss="1.0"),
            ENCODER,
            "written by faiss 1.0, installed is .*dvc repro --force",
        ),
        (lambda folder: _edit(folder, sha256="0"), ENCODER, "changed after it was written"),
        (lambda folder: (folder / "vectors.faiss").unlink(), ENCODER, "no dense index"),
    ],
)
def test_an_index_that_does_not_fit_is_refused_in_one_line(
    change: Callable[[Path], None], encoder: dict[str, Any], message: str, tmp_path: Path
) -> None:
    DenseIndex.build([_unit(30, 9)]).save(tmp_path, ENCODER)
    DenseIndex.load(tmp_path, ENCODER)
    change(tmp_path)
    with pytest.raises(NightjarError, match=message) as caught:
        DenseIndex.load(tmp_path, encoder)
    assert "\n" not in str(caught.value) and "index" in caught.value.fix


@pytest.mark.parametrize("kind", ["flat", "ivf"])
def test_errors(kind: str, tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="nothing to index"):
        DenseIndex.build([], kind)
    with pytest.raises(NightjarError, match="no dense index"):
        DenseIndex.load(tmp_path / "absent", ENCODER)
    DenseIndex.build([_unit(30, 9)], kind).save(tmp_path, ENCODER)
    (tmp_path / "vectors.faiss").write_bytes(b"not an index")
    _edit(tmp_path, sha256=hashlib.sha256(b"not an index").hexdigest())
    with pytest.raises(NightjarError, match="unreadable"):
        DenseIndex.load(tmp_path, ENCODER)
