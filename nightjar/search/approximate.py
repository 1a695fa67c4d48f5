"""The approximate kinds of the dense index, how they are trained, and the GPU that FAISS may see."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from nightjar.core.errors import NightjarError

# HNSW: neighbours of a vector, and how many candidates are kept while building and searching.
_NEIGHBOURS, _CANDIDATES = 32, 200
# ivfpq: at most so many vectors, drawn by a fixed seed, decide the cells and the codes.
TRAINED_ON = 131_072
# k-means needs at least 39 vectors for each of the 256 codes of a byte.
FEWEST = 256 * 39
# k-means hardly improves after ten rounds.
_ROUNDS = 10
# Vectors for each cell or code that k-means looks at: more hardly change the codes, and take longer.
_POINTS = 128
# A search looks into one in so many cells, but at least into so many.
_PROBED, _FEWEST_PROBED = 8, 16
# Bytes of a code that FAISS supports on a GPU.
_BYTES = (96, 64, 56, 48, 40, 32, 28, 24, 20, 16, 12, 8, 4, 3, 2, 1)


def hnsw(dimension: int) -> Any:
    """An empty graph index."""
    index = faiss.IndexHNSWFlat(dimension, _NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = index.hnsw.efSearch = _CANDIDATES
    return index


def trained_ivfpq(parts: Sequence[NDArray[np.float32]]) -> Any:
    """An empty inverted-file index, trained on a sample of the rows of `parts`, on the GPU if FAISS sees one.

    It has sqrt(n) cells and a code of at most 96 bytes for each vector.
    """
    count, dimension = sum(map(len, parts)), parts[0].shape[1]
    if count < FEWEST:
        what = f"{count} vectors are too few for ivfpq, which needs {FEWEST}"
        raise NightjarError(what, "index.dense", "set it to flat or hnsw")
    sample = _sample(parts, count)
    cells = round(math.sqrt(count))
    size = next(size for size in _BYTES if dimension % size == 0)
    index: Any = faiss.index_factory(dimension, f"IVF{cells},PQ{size}", faiss.METRIC_INNER_PRODUCT)
    index.cp.niter = index.pq.cp.niter = _ROUNDS
    index.cp.max_points_per_centroid = index.pq.cp.max_points_per_centroid = _POINTS
    # It would order the codes for a search that is not used, by far the longest part of the training.
    index.do_polysemous_training = False
    index.nprobe = min(cells, max(_FEWEST_PROBED, cells // _PROBED))
    index = on_gpu(index)
    index.train(sample)
    return index


def _sample(parts: Sequence[NDArray[np.float32]], count: int) -> NDArray[np.float32]:
    """At most TRAINED_ON rows of `parts`, which have `count` in all, drawn by a fixed seed, in their order."""
    if count <= TRAINED_ON:
        return np.concatenate(parts).astype(np.float32, copy=False)
    rows = np.sort(np.random.default_rng(0).choice(count, TRAINED_ON, replace=False))
    ends = np.cumsum([len(part) for part in parts])
    starts = ends - [len(part) for part in parts]
    chosen = zip(parts, starts, np.split(rows, np.searchsorted(rows, ends[:-1])), strict=True)
    return np.concatenate([part[part_rows - start] for part, start, part_rows in chosen]).astype(
        np.float32, copy=False
    )


@contextmanager
def repeatable(index: Any, threads: int) -> Iterator[None]:
    """Adding vectors to a graph depends on the order of the threads: it gets one."""
    faiss.omp_set_num_threads(1 if isinstance(index, faiss.IndexHNSW) else threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


def _gpus() -> int:
    """The GPUs that FAISS sees; none in a build without GPU code."""
    count = getattr(faiss, "get_num_gpus", None)
    return int(count()) if count else 0


def on_gpu(index: Any) -> Any:
    """A copy of the index on the first GPU, where FAISS sees one and has this kind for it; else the index itself."""
    if not _gpus() or not isinstance(index, faiss.IndexFlat | faiss.IndexIVFPQ):
        return index
    options = faiss.GpuClonerOptions()
    # The tables of a 96-byte code fit into the memory of a block only in half precision.
    options.useFloat16 = isinstance(index, faiss.IndexIVFPQ)
    return faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, index, options)


def from_gpu(index: Any) -> Any:
    """The index in main memory."""
    return faiss.index_gpu_to_cpu(index) if _gpus() and isinstance(index, faiss.GpuIndex) else index
