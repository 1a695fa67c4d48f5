"""Models made ready: what a GGUF asks for beyond what is read from it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFWriter

from nightjar.core.errors import NightjarError
from nightjar.models.ready import _gguf_tensors, make_ready
from nightjar.params.data import ModelSource


def write(folder: Path, metadata: dict[str, Any], factors: list[float] | None = None) -> Path:
    """Write a GGUF of one tensor, with this metadata and factors of positions."""
    file = folder / "model.gguf"
    writer = GGUFWriter(str(file), "llama")
    for key, value in metadata.items():
        (writer.add_string if isinstance(value, str) else writer.add_float32)(key, value)
    writer.add_tensor("output_norm.weight", np.ones(4, np.float32))
    if factors is not None:
        writer.add_tensor("rope_freqs.weight", np.array(factors, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


@pytest.mark.parametrize(
    ("metadata", "factors", "name"),
    [
        ({}, [1, 8], "rope_freqs.weight"),
        ({"llama.rope.scaling.type": "yarn"}, None, "llama.rope.scaling.type"),
        ({"llama.rope.scaling.factor": 4.0}, None, "llama.rope.scaling.factor"),
        ({"llama.rope.scaling.attn_factor": 1.5}, None, "llama.rope.scaling.attn_factor"),
        ({"llama.rope.scale_linear": 2.0}, None, "llama.rope.scale_linear"),
    ],
)
def test_a_gguf_with_scaled_positions_is_refused(
    tmp_path: Path, metadata: dict[str, Any], factors: list[float] | None, name: str
) -> None:
    write(tmp_path, metadata, factors)
    with pytest.raises(NightjarError, match=f"positions are scaled .{name}"):
        make_ready(ModelSource(source=str(tmp_path)), tmp_path / "output")
    assert not (tmp_path / "output").exists()


def test_settings_that_leave_positions_as_they_are_pass(tmp_path: Path) -> None:
    metadata = {"llama.rope.scaling.type": "none", "llama.rope.scaling.factor": 1.0}
    assert _gguf_tensors(write(tmp_path, metadata, [1, 1])) == {"output_norm.weight": 4}
