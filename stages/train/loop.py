"""The training loop: one optimiser step a batch, loss on the targets only, constant rate after a warm-up."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from stages.lm.load import LanguageModel
from stages.lm.weights import write_checksums
from stages.params import Recipe
from stages.train.examples import Example, batches, draw_targets
from stages.train.packing import Packed, pack

# Instances of one task in one sequence. More would save more tokens but mix tasks less within a batch.
GROUP = 4


@dataclass(frozen=True)
class Step:
    """What one optimiser step did: mean loss a target token (nats), learning rate, tokens read and learnt from."""

    step: int
    loss: float
    learning_rate: float
    tokens: int
    target_tokens: int


def plan(
    examples: Sequence[Example], recipe: Recipe, seed: int
) -> list[list[tuple[list[int], list[list[int]]]]]:
    """The whole run in advance: for every step, its groups of (example numbers, targets drawn for them)."""
    steps: list[list[tuple[list[int], list[list[int]]]]] = []
    for epoch in range(math.ceil(recipe.epochs)):
        drawn = draw_targets(examples, seed + epoch)
        made = batches(examples, recipe.batch_size, GROUP, seed + epoch)
        wanted = round(len(made) * min(1.0, recipe.epochs - epoch))
        steps += [
            [(numbers, [drawn[number] for number in numbers]) for numbers in groups]
            for groups in made[: max(1, wanted)]
        ]
    return steps[: recipe.max_steps]


def add_lora(model: Any, rank: int) -> Any:
    """The model with a LoRA adapter of this rank on every linear layer; only the adapter learns."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    return get_peft_model(model, config)


def group_loss(model: Any, packed: Packed) -> torch.Tensor:
    """The summed negative log-likelihood of the targets of one packed group, in float32."""
    device = packed.ids.device
    result = model(
        input_ids=packed.ids,
        position_ids=packed.positions,
        attention_mask=packed.mask,
        use_cache=False,
        logits_to_keep=packed.places,
    )
    labels = packed.labels.to(device)
    return torch.nn.functional.cross_entropy(result.logits[0].float(), labels, reduction="sum")


def train(
    lm: LanguageModel,
    examples: Sequence[Example],
    recipe: Recipe,
    seed: int,
    report: Callable[[Step, int], None],
) -> Any:
    """Fine-tune `lm.model` on the examples by the recipe; returns the trained model, on the CPU or GPU it ran on.

    `report` is told every step and the number of steps. With `method: full` the weights stay in float32 and
    `precision` is what the passes compute in; with `lora` the frozen weights are in `precision`.
    """
    mixed = "bf16" if recipe.method == "full" and recipe.precision == "bfloat16" else "no"
    accelerator = Accelerator(mixed_precision=mixed)
    torch.manual_seed(seed)
    model = add_lora(lm.model, recipe.lora_rank) if recipe.method == "lora" else lm.model
    model.train()
    steps = plan(examples, recipe, seed)
    warm = max(1, round(recipe.warmup * len(steps)))
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learning, lr=recipe.learning_rate, weight_decay=0.0)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: min(1.0, (done + 1) / warm))
    model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
    dtype = torch.float32 if recipe.method == "full" else getattr(torch, recipe.precision)
    for number, groups in enumerate(steps, start=1):
        target_tokens = sum(len(target) for _, targets in groups for target in targets)
        total, tokens = 0.0, 0
        for numbers, targets in groups:
            packed = pack([examples[place].prompt for place in numbers], targets, dtype)
            packed = Packed(*(tensor.to(accelerator.device) for tensor in vars(packed).values()))
            with accelerator.autocast():
                loss = group_loss(model, packed) / target_tokens
            accelerator.backward(loss)
            total += loss.item()
            tokens += packed.length
        accelerator.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        rate = scheduler.get_last_lr()[0]
        scheduler.step()
        optimizer.zero_grad()
        report(Step(number, total, rate, tokens, target_tokens), len(steps))
    return accelerator.unwrap_model(model)


def save(model: Any, folder: Path) -> str:
    """Write the adapter, or the whole model, as safetensors with a checksum into `folder`; returns the digest."""
    model.save_pretrained(folder)
    # peft writes a page about the adapter with a link to the place of the base model; it says nothing of ours.
    (folder / "README.md").unlink(missing_ok=True)
    config = folder / "adapter_config.json"
    if config.exists():
        # peft holds the module names in a set, whose order changes from process to process.
        values = json.loads(config.read_text(encoding="utf-8"))
        values["target_modules"] = sorted(values["target_modules"])
        config.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return write_checksums(folder)
