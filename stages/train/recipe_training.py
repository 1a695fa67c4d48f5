"""One recipe from token ids to a published model, in this process or in every process of a launch."""

from __future__ import annotations

import json
import math
import os
import shutil
from contextlib import nullcontext
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.files import replacing
from nightjar.core.identity import digest, sha256_of
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import load, prepare
from nightjar.params import Params
from nightjar.params.train import SHARDED, Recipe
from stages._runtime.checkpoint import code_of
from stages._runtime.stage import log
from stages.train.loop import Dev, History, Step, TrainedModel, Trainer
from stages.train.model import add_token, remove_token, save
from stages.train.step_plan import EncodedInstances
from stages.train.training_state import Checkpoints

# What may change the last bits of a trained model: a checkpoint of other versions is not resumed.
PACKAGES = ("torch", "transformers", "accelerate", "peft", "numpy")


def fit(name: str, params: Params) -> dict[str, Any]:
    """Train the recipe `name` and publish models/train/<name>; returns the facts of the run.

    With several processes each calls this, and the first one writes. The weights that learn are in float32; with LoRA,
    the frozen ones are in `precision` unless they are spread over processes.
    Raises NightjarError for a missing or damaged input, or if the same training is already running.
    """
    recipe = params.train.recipe(name)
    sharded = params.train.launcher in SHARDED
    params.train.check(name)
    seed = params.seed + recipe.seed
    prepare(seed, params.threads)
    examples = EncodedInstances(paths.ENCODED / name)
    all_float32 = recipe.method == "full" or sharded
    mixed = "bf16" if all_float32 and recipe.precision == "bfloat16" else "no"
    accelerator = Accelerator(mixed_precision=mixed)
    lm = load(paths.LANGUAGE_MODEL, "float32" if all_float32 else recipe.precision)
    if lm.encoder_decoder != examples.encoder_decoder:
        what = "the token ids were made for the other kind of model"
        raise NightjarError(what, examples.file, "run: nightjar rebuild encode")
    if recipe.pad_prompts:
        if lm.encoder_decoder:
            fix = f"leave train.recipes.{name}.pad_prompts out"
            raise NightjarError("prompts of an encoder-decoder are not padded", paths.LANGUAGE_MODEL, fix)
        examples.pad_prompts(add_token(lm.model))
    lm.model.to("cpu" if sharded else accelerator.device)
    if sharded and (plugin := accelerator.state.deepspeed_plugin) is not None:
        # Wanted where no data loader is prepared; the passes are our own.
        plugin.deepspeed_config["train_micro_batch_size_per_gpu"] = 1
    configuration = {
        "recipe": {key: value for key, value in recipe.model_dump().items() if key != "checkpoint_every"},
        "seed": seed,
        "threads": params.threads,
        "launcher": params.train.launcher,
        "processes": accelerator.num_processes,
        "device": accelerator.device.type,
        "base": lm.sha256,
        "tokens": sha256_of(examples.file),
        "versions": {package: version(package) for package in PACKAGES},
        "code": code_of("train"),
    }
    checkpoints = Checkpoints(paths.CHECKPOINTS / digest(configuration))
    curve = Log(paths.CURVES / name)
    texts = recipe.data == "corpus"
    message = "step %d of %d, perplexity %.2f" if texts else "step %d of %d, dev loss %.3f"

    def report(row: Step | Dev, steps: int) -> None:
        if not accelerator.is_main_process:
            return
        curve.follow(trainer.history)
        if isinstance(row, Dev):
            log.info(message, row.step, steps, math.exp(row.loss) if texts else row.loss)
        elif row.step % 5 == 0 or row.step in (1, steps):
            log.info("step %d of %d, loss %.3f", row.step, steps, row.loss)

    with checkpoints.locked() if accelerator.is_main_process else nullcontext():
        trainer = Trainer(lm.model, examples, recipe, seed, accelerator, checkpoints, report)
        trained = trainer.run()
        if recipe.pad_prompts:
            remove_token(trained.model)
        facts: dict[str, Any] = {}
        if accelerator.is_main_process:
            curve.follow(trained.history)
            record = {
                "recipe": name,
                **recipe.model_dump(),
                "base_sha256": lm.sha256,
                "seed": seed,
                "processes": accelerator.num_processes,
                "chosen_step": trained.chosen_step,
            }
            sha256 = publish(trained, paths.TRAINED / name, record, curve)
            facts = _facts(trained, examples, lm, sha256) | _dev_facts(trained, recipe)
            checkpoints.remove()
    accelerator.wait_for_everyone()
    accelerator.end_training()
    return facts


