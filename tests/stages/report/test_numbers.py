"""Numbers are written in the unit of their metric; cards name what the report takes from them."""

from __future__ import annotations

import math

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.sections import initial
from nightjar.statistics.metric import Metric
from stages.report import numbers

PERCENT = Metric("rougeL", "ROUGE-L")
SHARE = Metric("max_answers", "max answers", range=(0.0, 1.0), scale=1.0)
PERPLEXITY = Metric("perplexity", "perplexity", range=(1.0, math.inf), scale=1.0, higher_is_better=False)


def test_units() -> None:
    assert [numbers.heading(one) for one in (PERCENT, SHARE)] == ["ROUGE-L (%)", "max answers"]
    assert [numbers.value(one, 0.456) for one in (PERCENT, SHARE, PERPLEXITY)] == ["0.5", "0.456", "0.5"]
    assert [numbers.value(one, 45.678, 1) for one in (PERCENT, PERPLEXITY)] == ["45.68", "45.68"]


def test_intervals() -> None:
    assert numbers.interval(PERCENT, 1.25, 20.0) == "[1.3, 20.0]"
    assert numbers.interval(SHARE, None, None) == numbers.signed_interval(SHARE, None, None) == "n<20"
    assert numbers.interval(SHARE, None, None, 20) == "–", "of a statistic that is not defined on a resample"
    assert numbers.signed_interval(SHARE, -0.5, 0.25) == "[−0.500, +0.250]"
    assert numbers.signed(PERCENT, -0.0) == "+0.0"


def test_an_axis_without_an_end_reaches_to_the_highest_value() -> None:
    assert numbers.axis(PERCENT, 40.0) == (0.0, 100.0)
    assert numbers.axis(PERPLEXITY, 40.0) == (1.0, 40.0)
    assert numbers.axis(Metric("loss", "loss", range=(-math.inf, math.inf)), -3.0) == (0.0, 1.0)


def test_small_p_values_and_missing_counts() -> None:
    assert [numbers.p(one) for one in (0.05, 0.00009)] == ["0.0500", "< 0.0001"]
    assert [numbers.count(one) for one in (12345, None)] == ["12,345", "–"]
    assert initial("SVAMP of x") == "SVAMP of x" and initial("cross-lingual") == "Cross-lingual"


@pytest.mark.parametrize("name", registry.names())
def test_cards_name_what_they_have(name: str) -> None:
    card = registry.load_benchmark(name)
    assert card.right in ("", *(part for metric in card.metrics for part in metric.parts))
    assert all(set(row.values) <= set(card.tracks) and row.source for row in card.papers.rows)
    if card.papers.collection:
        names = [figure.name for figure in card.papers.collection.figures]
        assert len(names) == len(set(names)) and card.papers.collection.source
