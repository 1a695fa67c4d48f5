"""Predictors: how a system answers the questions of a benchmark.

A system is a predictor, a model is a backend. The `kind` of a system in params.yaml names its predictor: `model`,
`reader` (fusion-in-decoder), `knn`, `extractive`, `span` or `file`. `predictor` opens the one of a `Job`; the stage
predict and `nightjar evaluate` publish its answers. `nightjar.predict.direct_questions` answers single questions
(`nightjar ask`) by the same functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module

from nightjar.predict.predictor import Job, Predictor

__all__ = ["Job", "Predictor", "predictor"]

# What makes the predictor of each kind. No kind loads the libraries of another.
BUILT_IN = {
    "model": "nightjar.predict.model_predictor:model_predictor",
    "reader": "nightjar.predict.reading:ReaderPredictor",
    "knn": "nightjar.predict.lookup:NeighbourPredictor",
    "extractive": "nightjar.predict.extracted:ExtractivePredictor",
    "span": "nightjar.predict.span:SpanPredictor",
    "file": "nightjar.predict.answer_file:FilePredictor",
}


@contextmanager
def predictor(job: Job) -> Iterator[Predictor]:
    """The predictor of a system, by its kind; closed at the end of the block."""
    module, _, name = BUILT_IN[job.system.kind].partition(":")
    with ExitStack() as stack:
        opened = getattr(import_module(module), name)(job)
        yield opened if isinstance(opened, Predictor) else stack.enter_context(opened)
