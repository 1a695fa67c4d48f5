"""Which files of a dataset are asked, and which ones models train on."""

from __future__ import annotations

from pydantic import model_validator

from nightjar.core.config import StrictModel


class Sides(StrictModel):
    """`evaluated`, `train` and `dev` are names of files of the dataset without their ending; None for none.

    Raises ValueError where two are the same file: the scores would be those of questions that a model has seen.
    """

    evaluated: str | None = None
    train: str | None = None
    dev: str | None = None

    @model_validator(mode="after")
    def _differ(self) -> Sides:
        named = [name for name in (self.evaluated, self.train, self.dev) if name is not None]
        if twice := next((name for name in named if named.count(name) > 1), None):
            raise ValueError(f"evaluated, train and dev are different files; {twice} is named twice")
        return self
