"""The groups of params.yaml that describe analyses of results."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nightjar.core.config import Model, Positive


class Labeller(Model):
    """`reader`: the folder of the trained reader that labels passages; it answers without passages."""

    reader: Annotated[str, Field(min_length=1)]


class Consistency(Model):
    """How many of a question's passages have its label: of the first `passages` of each ranking."""

    passages: Positive
    benchmarks: dict[str, Labeller]
