"""Errors, files, Parquet tables and contracts, which every other layer uses.

An artifact is a folder of tables. `contracts` has the schema of each table, `ArtifactWriter` writes them, `read` (an
Arrow table) and `read_rows` (dictionaries) read one, `check` names the faults of an artifact. Every mistake in a
user's input is a `NightjarError` of one line.
"""

from typing import TYPE_CHECKING

from nightjar.core.startup import lazy

if TYPE_CHECKING:
    from nightjar.core import contracts
    from nightjar.core.artifact_rules import check
    from nightjar.core.errors import NightjarError
    from nightjar.core.tables import ArtifactWriter, batches, read, read_rejected, read_rows

__all__ = [
    "ArtifactWriter",
    "NightjarError",
    "batches",
    "check",
    "contracts",
    "read",
    "read_rejected",
    "read_rows",
]

__getattr__, __dir__ = lazy(__name__)
