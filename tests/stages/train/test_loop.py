"""Training on a tiny model: it learns, repeats to the byte, and what it learnt can be used, tools and all."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from transformers import get_constant_schedule_with_warmup, get_linear_schedule_with_warmup

from nightjar.models.directory.weights import weights_digest
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import load, prepare
from nightjar.params.train import Recipe
from nightjar.prompts.model_text import model_target
from nightjar.tools import Toolbox, answer, make
from stages.train import loop
from stages.train.loop import TrainedModel, Trainer
from stages.train.model import add_token, loss_of, remove_token, save
from stages.train.packing import Packed
from stages.train.recipe_training import _dev_facts
from stages.train.step_plan import EncodedInstances
from stages.train.training_state import Checkpoints
from tests.stages.train.conftest import Instance, Maker, recipe

SUMS = {"3 * 4": "12", "2 + 5": "7", "9 - 4": "5"}


def instance(lm: LanguageModel, side: str, task: str, asked: str, *answers: str) -> Instance:
    closing = "" if lm.encoder_decoder else "\n"
    prompt = lm.tokenizer.encode(f"Definition: {task}.\n{closing}Input: {asked}.\nOutput:")
    targets = [lm.tokenizer.target(model_target(text, lm.encoder_decoder)) for text in answers]
    return side, task, asked, [prompt], targets


def instances(lm: LanguageModel, dev: int = 0) -> list[Instance]:
    made = [
        instance(lm, "train", "count", asked, f"[Calculator({asked}) -> {result}] {result}")
        for asked, result in SUMS.items()
    ]
    made += [instance(lm, "train", "say", word, f"the {word}") for word in ("cat", "dog")]
    return made + [instance(lm, "dev", "tell", f"{n}", f"it is {n}") for n in range(dev)]


def trainer_of(lm: LanguageModel, examples: EncodedInstances, chosen: Recipe, folder: Path) -> Trainer:
    AcceleratorState._reset_state()
    mixed = "bf16" if (chosen.method, chosen.precision) == ("full", "bfloat16") else "no"
    accelerator, checkpoints = Accelerator(mixed_precision=mixed), Checkpoints(folder / "checkpoints")
    return Trainer(lm.model, examples, chosen, 5, accelerator, checkpoints, lambda row, steps: None)


def train(lm: LanguageModel, examples: EncodedInstances, chosen: Recipe, folder: Path) -> TrainedModel:
    return trainer_of(lm, examples, chosen, folder).run()


def first_loss(trainer: Trainer, count: int) -> torch.Tensor:
    """The loss of the first step, which has so many instances, without dropout and weighted by instances."""
    trainer.model.eval()
    passes = trainer.plan.step(1)
    return sum(trainer._loss(trainer._tensors(unit), "instances") for unit in passes) / count  # type: ignore[return-value]


def saved(trained: TrainedModel, folder: Path) -> Path:
    (folder / "trained").mkdir()
    save(trained.model, folder / "trained")
    return folder / "trained"


def fresh(model: Path, precision: str = "float32") -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(model, precision)


def test_a_trained_model_calls_the_tool_and_answers_with_its_result(
    tiny_model: Path, tmp_path: Path, encoded: Maker
) -> None:
    lm = fresh(tiny_model)
    examples = encoded(instances(lm))
    trained = train(lm, examples, recipe(epochs=40.0), tmp_path)
    assert trained.history.steps[-1].loss < 0.2 < trained.history.steps[0].loss
    assert trained.chosen_step == len(trained.history.steps) == 80
    lm = load(tiny_model, adapter=saved(trained, tmp_path))
    prompts = [examples.prompt(n).tolist() for n in range(5)]
    toolbox = Toolbox([make("calculator")])
    answers = answer(lm, prompts, toolbox, max_new_tokens=48, top_k=1)
    for given, (asked, result) in zip(answers, SUMS.items(), strict=False):
        assert [(c.tool, c.input, c.result) for c in given.calls] == [("Calculator", asked, result)]
        assert given.prediction == result
    assert [given.prediction for given in answers[3:]] == ["the cat", "the dog"]
    assert not any(given.calls for given in answers[3:])
    # With calls off the marker is plain text like any other, and stays in the answer; disabled it is not written.
    plain = answer(lm, prompts[:1], toolbox, calls="off", max_new_tokens=48)
    assert plain[0].calls == ()
    assert plain[0].prediction.startswith("[Calculator(")
    disabled = answer(lm, prompts[:1], toolbox, calls="disabled", max_new_tokens=48)
    assert "[" not in disabled[0].text
    # The marker is tried at once, however unlikely; the model, which never calls here, writes no call behind it, and
    # the answer is as it would have been.
    tried = answer(lm, prompts[3:], toolbox, max_new_tokens=60, top_k=10_000)
    alone = answer(lm, prompts[3:], calls="off", max_new_tokens=60)
    assert [given.prediction for given in tried] == ["the cat", "the dog"]
    assert all(not t.calls and t.tokens > p.tokens for t, p in zip(tried, alone, strict=True))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("method", ["lora", "full"])
def test_an_encoder_decoder_learns(
    tiny_t5: Path, tmp_path: Path, encoded: Maker, method: str, precision: str
) -> None:
    lm = fresh(tiny_t5, precision if method == "lora" else "float32")
    examples = encoded(instances(lm), encoder_decoder=True)
    changes: dict[str, Any] = {"method": method, "precision": precision, "epochs": 12.0}
    if method == "lora":
        changes |= {"learning_rate": 0.03, "lora_rank": 16}
    trained = train(lm, examples, recipe(**changes), tmp_path)
    first, last = trained.history.steps[0].loss, trained.history.steps[-1].loss
    assert last < 0.75 * first
    assert all(p.dtype == torch.float32 for p in trained.model.parameters() if p.requires_grad)
    adapter = saved(trained, tmp_path)
    loaded = load(tiny_t5, adapter=adapter)
    assert loaded.adapter_sha256 == weights_digest(adapter)
    ids = torch.tensor([examples.prompt(0).tolist()])
    start = torch.tensor([[0]])
    with torch.inference_mode():
        wanted = trained.model(input_ids=ids, decoder_input_ids=start).logits.float()
        got = loaded.model(input_ids=ids, decoder_input_ids=start).logits
        before = load(tiny_t5).model(input_ids=ids, decoder_input_ids=start).logits
    # How far bfloat16 is off depends on the processor: compared with what the training changed it is little on all.
    if precision == "bfloat16":
        assert (wanted - got).norm() < 0.1 * (got - before).norm()
    else:
        assert torch.allclose(wanted, got, atol=1e-3)


def plain_loss(model: Any, examples: EncodedInstances, numbers: list[int]) -> float:
    """Mean loss a target token, by transformers' own loss, an instance at a time."""
    total, count = 0.0, 0
    with torch.no_grad():
        for n in numbers:
            prompt, target = examples.prompt(n).tolist(), examples.target(n).tolist()
            labels = torch.tensor([[-100] * len(prompt) + target])
            total += float(model(input_ids=torch.tensor([[*prompt, *target]]), labels=labels).loss) * len(
                target
            )
            count += len(target)
    return total / count


