"""python -m stages.index: data/index from data/ingest/corpus.

passages/           contracts.PASSAGES, numbered from 0
dense/vectors.faiss one vector a passage, in that order
lexical/            BM25 of the same passages, in that order
"""

from pathlib import Path

from nightjar.core.harness import Stage, main

CORPUS, ENCODER, OUTPUT = Path("data/ingest/corpus"), Path("models/base/sentence_encoder"), Path("data/index")


def run(stage: Stage) -> None:
    from nightjar.search.dense import FAISS_VERSION
    from stages.index.build import build

    settings = stage.params.index
    facts = build(CORPUS, ENCODER, OUTPUT, settings.passage_words, settings.dense, stage.params.threads)
    stage.reads(CORPUS, ENCODER)
    stage.writes(OUTPUT)
    stage.count(facts.documents, facts.indexed, facts.rejected)
    stage.details.update(
        passages=facts.passages,
        dimension=facts.dimension,
        words=facts.words,
        encoder_sha256=facts.encoder_sha256,
        faiss=FAISS_VERSION,
    )


if __name__ == "__main__":
    main("index", run, packages=("pyarrow", "torch", "transformers", "bm25s"), threads=True)
