"""Training on a tiny model: it learns, repeats to the byte, and what it learnt can be used, tools and all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stages.lm.load import LanguageModel, load, prepare
from stages.lm.weights import digest
from stages.params import Recipe
from stages.prompts.causal import target
from stages.tools.decode import answer
from stages.train.examples import Example, batches, draw_targets
from stages.train.loop import Step, plan, save, train

RECIPE = Recipe(
    calls=True,
    evidence=0,
    method="full",
    lora_rank=4,
    precision="float32",
    learning_rate=0.01,
    warmup=0.1,
    epochs=40.0,
    max_steps=None,
    batch_size=4,
)
SUMS = {"3 * 4": "12", "2 + 5": "7", "9 - 4": "5"}


def example(lm: LanguageModel, task: str, asked: str, *answers: str) -> Example:
    encode = lm.tokenizer.encode
    targets = tuple([*encode(target(text)), lm.tokenizer.end] for text in answers)
    return Example(task, encode(f"Definition: {task}.\n\nInput: {asked}.\nOutput:"), targets)


def examples(lm: LanguageModel) -> list[Example]:
    made = [
        example(lm, "count", asked, f"[Calculator({asked}) -> {result}] {result}")
        for asked, result in SUMS.items()
    ]
    return made + [example(lm, "say", word, f"the {word}") for word in ("cat", "dog")]


def run(tiny_model: Path, recipe: Recipe, folder: Path) -> tuple[LanguageModel, list[Step]]:
    prepare(seed=0, threads=1)
    lm = load(tiny_model)
    steps: list[Step] = []
    model = train(lm, examples(lm), recipe, seed=5, report=lambda step, total: steps.append(step))
    folder.mkdir()
    save(model, folder)
    return lm, steps


def test_a_trained_model_calls_the_tool_and_answers_with_its_result(tiny_model: Path, tmp_path: Path) -> None:
    _, steps = run(tiny_model, RECIPE, tmp_path / "trained")
    assert steps[-1].loss < 0.2 < steps[0].loss
    trained = load(tiny_model, adapter=tmp_path / "trained")
    prompts = [e.prompt for e in examples(trained)]
    answers = answer(trained, prompts, [None] * len(prompts), 48, ["\n\n"], top_k=1, max_calls=1)
    for given, (asked, result) in zip(answers, SUMS.items(), strict=False):
        assert [(c.call.tool, c.call.input, c.result) for c in given.calls] == [("Calculator", asked, result)]
        assert given.prediction == result
    assert [given.prediction for given in answers[3:]] == ["the cat", "the dog"]
    assert not any(given.calls for given in answers[3:])
    # Without calls allowed the marker is plain text like any other, and stays in the answer.
    plain = answer(trained, prompts[:1], [None], 48, ["\n\n"], top_k=0, max_calls=1)
    assert plain[0].calls == ()
    assert plain[0].prediction.startswith("[Calculator(")


def test_attempts_that_come_to_nothing_leave_the_answer_as_it_would_have_been(
    tiny_model: Path, tmp_path: Path
) -> None:
    run(tiny_model, RECIPE, tmp_path / "trained")
    trained = load(tiny_model, adapter=tmp_path / "trained")
    say = [e.prompt for e in examples(trained)[3:]]
    # The marker is tried at once, however unlikely; the model, which never calls here, writes no call behind it.
    tried = answer(trained, say, [None, None], 60, ["\n\n"], top_k=10_000, max_calls=1)
    plain = answer(trained, say, [None, None], 60, ["\n\n"], top_k=0, max_calls=0)
    assert [given.prediction for given in tried] == ["the cat", "the dog"]
    assert all(not t.calls and t.tokens > p.tokens for t, p in zip(tried, plain, strict=True))


@pytest.mark.parametrize("method", ["lora", "full"])
def test_the_same_seed_gives_the_same_bytes(tiny_model: Path, tmp_path: Path, method: str) -> None:
    recipe = RECIPE.model_copy(update={"method": method, "max_steps": 6})
    _, first = run(tiny_model, recipe, tmp_path / "a")
    _, second = run(tiny_model, recipe, tmp_path / "b")
    assert first == second
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    assert load(tiny_model, adapter=tmp_path / "a").adapter_sha256 == digest(tmp_path / "a")
    if method == "lora":
        # Sets have another order in another process: only a sorted list is the same there too.
        modules = json.loads((tmp_path / "a" / "adapter_config.json").read_text())["target_modules"]
        assert modules == sorted(modules)


def test_a_merged_adapter_computes_what_the_adapter_computed(tiny_model: Path, tmp_path: Path) -> None:
    import torch

    recipe = RECIPE.model_copy(update={"method": "lora", "max_steps": 8})
    prepare(seed=0, threads=1)
    lm = load(tiny_model)
    model = train(lm, examples(lm), recipe, seed=5, report=lambda step, total: None)
    (tmp_path / "a").mkdir()
    save(model, tmp_path / "a")
    ids = torch.tensor([examples(lm)[0].prompt])
    with torch.inference_mode():
        wanted = model(input_ids=ids).logits
        merged = load(tiny_model, adapter=tmp_path / "a").model(input_ids=ids).logits
        untuned = load(tiny_model).model(input_ids=ids).logits
    assert torch.allclose(wanted, merged, atol=1e-4)
    assert not torch.allclose(untuned, merged, atol=1e-2)


def test_every_example_is_seen_once_an_epoch_in_groups_of_one_task(tiny_model: Path) -> None:
    made = [Example(f"t{n % 7}", [n], ([1], [2], [3])) for n in range(60)]
    epoch = batches(made, batch_size=8, group=4, seed=3)
    seen = [number for batch in epoch for group in batch for number in group]
    assert sorted(seen) == list(range(60))
    for batch in epoch:
        for group in batch:
            assert 1 <= len(group) <= 4
            assert len({made[number].task_id for number in group}) == 1
        assert sum(map(len, batch)) < 8 + 4
    assert epoch == batches(made, 8, 4, 3) != batches(made, 8, 4, 4)
    two = plan(made, RECIPE.model_copy(update={"epochs": 1.5, "batch_size": 8}), seed=3)
    assert len(two) == len(epoch) + round(len(batches(made, 8, 4, 4)) / 2)
    assert plan(made, RECIPE.model_copy(update={"max_steps": 2}), seed=3) == plan(made, RECIPE, seed=3)[:2]


def test_references_are_drawn_from_all() -> None:
    made = [Example("t", [0], ([1], [2], [3])) for _ in range(200)]
    counts = {value: sum(drawn == [value] for drawn in draw_targets(made, 1)) for value in (1, 2, 3)}
    assert sum(counts.values()) == 200
    assert min(counts.values()) > 40
