"""python -m stages.base_model: models/base/language_model and models/base/sentence_encoder, as safetensors."""

from pathlib import Path

from nightjar.core.harness import Stage, log, main

BASE = Path("models/base")


def run(stage: Stage) -> None:
    from stages.base_model.prepare import make_encoder_ready, make_ready

    models = stage.params.models
    work = {
        "language_model": (models.language_model, make_ready),
        "sentence_encoder": (models.sentence_encoder, make_encoder_ready),
    }
    for name, (source, make) in work.items():
        log.info("%s: from %s", name, source.source)
        stage.details[name] = make(source, BASE / name)
        stage.writes(BASE / name)
    stage.count(rows_in=len(work), rows_out=len(work))


if __name__ == "__main__":
    main("base_model", run, packages=("transformers", "torch", "gguf"))
