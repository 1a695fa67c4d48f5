"""python -m stages.base_model: models/base/language_model and models/base/sentence_encoder, as safetensors."""

from pathlib import Path

from nightjar.core.harness import Stage, log, main

BASE = Path("models/base")


def run(stage: Stage) -> None:
    from stages.base_model.prepare import make_ready

    sources = {
        "language_model": stage.params.models.language_model,
        "sentence_encoder": stage.params.models.sentence_encoder,
    }
    for name, source in sources.items():
        log.info("%s: from %s", name, source.source)
        stage.details[name] = make_ready(source, BASE / name)
        stage.writes(BASE / name)
    stage.count(rows_in=len(sources), rows_out=len(sources))


if __name__ == "__main__":
    main("base_model", run, packages=("transformers", "torch", "gguf"))
