"""What the report takes from cards is consistent in every card that is registered."""

from __future__ import annotations

import pytest

from nightjar.benchmarks import registry


@pytest.mark.parametrize("name", registry.names())
def test_cards_name_what_they_have(name: str) -> None:
    card = registry.card(name)
    assert card.right in ("", *(part for metric in card.metrics for part in metric.parts))
    assert all(set(row.values) <= set(card.tracks) and row.source for row in card.papers.rows)
    if card.papers.collection:
        names = [figure.name for figure in card.papers.collection.figures]
        assert len(names) == len(set(names)) and card.papers.collection.source
