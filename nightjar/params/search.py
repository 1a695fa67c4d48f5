"""The groups index, retrieve and rerank of params.yaml: what is found for questions, and in which order it is read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nightjar.core import paths
from nightjar.core.config import Item, Limit, Name, Positive, StrictModel


class Index(StrictModel):
    """`granularity`: passages are runs of `passage_words` words or single sentences, of which longer ones are cut;
    those of fewer than `min_words` words are dropped. `corpus`: the artifact whose documents are cut. `dense`: the kind
    of dense index (nightjar.search.dense); none encodes no passage.
    `lexical`: how texts are split into words and equal scores are ordered (nightjar.search.lexical).
    """

    corpus: Annotated[str, Field(min_length=1)] = paths.CORPUS.as_posix()
    granularity: Literal["words", "sentences"] = "words"
    passage_words: Positive
    min_words: Positive = 1
    dense: Literal["none", "flat", "hnsw", "ivfpq"]
    lexical: Literal["words", "published"]


class Retrieval(StrictModel):
    """The passages that a benchmark's questions get: `passages` of them, by the ranking of `retriever`.

    `training` is the artifact whose training and dev sides get them too: data/split for instances, or the questions of
    the benchmark itself, which have these sides if its systems train on them. `leaves_out`: own, the passages that are
    the question itself, or containing, every passage that contains it.
    """

    training: Name
    passages: Positive
    retriever: Literal["dense", "bm25", "hybrid"]
    leaves_out: Literal["own", "containing"] = "own"


class Retrieve(StrictModel):
    """`benchmarks`: those whose questions get passages."""

    benchmarks: dict[Item, Retrieval]


class RerankModel(StrictModel):
    """`model`: the directory of the language model that compares."""

    model: Name


class Rerank(StrictModel):
    """`benchmarks`: those whose rankings are ordered again.

    The first `candidates` of a ranking are compared (null: all), and the best `keep` of them remain (null: all). A text
    has at most `max_tokens` tokens with its demonstrations.
    """

    benchmarks: dict[Item, RerankModel]
    candidates: Limit
    keep: Limit
    max_tokens: Annotated[int, Field(ge=16, le=1_000_000)]
    precision: Literal["float32", "bfloat16"]
