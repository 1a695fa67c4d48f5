"""The group readers: recipes that cannot work are refused."""

from __future__ import annotations

from typing import Any

import pytest

from nightjar.core.config import checked
from nightjar.core.errors import NightjarError
from nightjar.params import load
from nightjar.params.readers import ReaderRecipe
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"shots_per_label": 16, "passages": 3}, "demonstrations or passages"),
        ({"fusion": "rag_sequence"}, "rag_sequence needs passages"),
        ({"by_task": [{"task": "mr"}, {"task": "mr"}]}, "by_task has a duplicate task"),
        ({"temperature": 0.1}, "only rag_sequence weights passages"),
        ({"trains": "encoder"}, "trains = 'encoder' is not allowed"),
        ({"batch_size": 0}, "batch_size = 0 is not allowed"),
        ({"text_maxlength": 4}, "text_maxlength = 4 is not allowed"),
    ],
)
def test_a_recipe_that_cannot_work(changes: dict[str, Any], told: str) -> None:
    values = load(ROOT / "params.yaml").readers.recipe("reader").model_dump()
    with pytest.raises(NightjarError, match=told):
        checked(ReaderRecipe, values | changes, "params.yaml")


def test_an_unknown_recipe() -> None:
    with pytest.raises(NightjarError, match=r"the group readers.own is missing; add it"):
        load(ROOT / "params.yaml").readers.recipe("own")
