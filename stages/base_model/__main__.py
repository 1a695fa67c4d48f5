"""python -m stages.base_model: models/base/language_model and models/base/sentence_encoder, as safetensors."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from nightjar.core import paths
from nightjar.models.directory.preparation import prepare_model
from stages._runtime.stage import StageRun, log, main
from stages.base_model.prepare import make_encoder_ready


def run(stage: StageRun) -> None:
    models = stage.params.models
    work: dict[str, tuple[str, Callable[[Path], dict[str, Any]]]] = {
        "language_model": (models.language_model.source, partial(prepare_model, models.language_model)),
        "sentence_encoder": (
            models.sentence_encoder.source,
            partial(make_encoder_ready, models.sentence_encoder),
        ),
    }
    for name, (source, make) in work.items():
        log.info("%s: from %s", name, source)
        stage.details[name] = make(paths.BASE_MODELS / name)
        stage.writes(paths.BASE_MODELS / name)
    stage.count(rows_in=len(work), rows_out=len(work))


if __name__ == "__main__":
    main("base_model", run, packages=("transformers", "torch", "gguf"))
