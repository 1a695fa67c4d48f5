"""Both ways of the benchmark of sampling draw the same."""

from __future__ import annotations

from pathlib import Path

from bench import samples
from nightjar.models import samples as engine
from nightjar.models.load import load, prepare
from nightjar.models.samples import Ends


def test_both_ways_draw_the_same_samples(tiny_model: Path) -> None:
    prepare(seed=0, threads=1)
    lm = load(tiny_model)
    ids, sampling, ends = lm.tokenizer.encode("one thing is"), samples.by_number("a"), Ends(6, ("e", "n"))
    together = engine.samples(lm, ids, 20, sampling, ends)
    assert together == [samples.alone(lm, ids, sampling, number, ends) for number in range(20)]
    assert len({one.text for one in together}) > 5