def test_losses_are_means_over_target_tokens_and_the_best_weights_are_kept(
    tiny_model: Path, tmp_path: Path, encoded: Maker
) -> None:
    lm = fresh(tiny_model)
    examples = encoded(instances(lm, dev=3))
    before = plain_loss(lm.model, examples, list(range(5)))
    # A rate that soon spoils the dev loss, after it has fallen.
    made = recipe(epochs=20.0, evaluate_every=3, batch_size=5, warmup=0.01, learning_rate=0.02)
    trained = train(lm, examples, made, tmp_path)
    assert trained.history.steps[0].loss == pytest.approx(before, rel=1e-4)
    assert [dev.step for dev in trained.history.dev] == [3, 6, 9, 12, 15, 18, 20]
    losses = [dev.loss for dev in trained.history.dev]
    assert min(losses) < losses[-1]
    best = trained.history.dev[losses.index(min(losses))]
    assert trained.chosen_step == best.step
    assert plain_loss(trained.model, examples, [5, 6, 7]) == pytest.approx(best.loss, rel=1e-4)
    assert best.target_tokens == sum(len(examples.target(n)) for n in (5, 6, 7))


@pytest.mark.parametrize("encoder_decoder", [False, True])
def test_instances_weigh_equally(
    tiny_model: Path, tiny_t5: Path, tmp_path: Path, encoded: Maker, encoder_decoder: bool
) -> None:
    """Tk-Instruct's scripts: one instance a device. The loss and the gradient are those of transformers, one by one."""
    source = tiny_t5 if encoder_decoder else tiny_model
    lm = fresh(source)
    rows = [
        instance(lm, "train", "say", word, f"the {word}" * (1 + 4 * (word == "cat")))
        for word in ("cat", "dog")
    ]
    rows += instances(lm)
    examples = encoded(rows, encoder_decoder=encoder_decoder)
    losses = []
    for n in range(len(rows)):
        prompt, target = examples.prompt(n).tolist(), examples.target(n).tolist()
        ids, labels = (
            (prompt, target) if encoder_decoder else ([*prompt, *target], [-100] * len(prompt) + target)
        )
        losses.append(lm.model(input_ids=torch.tensor([ids]), labels=torch.tensor([labels])).loss)
    assert len({len(examples.target(n)) for n in range(len(rows))}) > 1
    mean = torch.stack(losses).mean()
    mean.backward()
    gradients = {name: p.grad.clone() for name, p in lm.model.named_parameters() if p.grad is not None}
    lm = fresh(source)
    made = recipe(epochs=1.0, batch_size=len(rows), weighting="instances", learning_rate=1e-9, warmup=0.0)
    trainer = trainer_of(lm, examples, made, tmp_path)
    total = first_loss(trainer, len(rows))
    assert total.item() == pytest.approx(mean.item(), rel=1e-4)
    total.backward()
    for name, parameter in trainer.parameters.items():
        if name in gradients:
            difference = (parameter.grad - gradients[name]).norm()
            assert difference <= 1e-3 * gradients[name].norm() + 1e-6, name
    step = trainer.run().history.steps[0]
    assert step.target_tokens == sum(len(examples.target(n)) for n in range(len(rows)))
    if not encoder_decoder:
        assert step.loss == pytest.approx(mean.item(), rel=1e-3)


