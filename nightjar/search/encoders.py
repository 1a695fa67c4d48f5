"""The interface of encoders, and encoders from other packages.

A package offers an encoder by an entry point of the group `nightjar.encoders`:

    [project.entry-points."nightjar.encoders"]
    mine = "my_package:MyEncoder"

The object named is called without arguments and returns an `Encoder`. With `models.sentence_encoder.source: entry:mine`
in params.yaml, the stage base_model records it in the folder that else holds the weights, and the other stages load it
from there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nightjar.core import plugins
from nightjar.core.arguments import AnyPath
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import read_object

GROUP, PREFIX, RECORD = "nightjar.encoders", "entry:", "encoder.json"
_SETTING = "models.sentence_encoder.source"


class Encoder(Protocol):
    """Turns texts into vectors that are compared by inner product."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Facts that decide the vectors, as plain JSON values: digest of the weights, pooling, normalisation, ..."""

    @property
    def dimension(self) -> int:
        """The length of a vector."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (len(texts), dimension), of unit length if inner products are to be cosines."""


def identity(encoder: Encoder) -> dict[str, Any]:
    """The record that an index keeps of the encoder of its vectors: `identity` and the dimension."""
    return {**encoder.identity, "dimension": encoder.dimension}


def load_encoder(path: AnyPath, threads: int = 1) -> Encoder:
    """The encoder of a directory that base_model made: of weights, or the record of an entry point.

    `threads`: for weights; an encoder of another package sets its own.
    """
    path = Path(path)
    if not (path / RECORD).exists():
        from nightjar.search.encoder import SentenceEncoder

        return SentenceEncoder(path, threads)
    record = read_object(path / RECORD, "make it again: dvc repro --force --single-item base_model")
    encoder = encoder_of_entry_point(str(record.get("entry")))
    if identity(encoder) != record.get("identity"):
        fix = "make it again: dvc repro --force --single-item base_model"
        raise NightjarError(f"the encoder {PREFIX}{record.get('entry')} is not the recorded one", path, fix)
    return encoder


def encoder_of_entry_point(name: str) -> Encoder:
    """The encoder that an installed package offers as `name`; its vectors are checked as they come.

    `identity` names the package and its version too.
    """
    where = f"{_SETTING}: {PREFIX}{name}"
    point = plugins.named(GROUP, name, where)
    with plugins.calling(f"{where} = {point.value}", "this encoder cannot be made"):
        return _Checked(point, point.load()())


class _Checked:
    """An encoder of another package, whose vectors are checked for shape and finiteness."""

    def __init__(self, point: EntryPoint, encoder: Encoder) -> None:
        self._name, self._encoder = f"{PREFIX}{point.name} = {point.value}", encoder
        self.dimension = int(encoder.dimension)
        # As it is read back from a file.
        encoder_identity = json.loads(json.dumps(dict(encoder.identity)))
        self.identity: Mapping[str, Any] = {"entry": point.name, **plugins.package(point), **encoder_identity}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        with plugins.calling(self._name, "its method encode fails"):
            vectors = np.asarray(self._encoder.encode(texts), dtype=np.float32)
        if vectors.shape != (len(texts), self.dimension):
            what = f"vectors of shape {vectors.shape} for {len(texts)} texts, dimension {self.dimension}"
            raise NightjarError(what, self._name, "check the package that offers it")
        if not np.isfinite(vectors).all():
            raise NightjarError("vectors that are not finite", self._name, "check the package that offers it")
        return vectors
