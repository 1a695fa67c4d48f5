"""FAISS against cosines by numpy, all pairs; and what a saved index knows of itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import faiss
import numpy as np
import pytest
from numpy.typing import NDArray

from nightjar.core.errors import NightjarError
from nightjar.search import approximate
from nightjar.search.dense import DenseIndex, Kind

KINDS = get_args(Kind)
ENCODER = {"sha256": "a" * 64, "pooling": "mean", "normalised": True, "dimension": 8}


@pytest.fixture(autouse=True)
def fewer_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training for codes on 2000 vectors takes a sixth of the time that the least allowed number takes."""
    monkeypatch.setattr(approximate, "FEWEST", 2000)


def _unit(count: int, seed: int, dimension: int = 8) -> NDArray[np.float32]:
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


def _clumps(count: int, seed: int) -> NDArray[np.float32]:
    """Vectors in clumps of 100, as those of texts are."""
    vectors = np.repeat(_unit(count // 100, seed), 100, axis=0) + 0.5 * _unit(count, seed + 1)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize(("kind", "least"), [("hnsw", 0.98), ("ivfpq", 0.85)])
def test_approximate_kinds_find_most_of_what_flat_finds(kind: Kind, least: float) -> None:
    vectors = _clumps(2000, 5)
    flat, index = DenseIndex.build([vectors]), DenseIndex.build([vectors[:900], vectors[900:]], kind)
    assert len(index) == len(vectors)
    queries = vectors[::100]
    pairs = zip(flat.search(queries, 20).ids, index.search(queries, 20).ids, strict=True)
    assert np.mean([len({*a.tolist()} & {*b.tolist()}) / 20 for a, b in pairs]) > least
    ids, scores = index.search(queries[:3], 1900)
    assert np.array_equal(ids < 0, np.isneginf(scores))
    assert all(np.all(np.diff(row[row > -np.inf]) <= 0) for row in scores)


def test_cells_that_hold_fewer_than_wanted_leave_the_rest_empty() -> None:
    vectors = _clumps(2000, 5)
    ids, scores = DenseIndex.build([vectors], "ivfpq").search(vectors[:5], 1900)
    assert np.array_equal(ids < 0, np.isneginf(scores)) and (ids < 0).any()


def test_training_takes_a_bounded_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximate, "TRAINED_ON", 500)
    parts = [np.arange(start, start + 400, dtype=np.float32)[:, None] for start in range(0, 4000, 400)]
    sample = approximate._sample(parts, 4000)
    assert sample.shape == (500, 1) and np.all(np.diff(sample[:, 0]) > 0)
    assert sample.min() < 100 and sample.max() > 3900, "from all parts"
    assert np.array_equal(sample, approximate._sample([np.concatenate(parts)], 4000))


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_read_back(kind: Kind, tmp_path: Path) -> None:
    vectors = _clumps(2000, 8)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        index = DenseIndex.build([vectors], kind)
        expected = index.search(vectors[:30], 5).lists()
        index.save(tmp_path / name, ENCODER)
    for file in (tmp_path / "first").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes()
    for memory_map in (True, False):
        loaded = DenseIndex.load(tmp_path / "first", ENCODER, memory_map=memory_map)
        assert loaded.search(vectors[:30], 5).lists() == expected
        assert (len(loaded), loaded.dimension) == (2000, 8)
        maps = Path("/proc/self/maps")
        if maps.exists():
            assert (str(tmp_path) in maps.read_text()) == memory_map
        del loaded


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_that_cannot_be_compared_are_refused(kind: Kind) -> None:
    vectors = _clumps(2000, 8)
    index = DenseIndex.build([vectors], kind)
    with pytest.raises(NightjarError, match=r"shape \(2, 7\), the vectors of the index have 8"):
        index.search(vectors[:2, 1:], 3)


def test_too_few_vectors_for_codes() -> None:
    with pytest.raises(NightjarError, match=r"index\.dense: 30 vectors are too few for ivfpq"):
        DenseIndex.build([_unit(30, 9)], "ivfpq")


@pytest.mark.parametrize("kind", KINDS)
def test_a_gpu_is_used_where_faiss_sees_one(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copies to a GPU and back are replaced: this shows which of them are made, not that a GPU computes."""
    vectors, moved = _clumps(2000, 8), []

    def to_gpu(resources: Any, device: int, index: Any, options: Any) -> Any:
        moved.append((type(index).__name__, device, options.useFloat16))
        return index

    expected = DenseIndex.build([vectors], kind).search(vectors[:7], 5)
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 2)
    for name, value in {
        "index_cpu_to_gpu": to_gpu,
        "GpuClonerOptions": SimpleNamespace,
        "StandardGpuResources": object,
        "GpuIndex": (),
    }.items():
        monkeypatch.setattr(faiss, name, value, raising=False)
    found = DenseIndex.build([vectors], kind).search(vectors[:7], 5)
    assert np.array_equal(found.ids, expected.ids)
    assert set(moved) == {"flat": {("IndexFlatIP", 0, False)}, "ivfpq": {("IndexIVFPQ", 0, True)}}.get(
        kind, set()
    )


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
        (lambda folder: None, {**ENCODER, "more": 1}, r"another encoder \(more not given, here 1\)"),
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
    assert "index" in caught.value.fix


def test_errors(tmp_path: Path) -> None:
    for kind in KINDS:
        with pytest.raises(NightjarError, match="nothing to index"):
            DenseIndex.build([], kind)
    with pytest.raises(NightjarError, match="no dense index"):
        DenseIndex.load(tmp_path / "absent", ENCODER)
    DenseIndex.build([_unit(30, 9)]).save(tmp_path, ENCODER)
    (tmp_path / "vectors.faiss").write_bytes(b"not an index")
    _edit(tmp_path, sha256=hashlib.sha256(b"not an index").hexdigest())
    with pytest.raises(NightjarError, match="unreadable"):
        DenseIndex.load(tmp_path, ENCODER)
