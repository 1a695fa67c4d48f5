"""Predictors: how a system answers the questions of a benchmark.

A system is a predictor, a model is a backend. The `kind` of a system in params.yaml names its predictor: `model`,
`reader` (fusion-in-decoder), `knn`, `extractive`, `span` or `file`. `predictor` opens the one of a `Job`; the stage
predict and `nightjar evaluate` publish its answers. `nightjar.predict.ask` answers single questions (`nightjar ask`) by
the same functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nightjar.predict.predictor import Job, Predictor

__all__ = ["Job", "Predictor", "predictor"]


@contextmanager
def predictor(job: Job) -> Iterator[Predictor]:
    """The predictor of a system, by its kind; closed at the end of the block.

    Raises NightjarError for weights that are not of this kind, for settings that the predictor cannot follow, and for
    missing or damaged files.
    """
    # Imported here: no kind waits for the libraries of another.
    match job.system.kind:
        case "file":
            from nightjar.predict.lookup import FilePredictor

            yield FilePredictor(job)
        case "knn":
            from nightjar.predict.lookup import NeighbourPredictor

            yield NeighbourPredictor(job)
        case "reader":
            from nightjar.predict.reading import ReaderPredictor

            yield ReaderPredictor(job)
        case "extractive":
            from nightjar.predict.extracted import ExtractivePredictor

            yield ExtractivePredictor(job)
        case "span":
            from nightjar.predict.span import SpanPredictor

            yield SpanPredictor(job)
        case "model":
            from nightjar.predict.model import model_predictor

            with model_predictor(job) as made:
                yield made
