"""The two sides of the benchmark of decoding, on a tiny model: they are asked the same and answer the same."""

from __future__ import annotations

from pathlib import Path

from bench import decode_speed
from nightjar.models.engine.generation import generate
from nightjar.models.engine.loading import load, prepare


def test_both_sides_write_the_same_tokens(tiny_model: Path) -> None:
    prepare(seed=0, threads=1)
    lm = load(tiny_model)
    prompts = decode_speed.pieces(lm, 12, 60)
    assert prompts == decode_speed.pieces(lm, 12, 60)
    assert all(decode_speed.SHORTEST <= len(ids) <= 60 for ids in prompts)
    assert len({tuple(ids[:8]) for ids in prompts}) == 12
    # A stop string that this model writes soon.
    written = generate(lm, prompts[:1], 20)[0].text
    stop = next(sign for sign in written[4:] if sign.isascii())
    ours = generate(lm, prompts, decode_speed.NEW, [stop], batch_size=5)
    assert any(not one.cut for one in ours)
    other = decode_speed.TransformersGenerate(tiny_model, lm)
    assert [list(one.ids) for one in ours] == other.answers(prompts, 5, stop)
