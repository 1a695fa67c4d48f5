"""Search: sentence encoders, a dense and a lexical index, and the fusion of their rankings (Guo et al. 2023).

`LexicalIndex` ranks texts by Okapi BM25, `DenseIndex` vectors by inner product; both return `Rankings`, arrays of
numbers and scores, which `reciprocal_rank` fuses. An `Encoder` turns texts into vectors: `SentenceEncoder` by the
weights of a directory, or one of another package; `load_encoder` loads either.
"""

from typing import TYPE_CHECKING

from nightjar.core.startup import lazy

if TYPE_CHECKING:
    from nightjar.search.dense import DenseIndex
    from nightjar.search.encoder import SentenceEncoder
    from nightjar.search.encoders import Encoder, identity, load_encoder
    from nightjar.search.lexical import LexicalIndex
    from nightjar.search.rankings import Rankings, reciprocal_rank

__all__ = [
    "DenseIndex",
    "Encoder",
    "LexicalIndex",
    "Rankings",
    "SentenceEncoder",
    "identity",
    "load_encoder",
    "reciprocal_rank",
]

__getattr__, __dir__ = lazy(__name__)
