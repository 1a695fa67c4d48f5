"""A sentence encoder, from where it comes to a plain directory of safetensors, or to the record of an entry point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import replacing
from nightjar.core.identity import digest as digest_of_values
from nightjar.models.directory.preparation import PIN, prepare_model
from nightjar.models.source import ModelSource
from nightjar.params.inputs import EncoderSource
from nightjar.search import pooling
from nightjar.search.encoders import RECORD, encoder_of_entry_point, identity


def make_encoder_ready(source: EncoderSource, output: Path) -> dict[str, Any]:
    """As `prepare_model`, with a record of the pooling; raises NightjarError if it is "auto" and not known.

    `entry:NAME` is an encoder of another package, of which the directory `output` gets the record. Its digest is the
    sha256 that it names in its identity, or else that of its whole identity.
    """
    parsed = ModelSource.parse(source.source)
    if parsed.kind != "entry":

        def add(folder: Path, model: Path) -> None:
            pooling.write(model, pooling.choose(source.pooling, source.source, folder), source.normalised)
            import torch

            from nightjar.models.directory.pretrained import read_model
            from nightjar.search.encoder import encoder_class

            read_model(model, encoder_class(model), torch.float32, values=False)

        return prepare_model(source, output, add)
    encoder = encoder_of_entry_point(parsed.name)
    recorded = identity(encoder)
    encoder_sha256 = str(recorded.get("sha256") or digest_of_values(recorded))
    if source.sha256 and encoder_sha256 != source.sha256:
        what = f"this encoder's sha256 is {encoder_sha256}, params.yaml pins {source.sha256}"
        raise NightjarError(what, source.source, PIN)
    record = {"entry": parsed.name, "identity": recorded}
    with replacing(output) as folder:
        folder.mkdir()
        (folder / RECORD).write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    facts = {"source": source.source, "files": [RECORD], "architecture": None}
    return {**facts, "source_sha256": encoder_sha256, "sha256": encoder_sha256}
