"""Predictors: how a system answers the questions of a benchmark.

A system is a predictor, a model is a backend. The `kind` of a system in params.yaml names its predictor: `model`,
`reader` (fusion-in-decoder), `knn`, `extractive` or `file`. `predictor` opens the one of a `Job`; the stage predict and
`nightjar evaluate` publish its answers. `nightjar.predict.asking` answers single questions (`nightjar ask`) by the same
functions.
"""

from nightjar.predict.predictor import Job, Predictor, predictor

__all__ = ["Job", "Predictor", "predictor"]
