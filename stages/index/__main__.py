"""python -m stages.index: data/index from the documents of index.corpus.

passages/           contracts.PASSAGES, numbered from 0
dense/              vectors.faiss: one vector a passage, in that order; index.json: their encoder, the version of
                    FAISS, and a checksum; missing where index.dense is none
lexical/            BM25 of the same passages, in that order; mode.json: how texts are split into words

A run that was killed cuts the corpus again and resumes the encoding where it stopped.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nightjar.core import paths
from nightjar.core.identity import contents
from stages._runtime.checkpoint import code_of
from stages._runtime.stage import StageRun, main

PACKAGES = ("pyarrow", "torch", "transformers")


def run(stage: StageRun) -> None:
    from nightjar.search.dense import FAISS_VERSION
    from stages.index.passage_index import Compute, build

    settings = stage.params.index
    corpus = Path(settings.corpus)
    cache_key = {
        # The two others decide what is made of the vectors.
        "index": [settings.model_dump(exclude={"dense", "lexical"}), stage.params.threads],
        "code": [
            code_of("index"),
            *map(version, PACKAGES),
        ],
        "reads": contents(corpus, paths.SENTENCE_ENCODER)
        if corpus.exists() and paths.SENTENCE_ENCODER.exists()
        else "",
    }

    def resumed(
        units: int, compute: Compute, size: Callable[[int], int]
    ) -> AbstractContextManager[Iterable[Any] | None]:
        return stage.run_resumable(cache_key, units, compute, "passages", size)

    facts = build(corpus, paths.SENTENCE_ENCODER, paths.INDEX, settings, stage.params.threads, resumed)
    stage.reads(corpus, paths.SENTENCE_ENCODER)
    stage.writes(paths.INDEX)
    stage.count(facts.documents, facts.indexed, facts.rejected)
    counted = ("documents", "indexed", "rejected")
    stage.details |= {name: value for name, value in vars(facts).items() if name not in counted}
    stage.details["faiss"] = FAISS_VERSION


if __name__ == "__main__":
    main("index", run, packages=PACKAGES, threads=True)