def test_padded_prompts_are_those_of_the_published_trainer(
    tiny_model: Path, tmp_path: Path, encoded: Maker
) -> None:
    """ProtoQA_GPT2: question, pads, answer, pads; no attention mask; the loss is of the answer's tokens alone."""
    lm = fresh(tiny_model)
    size = lm.model.config.vocab_size
    examples = encoded(instances(lm, dev=1))
    plain = [examples.prompt(number).tolist() for number in range(6)]
    longest = max(map(len, plain[:5]))
    examples.pad_prompts(add_token(lm.model))
    losses = []
    for number, ids in enumerate(plain):
        assert examples.prompt(number).tolist() == ids + [size] * (longest - len(ids))
        target = examples.target(number).tolist()
        after = [size] * (40 - len(target))
        labels = [-100] * longest + target + [-100] * len(after)
        padded = torch.tensor([[*ids, *[size] * (longest - len(ids)), *target, *after]])
        losses.append(lm.model(input_ids=padded, labels=torch.tensor([labels])).loss)
    assert len(set(map(len, plain[:5]))) > 1
    changes = recipe(epochs=1.0, batch_size=5, weighting="instances", learning_rate=1e-9, warmup=0.0)
    trainer = trainer_of(lm, examples, changes, tmp_path)
    total = first_loss(trainer, 5)
    assert total.item() == pytest.approx(torch.stack(losses[:5]).mean().item(), rel=1e-4)
    trained = trainer.run()
    remove_token(trained.model)
    loaded = load(tiny_model, adapter=saved(trained, tmp_path)).model
    assert loaded.config.vocab_size == loaded.get_output_embeddings().weight.shape[0] == size


@pytest.mark.parametrize("warmup", [0.0, 0.3])
@pytest.mark.parametrize("schedule", ["constant", "linear"])
def test_learning_rates_are_those_of_transformers(
    tiny_model: Path, tmp_path: Path, encoded: Maker, schedule: str, warmup: float
) -> None:
    lm = fresh(tiny_model)
    made = recipe(epochs=5.0, batch_size=5, schedule=schedule, warmup=warmup, learning_rate=0.01)
    trained = train(lm, encoded(instances(lm)), made, tmp_path)
    steps = len(trained.history.steps)
    warm = round(warmup * steps)
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=0.01)
    if schedule == "linear":
        scheduler = get_linear_schedule_with_warmup(optimizer, warm, steps)
        first = 0
    else:
        scheduler = get_constant_schedule_with_warmup(optimizer, max(1, warm))
        # Ours begins with the rate that this one has after a step.
        first = 1
    wanted = []
    for _ in range(steps + 1):
        wanted.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    rates = [step.learning_rate for step in trained.history.steps]
    ours = first or (1 if warm else 0)
    assert rates[warm:] == pytest.approx(wanted[warm + first :][: steps - warm])
    assert rates[:warm] == pytest.approx(wanted[ours : ours + warm])


