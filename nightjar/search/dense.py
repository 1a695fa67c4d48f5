"""Dense index: FAISS over vectors, by inner product (which is the cosine of unit vectors).

flat     compares with every vector and is exact; the published index is exact too (PGRA)
hnsw     a graph of neighbours (Malkov and Yashunin, 2018): finds nearly all, needs more memory than flat
ivfpq    cells of k-means with product quantisation (Jegou et al., 2011): a small part of the memory, but it misses more

All are repeatable: one seed, a set number of threads, ties by passage number. On a GPU that faiss sees, flat and ivfpq
are trained, filled and searched there. docs/search.md has a comparison.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nightjar.core.arguments import AnyPath, check_count
from nightjar.core.errors import NightjarError
from nightjar.core.files import replacing, write_text
from nightjar.core.identity import sha256_of
from nightjar.core.json_text import recorded
from nightjar.search.rankings import Rankings

# It logs at length which instruction sets it tries.
logging.getLogger("faiss").setLevel(logging.WARNING)
try:
    import faiss
except ImportError:
    raise NightjarError(
        "faiss is not installed", "nightjar.search", "run: pip install -e '.[cpu]' (or .[gpu])"
    ) from None

from nightjar.search import approximate  # noqa: E402  it needs faiss

# Of faiss-cpu or faiss-gpu, whichever is installed.
FAISS_VERSION = str(faiss.__version__)
VECTORS, RECORD = "vectors.faiss", "index.json"
# From so many queries on, a matrix product is faster than one query after another.
_MANY = 5
# How many results more than asked for are looked at first, because a tie may reach beyond the last.
_BEYOND = 8
# A matrix product adds up the same vector in another order at another place: scores so close may change places.
_CLOSE = 1e-6
_AGAIN = "build the index again: nightjar rebuild index"
_NONE = "run: nightjar rebuild index; where index.dense is none, search with the retriever bm25"
Kind = Literal["flat", "hnsw", "ivfpq"]


class DenseIndex:
    """Vectors numbered 0, 1, 2, ... in the order they were added."""

    def __init__(self, index: Any, threads: int = 1) -> None:
        faiss.omp_set_num_threads(threads)
        self._index = index
        self._searched = approximate.on_gpu(index)

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def dimension(self) -> int:
        return int(self._index.d)

    @classmethod
    def build(
        cls, batches: Iterable[NDArray[np.float32]], kind: Kind = "flat", threads: int = 1
    ) -> DenseIndex:
        """An index of all rows of `batches`, each of shape (any, dimension), float32.

        `flat` and `hnsw` take one batch after another; `ivfpq` keeps them all, which costs nothing if they are parts of
        a memory-mapped array, and is trained on a sample.
        """
        if kind not in get_args(Kind):
            raise NightjarError(f"no kind {kind!r}", "kind", f"give one of {', '.join(get_args(Kind))}")
        faiss.omp_set_num_threads(threads)
        batches = (batch for batch in batches if len(batch))
        index: Any = None
        if kind == "ivfpq":
            parts = list(batches)
            index, batches = (approximate.trained_ivfpq(parts) if parts else None), iter(parts)
        for batch in batches:
            if index is None:
                index = (
                    approximate.hnsw(batch.shape[1]) if kind == "hnsw" else faiss.IndexFlatIP(batch.shape[1])
                )
            with approximate.repeatable(index, threads):
                index.add(np.ascontiguousarray(batch, dtype=np.float32))
        if index is None:
            raise NightjarError(
                "there is nothing to index", "nightjar.search", "check that the corpus is not empty"
            )
        return cls(approximate.from_gpu(index), threads)

    def search(self, queries: NDArray[np.float32], k: int) -> Rankings:
        """The `k` vectors of greatest inner product with each row of `queries`, (number of queries, dimension).

        Scores are float32; equal ones are in the order of the numbers. With fewer than `k` vectors the rest of each row
        is empty.
        """
        check_count(k, "k")
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        rankings = Rankings.empty(len(queries), k, np.float32)
        width = min(k, len(self))
        if not len(queries) or not width:
            return rankings
        if queries.ndim != 2 or queries.shape[1] != self.dimension:
            what = f"queries of shape {queries.shape}, the vectors of the index have {self.dimension} numbers"
            raise NightjarError(what, "nightjar.search", "use the encoder that the index was built with")
        if isinstance(self._index, faiss.IndexFlat):
            scores, ids = self._nearest(queries, width)
        else:
            scores, ids = self._searched.search(queries, width)
            scores[ids < 0] = -np.inf  # the cells looked into held fewer vectors
            scores, ids = _in_order(scores, ids)
        rankings.ids[:, :width], rankings.scores[:, :width] = ids, scores
        return rankings

    def _nearest(self, queries: NDArray[np.float32], width: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Exact scores and numbers, each (queries, width).

        Many queries are searched by a matrix product. Where it gives near ties, these scores are computed again, each
        by itself, so that the numbers do not depend on the queries beside them; where the ties may reach beyond what
        was found, more is looked for.
        """
        with _matrix_product(len(queries) >= _MANY):
            scores, ids = self._searched.search(queries, min(width + _BEYOND, len(self)))
        first = scores[:, : width + 1]
        tied = first[:, :-1] - first[:, 1:] <= _close(first[:, :-1])
        best, order = scores[:, :width].copy(), ids[:, :width].copy()
        for row in np.flatnonzero(tied.any(axis=1)):
            row_scores, numbers = scores[row], ids[row]
            while len(numbers) < len(self) and row_scores[width - 1] - row_scores[-1] <= _close(
                row_scores[-1]
            ):
                wider = self._searched.search(queries[row : row + 1], min(4 * len(numbers), len(self)))
                row_scores, numbers = wider[0][0], wider[1][0]
            exact = self._scores(queries[row], numbers)
            exact, numbers = _in_order(exact[None], numbers[None])
            best[row], order[row] = exact[0, :width], numbers[0, :width]
        return best, order

    def _scores(self, query: NDArray[np.float32], numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """The inner products of one query with the vectors of these numbers, in float64, rounded to float32.

        numpy adds up each row in the same order, wherever it is.
        """
        stored = faiss.rev_swig_ptr(self._index.get_xb(), len(self) * self.dimension)
        rows = stored.reshape(len(self), self.dimension)[numbers].astype(np.float64)
        products: NDArray[np.float64] = (rows * query).sum(axis=1)
        return products.astype(np.float32)

    def save(self, folder: AnyPath, encoder: Mapping[str, Any]) -> None:
        """Write the index and a record of what made it into `folder`; the same vectors give the same bytes.

        `encoder` identifies the encoder of the vectors (`nightjar.search.encoders.identity`).
        """
        folder = Path(folder)
        with replacing(folder / VECTORS) as new_file:
            faiss.write_index(self._index, str(new_file))
        record = {
            "encoder": dict(encoder),
            "faiss": FAISS_VERSION,
            "file": VECTORS,
            "sha256": sha256_of(folder / VECTORS),
        }
        write_text(folder / RECORD, json.dumps(record, indent=2, sort_keys=True) + "\n")

    @classmethod
    def load(
        cls, folder: AnyPath, encoder: Mapping[str, Any], threads: int = 1, memory_map: bool = True
    ) -> DenseIndex:
        """Read what `save` wrote, to be searched with vectors of `encoder`.

        With `memory_map`, vectors and codes stay on the disk until a search needs them.
        """
        folder = Path(folder)
        record = recorded(folder / RECORD)
        file = folder / VECTORS
        if not file.exists():
            raise NightjarError("no dense index", file, _NONE)
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
            index = faiss.read_index(str(file), faiss.IO_FLAG_MMAP_IFC if memory_map else 0)
        except RuntimeError:
            raise NightjarError("unreadable dense index", file, _AGAIN) from None
        return cls(index, threads)


def _in_order(scores: NDArray[Any], ids: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Each row by falling score, equal ones by number."""
    order = np.lexsort((ids, -scores))
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(ids, order, axis=1)


def _difference(built_with: Mapping[str, Any], present: Mapping[str, Any]) -> str:
    """Describe the difference of two encoders in a few words; "" if there is none."""
    keys = [key for key in sorted({*built_with, *present}) if built_with.get(key) != present.get(key)]
    parts = [f"{key} {_short(built_with.get(key))}, here {_short(present.get(key))}" for key in keys]
    return "; ".join(parts)


def _short(value: Any) -> str:
    text = "not given" if value is None else str(value)
    return f"{text[:12]}…" if len(text) > 40 else text


def _close(scores: Any) -> Any:
    """The distance from each of `scores` within which another score ties with it."""
    return _CLOSE * np.maximum(0.3, np.abs(scores))


@contextmanager
def _matrix_product(enabled: bool) -> Iterator[None]:
    """Have FAISS compare by matrix products, or not; left alone, it decides by the number of queries."""
    usual = faiss.cvar.distance_compute_blas_threshold
    faiss.cvar.distance_compute_blas_threshold = 1 if enabled else 2**31 - 1
    try:
        yield
    finally:
        faiss.cvar.distance_compute_blas_threshold = usual
