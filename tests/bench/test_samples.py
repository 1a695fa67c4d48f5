"""Both ways of the benchmark of sampling draw the same, and both rules rank the same samples."""

from __future__ import annotations

import json
from pathlib import Path

from bench import full_stop, samples
from nightjar.benchmarks.protoqa.card import CARD
from nightjar.benchmarks.question import Question
from nightjar.models import samples as engine
from nightjar.models.load import load, prepare
from nightjar.models.samples import Ends
from nightjar.params import load as load_params
from tests.conftest import ROOT


def test_both_ways_draw_the_same_samples(tiny_model: Path) -> None:
    prepare(seed=0, threads=1)
    lm = load(tiny_model)
    ids, sampling, ends = lm.tokenizer.encode("one thing is"), samples.by_number("a"), Ends(6, ("e", "n"))
    together = engine.samples(lm, ids, 20, sampling, ends)
    assert together == [samples.alone(lm, ids, sampling, number, ends) for number in range(20)]
    assert len({one.text for one in together}) > 5


def test_both_rules_rank_the_same_samples() -> None:
    known = load_params(ROOT / "params.yaml").predict.benchmark("tool_use")
    clusters = [{"id": "a", "count": 6, "answers": ["cat"]}, {"id": "b", "count": 4, "answers": ["dog"]}]
    question = Question(CARD.name, "dev", "q", {"question": "name a pet", "clusters": clusters}, ("cat",))
    text = json.dumps({"texts": {" a cat": 2, " a dog.": 1, " a bird": 1}})
    kept, published, scores = full_stop.both(CARD, [question], [text], known.model_copy(update={"keep": 3}))
    assert (kept, published) == ([["cat", "dog", "bird"]], [["", "dog"]])
    assert scores["exact_match/max_answers@1"].tolist() == [[1.0], [0.0]]
    assert scores["exact_match/unlimited"].tolist() == [[1.0], [0.4]]