def publish(trained: TrainedModel, output: Path, record: dict[str, Any], curve: Log) -> str:
    """Write model, recipe.json, steps.jsonl, dev.jsonl and the loss curve, all or nothing; returns the digest."""
    with replacing(output) as folder:
        folder.mkdir()
        sha256 = save(trained.model, folder, trained.weights)
        text = json.dumps(record, indent=2, sort_keys=True) + "\n"
        (folder / "recipe.json").write_text(text, encoding="utf-8")
        for file, rows in (("steps", trained.history.steps), ("dev", trained.history.dev)):
            lines = "".join(json.dumps(asdict(row)) + "\n" for row in rows)
            (folder / f"{file}.jsonl").write_text(lines, encoding="utf-8")
        curve.publish(folder / "dvclive")
    return sha256


def _facts(
    trained: TrainedModel, examples: EncodedInstances, lm: LanguageModel, sha256: str
) -> dict[str, Any]:
    steps = trained.history.steps
    last = steps[-5:]
    return {
        "instances": len(examples),
        "train_instances": len(examples.train),
        "dev_instances": len(examples.dev),
        "encoder_decoder": lm.encoder_decoder,
        "steps": len(steps),
        "chosen_step": trained.chosen_step,
        "attention_by_blocks": trained.blocks,
        "tokens": sum(step.tokens for step in steps),
        "target_tokens": sum(step.target_tokens for step in steps),
        "first_loss": round(steps[0].loss, 4),
        "last_loss": round(sum(step.loss for step in last) / len(last), 4),
        "sha256": sha256,
    }


def _dev_facts(trained: TrainedModel, recipe: Recipe) -> dict[str, Any]:
    """The losses on the dev split, or, of a recipe of texts, the perplexities of the held-out documents.

    A perplexity is exp of the mean loss a token, the end token of each text included. The one of step 0 is the model's
    before the training.
    """
    dev = trained.history.dev
    if recipe.data != "corpus":
        losses = [{"step": row.step, "loss": round(row.loss, 4)} for row in dev]
        return {"dev_loss": min((row["loss"] for row in losses), default=None), "dev_losses": losses}
    values = {row.step: round(math.exp(row.loss), 3) for row in dev}
    return {
        "perplexity": values.get(trained.chosen_step),
        "perplexity_before": values.get(0),
        "perplexities": [{"step": step, "perplexity": value} for step, value in values.items()],
    }


class Log:
    """Follows the history of one run into a folder, which it empties first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._live: Any = None
        self._steps = self._dev = 0

    def follow(self, history: History) -> None:
        """Write what the history has gained."""
        live = self._open()
        for step in history.steps[self._steps :]:
            live.step = step.step
            live.log_metric("train/loss", step.loss)
            live.log_metric("train/learning_rate", step.learning_rate)
        for dev in history.dev[self._dev :]:
            live.step = dev.step
            live.log_metric("dev/loss", dev.loss)
        self._steps, self._dev = len(history.steps), len(history.dev)

    def publish(self, output: Path) -> None:
        """Close the log and put a copy into the folder `output`."""
        self._open().end()
        shutil.copytree(self.folder, output)

    def _open(self) -> Any:
        if self._live is None:
            os.environ.setdefault("DVC_STUDIO_OFFLINE", "true")  # nothing leaves this machine
            from dvclive import Live
            from scmrepo.exceptions import SCMError

            shutil.rmtree(self.folder, ignore_errors=True)
            try:
                self._live = Live(str(self.folder), report=None, save_dvc_exp=False, dvcyaml=None)
            except SCMError as error:
                what = f"dvclive cannot log in this Git repository ({error})"
                raise NightjarError(what, ".", "make a first commit: git add . && git commit") from None
        return self._live
