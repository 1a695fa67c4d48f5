"""Dense index: FAISS over unit vectors, by inner product (which is the cosine).

`flat` compares with every vector and is exact; `ivf` looks into some of the cells that k-means cut the
vectors into: faster, but it can miss. Both are repeatable: one seed, a set number of threads, ties by
passage number.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nightjar.core.errors import NightjarError
from nightjar.search.fuse import Ranking

# It tells at length which instruction sets it tries.
logging.getLogger("faiss").setLevel(logging.WARNING)
try:
    import faiss
except ImportError:
    raise NightjarError(
        "faiss is not installed", "nightjar.search", "run: pip install -e '.[cpu]' (or .[gpu])"
    ) from None

# Of faiss-cpu or faiss-gpu, whichever is installed.
FAISS_VERSION = str(faiss.__version__)
# k-means wants at least this many vectors a cell.
_VECTORS_PER_CELL = 39
# The share of the cells that a search looks into.
_PROBED = 8


class DenseIndex:
    """Vectors numbered 0, 1, 2, ... in the order they were added."""

    def __init__(self, index: Any, threads: int = 1) -> None:
        faiss.omp_set_num_threads(threads)
        self._index = index

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def dimension(self) -> int:
        return int(self._index.d)

    @classmethod
    def build(
        cls, batches: Iterable[NDArray[np.float32]], kind: str = "flat", threads: int = 1
    ) -> DenseIndex:
        """An index of all rows of `batches`, each of shape (any, dimension), unit length, float32.

        `flat` keeps one copy of the vectors; `ivf` needs them all at once to find its cells. Raises
        NightjarError if there are none.
        """
        faiss.omp_set_num_threads(threads)
        index = None
        if kind == "ivf":
            batches = [np.concatenate(list(batches) or [np.zeros((0, 1), np.float32)])]
        for batch in batches:
            if not len(batch):
                continue
            if index is None:
                index = _ivf(batch) if kind == "ivf" else faiss.IndexFlatIP(batch.shape[1])
            index.add(np.ascontiguousarray(batch, dtype=np.float32))
        if index is None:
            raise NightjarError(
                "there is nothing to index", "nightjar.search", "check that the corpus is not empty"
            )
        return cls(index, threads)

    def search(self, queries: NDArray[np.float32], k: int) -> list[Ranking]:
        """The `k` vectors (or as many as there are) of greatest inner product with each row of `queries`."""
        if not len(queries):
            return []
        scores, numbers = self._index.search(
            np.ascontiguousarray(queries, dtype=np.float32), min(k, len(self))
        )
        return [
            # -1 stands where the cells looked into held fewer than k vectors.
            sorted(
                ((int(number), float(score)) for number, score in zip(*row, strict=True) if number >= 0),
                key=lambda hit: (-hit[1], hit[0]),
            )
            for row in zip(numbers, scores, strict=True)
        ]

    def save(self, path: Path) -> None:
        """Write the index to one file; the same vectors give the same bytes."""
        faiss.write_index(self._index, str(path))

    @classmethod
    def load(cls, path: Path, threads: int = 1) -> DenseIndex:
        """Read what `save` wrote. Raises NightjarError if it is missing or unreadable."""
        try:
            return cls(faiss.read_index(str(path)), threads)
        except RuntimeError:
            what = "unreadable dense index" if path.exists() else "no dense index"
            raise NightjarError(what, path, "run: nightjar rebuild index") from None


def _ivf(vectors: NDArray[np.float32]) -> Any:
    """An empty inverted-file index whose cells were learnt from `vectors`: about 4 sqrt(n) of them."""
    count, dimension = vectors.shape
    cells = max(1, min(round(4 * math.sqrt(count)), count // _VECTORS_PER_CELL))
    index: Any = faiss.index_factory(dimension, f"IVF{cells},Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(np.ascontiguousarray(vectors, dtype=np.float32))
    index.nprobe = max(1, math.ceil(cells / _PROBED))
    return index