def test_texts_are_measured_before_the_first_step_and_the_best_step_is_kept(
    tiny_model: Path, tmp_path: Path, encoded: Maker
) -> None:
    lm = fresh(tiny_model)
    end = lm.tokenizer.end

    def text(side: str, n: int, words: str) -> Instance:
        return side, "corpus", f"{n}#0", [[end]], [lm.tokenizer.target(f" {words}")]

    train_texts = [text("train", n, f"{n} and [Calculator({n} + 1) -> {n + 1}] {n + 1}") for n in range(6)]
    examples = encoded([*train_texts, *(text("dev", n, f"{n} and {n}") for n in range(3))])
    before = plain_loss(lm.model, examples, [6, 7, 8])
    made = recipe(
        data="corpus", sequence_tokens=64, batch_tokens=64, epochs=20.0, evaluate_every=5, learning_rate=0.02
    )
    trained = train(lm, examples, made, tmp_path)
    dev = trained.history.dev
    assert [row.step for row in dev] == [0, *range(5, 41, 5)]
    assert dev[0].loss == pytest.approx(before, rel=1e-4)
    # Not step 0, however bad all others are: that would be no training.
    best = min(dev[1:], key=lambda row: row.loss)
    assert trained.chosen_step == best.step
    assert plain_loss(trained.model, examples, [6, 7, 8]) == pytest.approx(best.loss, rel=1e-4)
    facts = _dev_facts(trained, made)
    assert facts["perplexity"] == pytest.approx(math.exp(best.loss), abs=1e-3)
    assert facts["perplexity_before"] == pytest.approx(math.exp(before), rel=1e-3)
    assert len(facts["perplexities"]) == len(dev)


def test_without_a_dev_side_the_last_weights_are_kept(
    tiny_model: Path, tmp_path: Path, encoded: Maker
) -> None:
    lm = fresh(tiny_model)
    trained = train(lm, encoded(instances(lm)), recipe(evaluate_every=1), tmp_path)
    assert (trained.history.dev, trained.chosen_step) == ([], len(trained.history.steps))


@pytest.mark.parametrize(
    ("change", "tolerance"), [({"batch_tokens": 1}, 2e-4), ({"gradient_checkpointing": True}, 1e-6)]
)
def test_neither_passes_nor_recomputing_change_what_is_learnt(
    tiny_model: Path, tmp_path: Path, encoded: Maker, change: dict[str, Any], tolerance: float
) -> None:
    found = []
    for changes in ({}, change):
        lm = fresh(tiny_model)
        made = recipe(max_steps=3, learning_rate=0.001, **changes)
        trained = train(lm, encoded(instances(lm)), made, tmp_path)
        found.append((trained.history.steps, torch.cat([p.flatten() for p in trained.model.parameters()])))
    (steps, weights), (others, other) = found
    assert [step.loss for step in steps] == pytest.approx([step.loss for step in others], rel=1e-5)
    assert float((weights - other).detach().abs().max()) <= tolerance
    assert [step.target_tokens for step in steps] == [step.target_tokens for step in others]


def test_a_model_that_cannot_skip_blocks_learns_with_a_dense_mask(
    tiny_model: Path, encoded: Maker, tmp_path: Path
) -> None:
    lm = load(tiny_model)
    for module in lm.model.modules():
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = 0.1  # which the kernels by blocks do not have
    trainer = trainer_of(lm, encoded(instances(lm)), recipe(), tmp_path)
    assert not trainer.reads_blocks()
    assert all(parameter.grad is None for parameter in trainer.parameters.values())
    assert not trainer.run().blocks


def test_kernels_that_fail_at_another_size_are_not_used(
    tiny_model: Path, encoded: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are compiled again when the size of a pass changes. A dense mask stands in for them, up to a size."""
    lm = load(tiny_model)
    examples, sizes = encoded(instances(lm)), set[tuple[int, ...]]()

    def kernels(model: Any, made: Packed, dtype: torch.dtype, *weighting: str) -> torch.Tensor:
        if made.blocks:
            sizes.add(tuple(made.ids.shape))
            if len(sizes) > allowed:
                raise RuntimeError("no kernel for this size")
        return loss_of(model, replace(made, blocks=False), dtype, *weighting)

    monkeypatch.setattr(loop, "loss_of", kernels)
    for allowed in (2, 1):
        sizes.clear()
        trainer = trainer_of(lm, examples, recipe(), tmp_path / str(allowed))
        assert trainer.reads_blocks() == (allowed == 2)
        assert len(sizes) == 2


def test_gradient_checkpointing_recomputes(tiny_model: Path) -> None:
    """It is on in the model that learns: otherwise the test before would compare a run with itself."""
    from stages.train.model import learner

    for method in ("lora", "full"):
        model = learner(fresh(tiny_model).model, recipe(method=method, gradient_checkpointing=True), False)
        assert any(getattr(module, "gradient_checkpointing", False) for module in model.modules())
