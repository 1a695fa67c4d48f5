"""python -m stages.index: data/index from data/ingest/corpus.

passages/           contracts.PASSAGES, numbered from 0
dense/              vectors.faiss: one vector a passage, in that order; index.json: their encoder, the version of
                    FAISS, and a checksum
lexical/            BM25 of the same passages, in that order; mode.json: how texts are split into words
"""

from pathlib import Path

from nightjar.core.harness import Stage, main

CORPUS, ENCODER, OUTPUT = Path("data/ingest/corpus"), Path("models/base/sentence_encoder"), Path("data/index")


def run(stage: Stage) -> None:
    from nightjar.search.dense import FAISS_VERSION
    from stages.index.build import build

    facts = build(CORPUS, ENCODER, OUTPUT, stage.params.index, stage.params.threads)
    stage.reads(CORPUS, ENCODER)
    stage.writes(OUTPUT)
    stage.count(facts.documents, facts.indexed, facts.rejected)
    stage.details.update(
        passages=facts.passages,
        words=facts.words,
        encoder=facts.encoder,
        faiss=FAISS_VERSION,
    )


if __name__ == "__main__":
    main("index", run, packages=("pyarrow", "torch", "transformers", "bm25s"), threads=True)
