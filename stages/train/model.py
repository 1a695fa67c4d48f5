"""The model that learns: adapters, the loss of one forward pass, and the folder that is published."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch

from nightjar.models.directory.weights import write_checksums
from nightjar.params.train import Recipe
from stages.train.packing import IGNORED, Packed, PaddedBatch, pack, pad
from stages.train.step_plan import EncodedInstances, Unit, pairs

# What counts the same in a loss: each target token, or each instance.
Weighting = Literal["tokens", "instances"]


def learner(model: Any, recipe: Recipe, encoder_decoder: bool) -> Any:
    """`model` as the recipe trains it: with a LoRA adapter on every linear layer, or all of it; checkpointing gradients
    (activations are computed twice instead of kept) if the recipe says so.
    """
    if recipe.gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if recipe.method == "full":
        return model
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=recipe.lora_rank,
        lora_alpha=2 * recipe.lora_rank,
        lora_dropout=0.0,
        target_modules="all-linear",
        task_type="SEQ_2_SEQ_LM" if encoder_decoder else "CAUSAL_LM",
    )
    with warnings.catch_warnings():
        # peft asks transformers by a name that is going away.
        warnings.simplefilter("ignore", FutureWarning)
        return get_peft_model(model, config)


def add_token(model: Any) -> int:
    """Add a token that no text has to the vocabulary, with the first weights of a new model; returns its id."""
    size: int = model.get_input_embeddings().num_embeddings
    model.resize_token_embeddings(size + 1, mean_resizing=False)
    return size


def remove_token(model: Any) -> None:
    """Remove the last token from the vocabulary, which `add_token` added."""
    model.resize_token_embeddings(model.get_input_embeddings().num_embeddings - 1)


def learning(model: Any) -> dict[str, torch.nn.Parameter]:
    """The parameters that learn, by name; tied ones once."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def batch(examples: EncodedInstances, unit: Unit, config: Any) -> Packed | PaddedBatch:
    """The tensors of one forward pass, on the CPU."""
    if examples.encoder_decoder:
        start, padding = config.decoder_start_token_id, config.pad_token_id
        start = padding if start is None else start
        return pad(pairs(examples, [draw for group in unit for draw in group]), start, padding or 0)
    return pack([pairs(examples, group) for group in unit])


def to(batch: Packed | PaddedBatch, device: torch.device) -> Packed | PaddedBatch:
    """The same tensors on a device."""
    tensors: dict[str, Any] = {
        name: value.to(device) for name, value in vars(batch).items() if isinstance(value, torch.Tensor)
    }
    return replace(batch, **tensors)


def loss_of(
    model: Any, batch: Packed | PaddedBatch, dtype: torch.dtype, weighting: Weighting = "tokens"
) -> torch.Tensor:
    """The summed negative log-likelihood (nats) of all targets, in float32; weighted by instances, the sum of each
    target's mean. `dtype`: what the pass computes in.
    """
    if isinstance(batch, Packed):
        length, label_columns = batch.ids.shape[1], batch.labels.shape[1]
        logits = model(
            input_ids=batch.ids,
            position_ids=batch.positions,
            attention_mask=batch.mask(dtype),
            use_cache=False,
            # Places, not their number: gradients through a slice take a twentieth longer on a CPU.
            logits_to_keep=torch.arange(length - label_columns, length, device=batch.ids.device),
        ).logits
    else:
        logits = model(
            input_ids=batch.ids, attention_mask=batch.seen, decoder_input_ids=batch.before, use_cache=False
        ).logits
    scores, labels = logits.flatten(0, 1).float(), batch.labels.flatten()
    cross_entropy = partial(torch.nn.functional.cross_entropy, scores, labels, ignore_index=IGNORED)
    if weighting == "tokens":
        return cross_entropy(reduction="sum")
    return (cross_entropy(reduction="none") / batch.lengths().flatten()).sum()


def save(model: Any, folder: Path, weights: dict[str, torch.Tensor] | None = None) -> str:
    """Write the adapter, or the whole model, as safetensors with a checksum into `folder`; returns the digest.

    `weights` are those of a model that is spread over processes; by default the model's own.
    """
    model.save_pretrained(folder, **({} if weights is None else {"state_dict": weights}))
    # peft writes a page about the adapter with a link to the place of the base model; it says nothing of ours.
    (folder / "README.md").unlink(missing_ok=True)
    config = folder / "adapter_config.json"
    if config.exists():
        # peft holds the module names in a set, whose order changes from process to process.
        values = json.loads(config.read_text(encoding="utf-8"))
        values["target_modules"] = sorted(values["target_modules"])
        config.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return write_checksums(folder)
