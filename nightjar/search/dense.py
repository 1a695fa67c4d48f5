"""Dense index: FAISS over unit vectors, by inner product (which is the cosine).

`flat` compares with every vector and is exact (facts 4.2: the published index is exact too); `ivf` searches some of the
cells that k-means cut the vectors into: faster, but it can miss. Both are repeatable: one seed, a set number of
threads, ties by passage number.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nightjar.core.errors import NightjarError
from nightjar.core.json_text import recorded
from nightjar.lm.weights import sha256_of
from nightjar.search.fuse import Rankings

# It logs at length which instruction sets it tries.
logging.getLogger("faiss").setLevel(logging.WARNING)
try:
    import faiss
except ImportError:
    raise NightjarError(
        "faiss is not installed", "nightjar.search", "run: pip install -e '.[cpu]' (or .[gpu])"
    ) from None

# Of faiss-cpu or faiss-gpu, whichever is installed.
FAISS_VERSION = str(faiss.__version__)
VECTORS, RECORD = "vectors.faiss", "index.json"
# k-means wants at least this many vectors a cell.
_VECTORS_PER_CELL = 39
# The share of the cells that a search looks into.
_PROBED = 8
# From so many queries on, a matrix product is faster than one query after another.
_MANY = 5
# A matrix product adds up the same vector in another order at another place: scores so close may change places.
_CLOSE = 1e-6
_AGAIN = "build the index again: nightjar rebuild index"


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

    def search(self, queries: NDArray[np.float32], k: int) -> Rankings:
        """The `k` vectors of greatest inner product with each row of `queries`, (number of queries, dimension).

        Scores are float32; equal ones are in the order of the numbers.
        """
        found = Rankings.empty(len(queries), k, np.float32)
        width = min(k, len(self))
        if not len(queries) or not width:
            return found
        scores, ids = self._nearest(np.ascontiguousarray(queries, dtype=np.float32), width)
        scores[ids < 0] = -np.inf  # the cells looked into held fewer vectors
        order = np.lexsort((ids, -scores))
        found.ids[:, :width] = np.take_along_axis(ids, order, axis=1)
        found.scores[:, :width] = np.take_along_axis(scores, order, axis=1)
        return found

    def _nearest(self, queries: NDArray[np.float32], width: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Scores and numbers, each (queries, width), from FAISS.

        Many queries are searched by a matrix product. Those for which it gives near ties are searched again one by
        one, so that the numbers do not depend on the queries beside them.
        """
        if not isinstance(self._index, faiss.IndexFlat):
            scores, ids = self._index.search(queries, width)
            return scores, ids
        if len(queries) < _MANY:
            with _matrix_product(False):
                scores, ids = self._index.search(queries, width)
            return scores, ids
        # One more than asked for: a tie may reach beyond the last.
        with _matrix_product(True):
            scores, ids = self._index.search(queries, min(width + 1, len(self)))
        gaps = scores[:, :-1] - scores[:, 1:]
        again = np.flatnonzero((gaps <= _CLOSE * np.maximum(0.3, np.abs(scores[:, :-1]))).any(axis=1))
        scores, ids = scores[:, :width], ids[:, :width]
        if len(again):
            with _matrix_product(False):
                scores[again], ids[again] = self._index.search(queries[again], width)
        return scores, ids

    def save(self, folder: Path, encoder: Mapping[str, Any]) -> None:
        """Write the index and a record of what made it into `folder`; the same vectors give the same bytes.

        `encoder` identifies the encoder of the vectors (`nightjar.search.encoders.identity`).
        """
        faiss.write_index(self._index, str(folder / VECTORS))
        record = {
            "encoder": dict(encoder),
            "faiss": FAISS_VERSION,
            "sha256": sha256_of(folder / VECTORS),
        }
        (folder / RECORD).write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, encoder: Mapping[str, Any], threads: int = 1) -> DenseIndex:
        """Read what `save` wrote, to be searched with vectors of `encoder`.

        Raises NightjarError if it is missing, unreadable or changed, or was built with another encoder or version of
        FAISS.
        """
        file = folder / VECTORS
        if not file.exists():
            raise NightjarError("no dense index", file, "run: nightjar rebuild index")
        record = recorded(folder / RECORD)
        built_with = record.get("encoder")
        if not isinstance(built_with, dict):
            raise NightjarError("no record of the encoder of this index", folder / RECORD, _AGAIN)
        if difference := _difference(built_with, json.loads(json.dumps(dict(encoder)))):
            raise NightjarError(f"built with another encoder ({difference})", folder, _AGAIN)
        if record.get("faiss") != FAISS_VERSION:
            what = f"written by faiss {record.get('faiss')}, installed is {FAISS_VERSION}"
            fix = "install that version, or build the index again: dvc repro --force --single-item index"
            raise NightjarError(what, folder, fix)
        if record.get("sha256") != sha256_of(file):
            raise NightjarError("the index was changed after it was written", file, _AGAIN)
        try:
            return cls(faiss.read_index(str(file)), threads)
        except RuntimeError:
            raise NightjarError("unreadable dense index", file, _AGAIN) from None


def _difference(built_with: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """What of two encoders differs, in a few words; "" if nothing does."""
    keys = [key for key in sorted({*built_with, *given}) if built_with.get(key) != given.get(key)]
    parts = [f"{key} {_short(built_with.get(key))}, here {_short(given.get(key))}" for key in keys]
    return "; ".join(parts)


def _short(value: Any) -> str:
    text = "not given" if value is None else str(value)
    return f"{text[:12]}…" if len(text) > 40 else text


@contextmanager
def _matrix_product(wanted: bool) -> Iterator[None]:
    """Have FAISS compare by matrix products, or not; left alone, it decides by the number of queries."""
    usual = faiss.cvar.distance_compute_blas_threshold
    faiss.cvar.distance_compute_blas_threshold = 1 if wanted else 2**31 - 1
    try:
        yield
    finally:
        faiss.cvar.distance_compute_blas_threshold = usual


def _ivf(vectors: NDArray[np.float32]) -> Any:
    """An empty inverted-file index whose cells were learnt from `vectors`: about 4 sqrt(n) of them."""
    count, dimension = vectors.shape
    cells = max(1, min(round(4 * math.sqrt(count)), count // _VECTORS_PER_CELL))
    index: Any = faiss.index_factory(dimension, f"IVF{cells},Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(np.ascontiguousarray(vectors, dtype=np.float32))
    index.nprobe = max(1, math.ceil(cells / _PROBED))
    return index
