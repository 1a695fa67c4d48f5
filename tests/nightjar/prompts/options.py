"""Options of the published encoding, def_pos2 if nothing else is said."""

from __future__ import annotations

from typing import Any

from nightjar.params.inputs import Encoding
from nightjar.prompts.encodings import NAMED


def options(**changes: Any) -> Encoding:
    lengths = {"max_source_length": 1024, "max_target_length": 128}
    return Encoding(**{**NAMED["def_pos2"], "trim_input": False, **lengths, **changes})
