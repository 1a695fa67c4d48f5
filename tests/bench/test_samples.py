"""Both ways of the benchmark of sampling draw the same."""

from __future__ import annotations

from pathlib import Path

from bench import samples
from nightjar.models.load import load, prepare
from nightjar.models.row import Prompt


def test_both_ways_draw_the_same_samples(tiny_model: Path) -> None:
    prepare(seed=0, threads=1)
    lm = load(tiny_model)
    prompt, sampling = Prompt(0, lm.tokenizer.encode("one thing is"), 6, ("e", "n")), samples.by_number("a")
    together = samples.together_of(lm, prompt, 20, sampling)
    assert together == [samples.alone(lm, prompt, sampling, number) for number in range(20)]
    assert len({one.text for one in together}) > 5
